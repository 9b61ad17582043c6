//! The JSONPath of printer columns and selectable fields: dots, brackets, indexes, `[*]` and filters such as
//! `[?(@.type=="Ready")]`.

use std::cmp::Ordering;

use serde_json::Value;

/// The first value that `path` (such as `.spec.ports[0].name`) finds in `object`.
#[must_use]
pub fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    all(object, path).into_iter().next()
}

/// Every value that `path` finds in `object`, in order. A path that does not parse finds nothing.
#[must_use]
pub fn all<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let Some(steps) = parse(path) else { return Vec::new() };
    let mut found = vec![object];
    for step in steps {
        found = found.into_iter().flat_map(|value| take(value, &step)).collect();
    }
    found
}

#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    Index(i64),
    Every,
    Filter(Filter),
}

/// Keeps the items of a list for which a comparison holds; without one, those that have the path.
#[derive(Debug, PartialEq)]
struct Filter {
    path: Vec<Step>,
    comparison: Option<(Comparison, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer signs first: `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Filter {
    fn parse(text: &str) -> Option<Self> {
        let inside = text.trim().strip_prefix("?(")?.strip_suffix(')')?.trim();
        let sign = COMPARISONS
            .iter()
            .filter_map(|(sign, comparison)| Some((inside.find(sign)?, *sign, *comparison)))
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())));
        let (left, comparison) = match sign {
            None => (inside, None),
            Some((at, sign, comparison)) => {
                let literal = literal(inside[at + sign.len()..].trim())?;
                (&inside[..at], Some((comparison, literal)))
            }
        };
        let path = parse(left.trim().strip_prefix('@')?)?;
        Some(Self { path, comparison })
    }

    fn keeps(&self, item: &Value) -> bool {
        let mut found = vec![item];
        for step in &self.path {
            found = found.into_iter().flat_map(|value| take(value, step)).collect();
        }
        match &self.comparison {
            None => !found.is_empty(),
            Some((comparison, literal)) => found.iter().any(|value| comparison.holds(value, literal)),
        }
    }
}

impl Comparison {
    /// Values of different types differ and have no order.
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (a, b) => (a == b).then_some(Ordering::Equal),
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// A quoted string, a number, `true`, `false` or `null`.
fn literal(text: &str) -> Option<Value> {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return Some(Value::String(inside.strip_suffix(quote)?.to_owned()));
        }
    }
    serde_json::from_str(text)
        .ok()
        .filter(|value: &Value| !value.is_object() && !value.is_array())
}

/// Where the bracket that is open at the start of `text` closes: not inside quotes, and not that of an inner bracket.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn take<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match (step, value) {
        (Step::Key(key), value) => value.get(key).into_iter().collect(),
        (Step::Index(index), Value::Array(items)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let index = if *index < 0 { index + length } else { *index };
            usize::try_from(index)
                .ok()
                .and_then(|i| items.get(i))
                .into_iter()
                .collect()
        }
        (Step::Every, Value::Array(items)) => items.iter().collect(),
        (Step::Every, Value::Object(map)) => map.values().collect(),
        (Step::Filter(filter), Value::Array(items)) => items.iter().filter(|item| filter.keeps(item)).collect(),
        _ => Vec::new(),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, after) = match bracket.strip_prefix('\'') {
                // A quoted key may hold brackets of its own.
                Some(quoted) => {
                    let end = quoted.find("']")?;
                    (Step::Key(quoted[..end].replace("\\.", ".")), &quoted[end + 2..])
                }
                None => {
                    let end = closing(bracket)?;
                    let inside = &bracket[..end];
                    let step = if inside == "*" {
                        Step::Every
                    } else if inside.trim_start().starts_with('?') {
                        Step::Filter(Filter::parse(inside)?)
                    } else {
                        Step::Index(inside.parse().ok()?)
                    };
                    (step, &bracket[end + 1..])
                }
            };
            steps.push(inside);
            rest = after;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let mut key = String::new();
        let mut characters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '.' | '[' => {
                    end = at;
                    break;
                }
                '\\' => key.extend(characters.next().map(|(_, c)| c)),
                other => key.push(other),
            }
        }
        if key == "*" {
            steps.push(Step::Every);
        } else if !key.is_empty() {
            steps.push(Step::Key(key));
        } else if end == rest.len() && !rest.is_empty() {
            return None;
        }
        rest = &rest[end..];
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_reach_keys_indexes_and_every_item() {
        let object = json!({"spec": {"a.b": 1, "list": [{"n": 1}, {"n": 2}]}});
        assert_eq!(first(&object, ".spec.list[1].n"), Some(&json!(2)));
        assert_eq!(first(&object, ".spec.list[-1].n"), Some(&json!(2)));
        assert_eq!(all(&object, ".spec.list[*].n"), [&json!(1), &json!(2)]);
        assert_eq!(first(&object, ".spec.a\\.b"), Some(&json!(1)));
        assert_eq!(first(&object, ".spec['a.b']"), Some(&json!(1)));
        assert_eq!(first(&object, ".spec.list[9].n"), None);
    }

    #[test]
    fn a_filter_keeps_the_items_for_which_it_holds() {
        let object = json!({"conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "A]b", "status": "False", "n": 2},
        ]});
        let status = |filter: &str| first(&object, &format!(".conditions[?({filter})].status"));
        assert_eq!(status(r#"@.type=="Ready""#), Some(&json!("True")));
        assert_eq!(status("@.type == 'A]b'"), Some(&json!("False")));
        assert_eq!(status(r#"@.type!="Ready""#), Some(&json!("False")));
        assert_eq!(status("@.n >= 2"), Some(&json!("False")));
        assert_eq!(status("@.n < 2"), Some(&json!("True")));
        assert_eq!(status("@.missing"), None);
        assert_eq!(status("type"), None, "a filter without @ does not parse");
    }
}
