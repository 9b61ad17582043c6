//! Label selectors as objects carry them (`metav1.LabelSelector`).

use serde_json::Value;

/// Whether the selector selects an object with these labels. A selector that is absent selects nothing, an empty one
/// everything; an operator that does not exist selects nothing.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    if selector.is_null() {
        return false;
    }
    let pairs = selector["matchLabels"].as_object();
    pairs.into_iter().flatten().all(|(key, value)| &labels[key] == value)
        && selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|expression| holds(expression, labels))
}

fn holds(expression: &Value, labels: &Value) -> bool {
    let label = expression["key"].as_str().map_or(&Value::Null, |key| &labels[key]);
    let listed = || {
        expression["values"]
            .as_array()
            .is_some_and(|values| values.contains(label))
    };
    match expression["operator"].as_str().unwrap_or_default() {
        "In" => listed(),
        "NotIn" => label.is_null() || !listed(),
        "Exists" => !label.is_null(),
        "DoesNotExist" => label.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_requirement_has_to_hold() {
        let labels = json!({"a": "1", "b": "2"});
        assert!(selects(&json!({}), &labels));
        assert!(!selects(&Value::Null, &labels));
        assert!(selects(&json!({"matchLabels": {"a": "1"}}), &labels));
        assert!(!selects(&json!({"matchLabels": {"a": "1", "c": "3"}}), &labels));
        let with = |operator: &str, key: &str| {
            let expression = json!({"key": key, "operator": operator, "values": ["1", "9"]});
            selects(&json!({"matchExpressions": [expression]}), &labels)
        };
        assert!(with("In", "a") && !with("In", "b") && !with("In", "c"));
        assert!(!with("NotIn", "a") && with("NotIn", "b") && with("NotIn", "c"));
        assert!(with("Exists", "a") && !with("Exists", "c"));
        assert!(!with("DoesNotExist", "a") && with("DoesNotExist", "c"));
        assert!(!with("Near", "a"));
    }
}
