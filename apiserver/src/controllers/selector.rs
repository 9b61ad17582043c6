//! Label selectors as objects carry them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::object::Object;

/// A compiled selector: equalities first, then expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    nothing: bool,
    equal: BTreeMap<String, String>,
    expressions: Vec<Expression>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Expression {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Selector {
    /// A `metav1.LabelSelector`: absent selects nothing, an empty one everything.
    #[must_use]
    pub fn of_label_selector(selector: Option<&Value>) -> Self {
        let Some(selector) = selector.filter(|s| s.is_object()) else {
            return Self::none();
        };
        let expressions = selector
            .items("matchExpressions")
            .iter()
            .filter_map(|e| {
                let operator = match e.text("operator") {
                    "In" => Operator::In,
                    "NotIn" => Operator::NotIn,
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::DoesNotExist,
                    _ => return None,
                };
                let values = e
                    .items("values")
                    .iter()
                    .filter_map(|v| v.as_str().map(str::to_owned))
                    .collect();
                Some(Expression {
                    key: e.text("key").to_owned(),
                    operator,
                    values,
                })
            })
            .collect();
        Self {
            nothing: false,
            equal: pairs(selector.get("matchLabels")),
            expressions,
        }
    }

    /// A plain map of labels, as Services have it: absent or empty selects nothing.
    #[must_use]
    pub fn of_map(selector: Option<&Value>) -> Self {
        let equal = pairs(selector);
        Self {
            nothing: equal.is_empty(),
            equal,
            expressions: Vec::new(),
        }
    }

    /// The selector that selects nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            nothing: true,
            equal: BTreeMap::new(),
            expressions: Vec::new(),
        }
    }

    /// Whether it can select anything at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// Whether it selects every object.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.equal.is_empty() && self.expressions.is_empty()
    }

    /// The required label values, in key order: what an index is asked for.
    pub fn required(&self) -> impl Iterator<Item = (&str, &str)> {
        self.equal.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let get = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
        !self.nothing
            && self.equal.iter().all(|(k, v)| get(k) == Some(v))
            && self.expressions.iter().all(|e| {
                let value = get(&e.key);
                match e.operator {
                    Operator::In => value.is_some_and(|v| e.values.iter().any(|x| x == v)),
                    Operator::NotIn => value.is_none_or(|v| e.values.iter().all(|x| x != v)),
                    Operator::Exists => value.is_some(),
                    Operator::DoesNotExist => value.is_none(),
                }
            })
    }
}

fn pairs(map: Option<&Value>) -> BTreeMap<String, String> {
    map.and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &Selector, labels: &Value) -> bool {
        selector.matches(labels.as_object())
    }

    #[test]
    fn an_absent_label_selector_selects_nothing_and_an_empty_one_everything() {
        assert!(!matches(&Selector::of_label_selector(None), &json!({})));
        assert!(matches(&Selector::of_label_selector(Some(&json!({}))), &json!({})));
        assert!(!matches(&Selector::of_map(Some(&json!({}))), &json!({})));
    }

    #[test]
    fn expressions_and_labels_must_all_hold() {
        let s = Selector::of_label_selector(Some(&json!({
            "matchLabels": {"a": "1"},
            "matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["x"]}, {"key": "c", "operator": "Exists"}],
        })));
        assert!(matches(&s, &json!({"a": "1", "c": ""})));
        assert!(!matches(&s, &json!({"a": "1", "b": "x", "c": ""})));
        assert!(!matches(&s, &json!({"a": "1"})));
        assert!(!matches(&s, &json!({"a": "2", "c": ""})));
    }
}
