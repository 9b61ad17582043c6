//! Label and field selectors, judged on cached objects.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::cache::Cached;
use crate::cache::json::{Cursor, JsonError};
use crate::delta::Labels;

/// A label selector; all of its requirements must hold.
///
/// Read from, and printed in, the form of kubectl: `app=web,tier in (a,b),!legacy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Missing(String),
}

/// A selector that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no selector: {cause}; write it as kubectl does, such as `app=web,tier in (a,b),!legacy`")]
pub struct SelectorError {
    text: String,
    cause: String,
}

impl Selector {
    /// Selects objects that carry all of these labels.
    #[must_use]
    pub fn labels<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let requirements = pairs
            .into_iter()
            .map(|(key, value)| Requirement::In(key.to_owned(), BTreeSet::from([value.to_owned()])))
            .collect();
        Self { requirements }
    }

    /// Reads a selector.
    ///
    /// # Errors
    ///
    /// The text is no selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let parts = split_outside_parentheses(text);
        let requirements = parts
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(Requirement::parse)
            .collect::<Result<_, String>>();
        requirements
            .map(|requirements| Self { requirements })
            .map_err(|cause| SelectorError {
                text: text.to_owned(),
                cause,
            })
    }

    /// Whether labels satisfy the selector. An empty selector selects everything.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether everything that this selector selects is selected by `wider` too, as far as a comparison of their
    /// requirements can tell.
    #[must_use]
    pub fn implies(&self, wider: &Self) -> bool {
        wider
            .requirements
            .iter()
            .all(|wide| self.requirements.iter().any(|narrow| narrow.implies(wide)))
    }

    /// A label and the one value it must have, where there is such a requirement: what an index can answer.
    #[must_use]
    pub fn equality(&self) -> Option<(&str, &str)> {
        self.requirements.iter().find_map(|requirement| match requirement {
            Requirement::In(key, values) if values.len() == 1 => {
                values.first().map(|value| (key.as_str(), value.as_str()))
            }
            _ => None,
        })
    }

    /// The selector as the API's `LabelSelector`.
    pub(crate) fn to_label_selector(&self) -> serde_json::Value {
        let expressions: Vec<serde_json::Value> = self.requirements.iter().map(Requirement::to_expression).collect();
        serde_json::json!({ "matchExpressions": expressions })
    }

    /// Whether everything is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl Requirement {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(key) = text.strip_prefix('!') {
            return Ok(Self::Missing(key_of(key)?));
        }
        if let Some((head, values)) = text.split_once('(') {
            let values = values
                .strip_suffix(')')
                .ok_or_else(|| format!("`{text}` lacks its closing parenthesis"))?;
            let values = values.split(',').map(|value| value.trim().to_owned()).collect();
            let mut words = head.split_whitespace();
            return match (words.next(), words.next(), words.next()) {
                (Some(key), Some("in"), None) => Ok(Self::In(key_of(key)?, values)),
                (Some(key), Some("notin"), None) => Ok(Self::NotIn(key_of(key)?, values)),
                _ => Err(format!("`{text}` is neither `key in (…)` nor `key notin (…)`")),
            };
        }
        let one = |value: &str| BTreeSet::from([value.trim().to_owned()]);
        if let Some((key, value)) = text.split_once("!=") {
            return Ok(Self::NotIn(key_of(key)?, one(value)));
        }
        if let Some((key, value)) = text.split_once('=') {
            return Ok(Self::In(key_of(key)?, one(value.strip_prefix('=').unwrap_or(value))));
        }
        Ok(Self::Exists(key_of(text)?))
    }

    fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.get(key).is_some(),
            Self::Missing(key) => labels.get(key).is_none(),
        }
    }

    fn to_expression(&self) -> serde_json::Value {
        let (key, operator, values) = match self {
            Self::In(key, values) => (key, "In", Some(values)),
            Self::NotIn(key, values) => (key, "NotIn", Some(values)),
            Self::Exists(key) => (key, "Exists", None),
            Self::Missing(key) => (key, "DoesNotExist", None),
        };
        match values {
            Some(values) => serde_json::json!({ "key": key, "operator": operator, "values": values }),
            None => serde_json::json!({ "key": key, "operator": operator }),
        }
    }

    fn implies(&self, wide: &Self) -> bool {
        match (self, wide) {
            (Self::In(a, some), Self::In(b, more)) => a == b && some.is_subset(more),
            (Self::In(a, _), Self::Exists(b)) => a == b,
            (Self::In(a, some), Self::NotIn(b, none)) => a == b && some.is_disjoint(none),
            (Self::NotIn(a, none), Self::NotIn(b, fewer)) => a == b && fewer.is_subset(none),
            (Self::Missing(a), Self::NotIn(b, _)) => a == b,
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, word, values) = match self {
            Self::Exists(key) => return f.write_str(key),
            Self::Missing(key) => return write!(f, "!{key}"),
            Self::In(key, values) if values.len() == 1 => {
                return write!(f, "{key}={}", values.first().map_or("", String::as_str));
            }
            Self::NotIn(key, values) if values.len() == 1 => {
                return write!(f, "{key}!={}", values.first().map_or("", String::as_str));
            }
            Self::In(key, values) => (key, "in", values),
            Self::NotIn(key, values) => (key, "notin", values),
        };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        write!(f, "{key} {word} ({})", values.join(","))
    }
}

