//! The names of a definition: their defaults, and which of them the group accepts.

use serde_json::{Value, json};

/// Fills in the singular, the list kind and the conversion.
pub(super) fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !kind.is_empty() {
            names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
            names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
        }
    }
    spec.entry("conversion")
        .or_insert_with(|| json!({ "strategy": "None" }));
}

/// Computes the status of a definition: accepted names, conditions, stored versions. `others` are the other
/// definitions; `now` is a `metav1.Time`.
pub fn settle<'a>(definition: &mut Value, others: impl Iterator<Item = &'a Value>, now: &str) {
    let _ = others;
    let names = definition["spec"]["names"].clone();
    let storage = definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|v| v["storage"] == true)
        .map(|v| v["name"].clone());
    let Some(root) = definition.as_object_mut() else { return };
    let status = root.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    status["acceptedNames"] = names;
    let stored = status["storedVersions"].as_array().cloned().unwrap_or_default();
    status["storedVersions"] = stored
        .iter()
        .cloned()
        .chain(storage.filter(|s| !stored.contains(s)))
        .collect();
    if !status["conditions"].is_array() {
        status["conditions"] = json!([
            { "type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts", "message": "no conflicts found" },
            { "type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted", "message": "the initial names have been accepted" },
        ]);
    }
}
