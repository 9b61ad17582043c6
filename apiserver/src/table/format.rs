//! Texts that several kinds' cells share.

use serde_json::Value;

/// `a=1,b=2`, or `<none>`.
pub(super) fn labels(map: &Value) -> String {
    let pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        "<none>".to_owned()
    } else {
        pairs.join(",")
    }
}

/// A label selector as `labels.Selector` prints it, requirements by key; empty when it selects everything.
pub(super) fn selector(selector: &Value) -> String {
    let mut requirements: Vec<(String, String)> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        requirements.push((key.to_owned(), text));
    }
    requirements.sort();
    let texts: Vec<String> = requirements.into_iter().map(|(_, text)| text).collect();
    texts.join(",")
}

/// As [`selector`], with `<none>` for one that selects everything.
pub(super) fn selector_or_none(of: &Value) -> String {
    let text = selector(of);
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// A field of every container of a pod template, joined by commas.
pub(super) fn of_containers(containers: &[Value], field: &str) -> String {
    let values: Vec<&str> = containers
        .iter()
        .map(|c| c[field].as_str().unwrap_or_default())
        .collect();
    values.join(",")
}

/// At most three entries, and how many more there are.
pub(super) fn at_most_three(entries: &[String], none: &str) -> String {
    let shown = entries[..entries.len().min(3)].join(",");
    match entries.len() {
        0 => none.to_owned(),
        1..=3 => shown,
        all => format!("{shown} + {} more...", all - 3),
    }
}

/// A value as text: an IntOrString, a quantity.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Access modes in their short form, joined by commas.
pub(super) fn access_modes(modes: &[Value]) -> String {
    let mut short: Vec<&str> = Vec::new();
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    for (long, word) in known {
        if modes.iter().any(|mode| mode == long) {
            short.push(word);
        }
    }
    short.join(",")
}

/// `True` when the condition of that type has that status.
pub(super) fn has_condition(conditions: &[Value], kind: &str) -> bool {
    conditions
        .iter()
        .find(|c| c["type"] == kind)
        .is_some_and(|c| c["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_reads_as_on_the_command_line() {
        let one = json!({
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "Exists"},
                {"key": "e", "operator": "DoesNotExist"}
            ]
        });
        assert_eq!(selector(&one), "a=1,b=2,c in (x,y),d,!e");
        assert_eq!(selector_or_none(&json!({})), "<none>");
    }

    #[test]
    fn long_lists_are_cut_after_three() {
        let list: Vec<String> = (1..=5).map(|n| n.to_string()).collect();
        assert_eq!(at_most_three(&list, "<none>"), "1,2,3 + 2 more...");
        assert_eq!(at_most_three(&[], "<none>"), "<none>");
    }
}
