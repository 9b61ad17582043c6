//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

/// Merges `patch` into `target`: null removes a key, an object merges, all else replaces.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, change) in patch {
        if change.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.as_str()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes_objects_merge_and_lists_are_replaced() {
        let mut object = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1, 2]});
        merge(
            &mut object,
            &json!({"a": null, "b": {"d": null, "x": {"y": null, "z": 1}}, "e": [3]}),
        );
        assert_eq!(object, json!({"b": {"c": 1, "x": {"z": 1}}, "e": [3]}));
    }
}