/// A field selector: `status.phase=Running,metadata.name!=web`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<(String, String, bool)>,
}

impl FieldSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, SelectorError> {
        let terms = text
            .split(',')
            .map(str::trim)
            .filter(|term| !term.is_empty())
            .map(|term| {
                let (path, value, equal) = if let Some((path, value)) = term.split_once("!=") {
                    (path, value, false)
                } else if let Some((path, value)) = term.split_once('=') {
                    (path, value.strip_prefix('=').unwrap_or(value), true)
                } else {
                    return Err(SelectorError {
                        text: text.to_owned(),
                        cause: format!("`{term}` holds neither `=` nor `!=`"),
                    });
                };
                Ok((path.trim().to_owned(), value.trim().to_owned(), equal))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Whether an object satisfies the selector; a missing field is empty, as the server has it.
    pub(crate) fn matches(&self, object: &Cached) -> bool {
        let body = object.json();
        self.terms.iter().all(|(path, value, equal)| {
            let parts: Vec<&str> = path.split('.').collect();
            let found = field(&body, &parts).unwrap_or_default();
            (found == *value) == *equal
        })
    }
}

fn field(text: &[u8], path: &[&str]) -> Option<String> {
    let Some((first, rest)) = path.split_first() else {
        let raw = Cursor::new(text).raw().ok()?;
        return Some(match Cursor::new(raw).text() {
            Ok(text) => text.unwrap_or_default().into_owned(),
            Err(_) => String::from_utf8_lossy(raw).into_owned(),
        });
    };
    let mut found = None;
    let walked = Cursor::new(text).members(|key, value| {
        let raw = value.raw()?;
        if key == first.as_bytes() {
            found = Some(raw);
        }
        Ok::<(), JsonError>(())
    });
    walked.ok()?;
    field(found?, rest)
}

fn key_of(text: &str) -> Result<String, String> {
    let key = text.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if key.is_empty() || !key.chars().all(fits) {
        return Err(format!("`{key}` is no label key"));
    }
    Ok(key.to_owned())
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        Labels::new(pairs.to_vec())
    }

    fn parse(text: &str) -> Selector {
        Selector::parse(text).expect("valid")
    }

    #[test]
    fn a_selector_selects_as_kubectl_does() {
        let web = labels(&[("app", "web"), ("tier", "front")]);
        for (text, selected) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (web, api),tier", true),
            ("!legacy", true),
            ("legacy notin (a,b)", true),
            ("app=api", false),
            ("!app", false),
            ("app notin (web)", false),
            ("missing", false),
        ] {
            assert_eq!(parse(text).matches(&web), selected, "{text}");
        }
    }

    #[test]
    fn a_selector_prints_what_it_reads() {
        for text in ["app=web", "a in (x,y),b notin (z,z2),c,!d,e!=f"] {
            assert_eq!(parse(text).to_string(), text);
        }
        assert!(Selector::parse("a in (x").is_err());
        assert!(Selector::parse("a b").is_err());
        assert!(Selector::parse("=x").is_err());
    }

    #[test]
    fn a_narrower_selector_implies_the_wider() {
        assert!(parse("app=web,tier=front").implies(&parse("app=web")));
        assert!(parse("app=web").implies(&parse("app")));
        assert!(parse("app=web").implies(&parse("app in (web,api),app!=old")));
        assert!(!parse("app").implies(&parse("app=web")));
        assert!(parse("x").implies(&Selector::default()));
    }
}
