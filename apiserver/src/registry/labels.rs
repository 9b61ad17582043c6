//! Label selectors, in the grammar and with the words of k8s.io/apimachinery's `labels.Parse`.

use crate::error::ApiError;
use crate::storage::Stored;

const NAME_RULE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                          and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                          '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX_RULE: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                           characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
                           'example.com', regex used for validation is \
                           '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// A conjunction of requirements on labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses the text of a `labelSelector` parameter; empty text selects everything.
    ///
    /// # Errors
    /// 400 with the recorded words.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        parser.selector().map(Self).map_err(ApiError::bad_request)
    }

    /// Whether everything is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object's labels fulfil every requirement.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.holds(object.label(&requirement.key)))
    }

    /// A label and the value that it must have, if the selector demands one: what watchers are indexed by.
    pub(crate) fn demanded(&self) -> Option<(&str, &str)> {
        self.0.iter().find_map(|requirement| match &requirement.test {
            Test::In(values) if values.len() == 1 => Some((requirement.key.as_str(), values[0].as_str())),
            _ => None,
        })
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Greater(bound) => number().is_some_and(|n| n > *bound),
            Test::Less(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    const SYMBOLS: [&str; 10] = ["!=", "==", "=", "!", "(", ")", ",", ">", "<", ""];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let symbol = SYMBOLS
            .iter()
            .find(|symbol| rest.starts_with(**symbol))
            .copied()
            .unwrap_or_default();
        if symbol.is_empty() {
            let end = rest
                .find(|c: char| c.is_whitespace() || "=!(),><".contains(c))
                .unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        }
        rest = rest.trim_start();
    }
    tokens.push(Token::End);
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Parsed<Vec<Requirement>> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        Token::End => return Ok(requirements),
                        Token::Symbol(",") => match self.peek() {
                            Token::Word(_) | Token::Symbol("!") => {}
                            other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                        },
                        other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                    }
                }
                Token::End => return Ok(requirements),
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Parsed<Requirement> {
        let absent = *self.peek() == Token::Symbol("!");
        if absent {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        check_key(&key)?;
        if absent {
            return Ok(Requirement {
                key,
                test: Test::Absent,
            });
        }
        let operator = match self.peek() {
            Token::End | Token::Symbol(",") => {
                return Ok(Requirement {
                    key,
                    test: Test::Exists,
                });
            }
            other => other.text().to_owned(),
        };
        self.next();
        let test = match operator.as_str() {
            "in" => Test::In(self.values()?),
            "notin" => Test::NotIn(self.values()?),
            "=" | "==" => Test::In(vec![self.value()?]),
            "!=" => Test::NotIn(vec![self.value()?]),
            ">" => Test::Greater(number(&self.value()?)?),
            "<" => Test::Less(number(&self.value()?)?),
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            for (index, value) in values.iter().enumerate() {
                check_value(&key, index, value)?;
            }
        }
        Ok(Requirement { key, test })
    }

    fn values(&mut self) -> Parsed<Vec<String>> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}', expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.push(word);
                    match self.next() {
                        Token::Symbol(",") => {
                            if matches!(self.peek(), Token::Symbol(")")) {
                                values.push(String::new());
                            }
                        }
                        Token::Symbol(")") => return Ok(sorted(values)),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    if matches!(self.peek(), Token::Symbol(")" | ",")) {
                        values.push(String::new());
                    }
                }
                Token::Symbol(")") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    return Ok(sorted(values));
                }
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
        }
    }

    fn value(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(word) => {
                let word = word.clone();
                self.next();
                Ok(word)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

fn number(text: &str) -> Parsed<i64> {
    text.parse().map_err(|_| {
        format!("values[0]: Invalid value: {text:?}: for 'Gt', 'Lt' operators, the value must be an integer")
    })
}

fn check_key(key: &str) -> Parsed<()> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let why = if prefix == Some("") {
        Some("prefix part must be non-empty".to_owned())
    } else if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        Some(PREFIX_RULE.to_owned())
    } else if name.is_empty() {
        Some("name part must be non-empty".to_owned())
    } else if name.len() > 63 {
        Some("name part must be no more than 63 bytes".to_owned())
    } else if !is_name(name) {
        Some(NAME_RULE.to_owned())
    } else {
        None
    };
    why.map_or(Ok(()), |why| Err(format!("<nil>: Invalid value: {key:?}: {why}")))
}

fn check_value(key: &str, index: usize, value: &str) -> Parsed<()> {
    let why = if value.len() > 63 {
        "must be no more than 63 bytes"
    } else if !value.is_empty() && !is_name(value) {
        VALUE_RULE
    } else {
        return Ok(());
    };
    Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}"))
}

fn is_name(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().next_back())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_subdomain(text: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|part| {
            part.chars().next().is_some_and(lower)
                && part.chars().next_back().is_some_and(lower)
                && part.chars().all(|c| lower(c) || c == '-')
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::{Draft, Key, Store};

    #[expect(clippy::needless_pass_by_value, reason = "reads better in the tests")]
    fn selects(selector: &str, labels: serde_json::Value) -> bool {
        let object = json!({ "metadata": { "name": "a", "labels": labels } });
        let stored = Store::new(8)
            .insert(Draft::new(Key::new("x", "", "a"), object, Vec::new(), 0))
            .unwrap();
        LabelSelector::parse(selector).unwrap().matches(&stored)
    }

    fn refused(selector: &str) -> String {
        LabelSelector::parse(selector).unwrap_err().message
    }

    #[test]
    fn requirements_are_joined_by_and() {
        assert!(selects("a=x,b", json!({ "a": "x", "b": "" })));
        assert!(!selects("a=x,b", json!({ "a": "x" })));
        assert!(selects("a in (x, y),!b", json!({ "a": "y" })));
        assert!(selects("", json!({})));
    }

    #[test]
    fn inequality_includes_objects_without_the_label() {
        assert!(selects("a!=x", json!({})));
        assert!(selects("a notin (x)", json!({})));
        assert!(!selects("a notin (x)", json!({ "a": "x" })));
    }

    #[test]
    fn numbers_are_compared_as_integers() {
        assert!(selects("n>9", json!({ "n": "10" })));
        assert!(!selects("n<10", json!({ "n": "x" })));
        assert!(!selects("n>1", json!({})));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(
            refused("a in ("),
            "unable to parse requirement: found '', expected: ',', ')' or identifier"
        );
        assert_eq!(refused("a=b=c"), "found '=', expected: ',' or 'end of string'");
        assert!(refused("-a=b").starts_with("unable to parse requirement: <nil>: Invalid value: \"-a\": name part"));
        assert!(refused("a=-b").contains("values[0][a]: Invalid value: \"-b\": a valid label"));
        assert!(refused("a>x").ends_with("for 'Gt', 'Lt' operators, the value must be an integer"));
    }

    #[test]
    fn a_single_value_can_be_indexed() {
        assert_eq!(LabelSelector::parse("x,a=b").unwrap().demanded(), Some(("a", "b")));
        assert_eq!(LabelSelector::parse("a!=b").unwrap().demanded(), None);
    }
}
