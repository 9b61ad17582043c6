//! The names of a definition: their defaults, which of them the group accepts, and the conditions that say so.

use serde_json::{Map, Value, json};

/// Fills in the singular, the list kind, the conversion, and the storage version where no stored version is named.
pub(super) fn default(definition: &mut Value) {
    let stored = definition.pointer("/status/storedVersions").and_then(Value::as_array);
    if definition["status"].is_object() && stored.is_none_or(Vec::is_empty) {
        let storage = definition["spec"]["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|v| v["storage"] == true);
        if let Some(name) = storage.map(|v| v["name"].clone()) {
            definition["status"]["storedVersions"] = json!([name]);
        }
    }
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !kind.is_empty() {
            fill(names, "singular", kind.to_lowercase());
            fill(names, "listKind", format!("{kind}List"));
        }
    }
    spec.entry("conversion")
        .or_insert_with(|| json!({ "strategy": "None" }));
}

/// Gives a new definition its first status, and adds the storage version to those that objects are stored in.
pub(super) fn prepare_status(definition: &mut Value, is_new: bool) {
    let storage = definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|v| v["storage"] == true);
    let storage = storage.map(|v| v["name"].clone());
    let Some(root) = definition.as_object_mut() else { return };
    let status = root.entry("status").or_insert(Value::Null);
    if is_new || !status.is_object() {
        *status = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": null });
    }
    if let Some(storage) = storage {
        match status["storedVersions"].as_array_mut() {
            Some(stored) if stored.contains(&storage) => {}
            Some(stored) => stored.push(storage),
            None => status["storedVersions"] = json!([storage]),
        }
    }
}

/// Brings the status of a definition one step on: first the names are accepted or not, then the definition is
/// established. Returns whether anything changed; each step is a write of its own, as on the real server.
///
/// `others` are the other definitions; `now` is a `metav1.Time`.
pub fn advance<'a>(definition: &mut Value, others: impl Iterator<Item = &'a Value>, now: &str) -> bool {
    let before = definition["status"].clone();
    let (names, accepted) = names_accepted(definition, others);
    let is_accepted = accepted["status"] == "True";
    let conditions = definition["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let find = |kind: &str| conditions.iter().find(|c| c["type"] == kind);
    let established = match find("Established") {
        Some(found) if found["status"] == "True" => found.clone(),
        _ if !is_accepted => condition("Established", false, "NotAccepted", "not all names are accepted"),
        Some(found)
            if found["reason"] == "Installing" && find("NamesAccepted").is_some_and(|n| n["status"] == "True") =>
        {
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            )
        }
        _ => condition(
            "Established",
            false,
            "Installing",
            "the initial names have been accepted",
        ),
    };
    definition["status"]["acceptedNames"] = names;
    set_condition(definition, accepted, now);
    set_condition(definition, established, now);
    definition["status"] != before
}

/// Brings the status of a definition on until nothing changes any more.
pub fn settle<'a>(definition: &mut Value, others: impl Iterator<Item = &'a Value>, now: &str) {
    let others: Vec<&Value> = others.collect();
    while advance(definition, others.iter().copied(), now) {}
}

/// The names that the definition has or may take, and the condition that says whether it has all.
fn names_accepted<'a>(definition: &Value, others: impl Iterator<Item = &'a Value>) -> (Value, Value) {
    let mut resources: Vec<Value> = Vec::new();
    let mut kinds: Vec<Value> = Vec::new();
    for other in others.filter(|other| other["spec"]["group"] == definition["spec"]["group"]) {
        let names = &other["status"]["acceptedNames"];
        resources.extend([names["plural"].clone(), names["singular"].clone()]);
        resources.extend(names["shortNames"].as_array().into_iter().flatten().cloned());
        kinds.extend([names["kind"].clone(), names["listKind"].clone()]);
    }
    let requested = &definition["spec"]["names"];
    let accepted = &definition["status"]["acceptedNames"];
    let mut names: Map<String, Value> = accepted.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    for (field, taken, reason) in [
        ("plural", &resources, "PluralConflict"),
        ("singular", &resources, "SingularConflict"),
        ("shortNames", &resources, "ShortNamesConflict"),
        ("kind", &kinds, "KindConflict"),
        ("listKind", &kinds, "ListKindConflict"),
    ] {
        let wanted: Vec<&Value> = match &requested[field] {
            Value::Array(list) => list.iter().collect(),
            one => vec![one],
        };
        let own = &accepted[field];
        let used = wanted.iter().find(|name| {
            let has = own == **name || own.as_array().is_some_and(|own| own.contains(name));
            !has && name.as_str().is_some_and(|n| !n.is_empty()) && taken.contains(name)
        });
        match used {
            Some(name) => conflict = Some((reason, format!("{name} is already in use"))),
            None if requested[field].is_null() => {
                names.remove(field);
            }
            None => {
                names.insert(field.to_owned(), requested[field].clone());
            }
        }
    }
    match &requested["categories"] {
        Value::Null => names.remove("categories"),
        categories => names.insert("categories".to_owned(), categories.clone()),
    };
    let condition = match conflict {
        Some((reason, message)) => condition("NamesAccepted", false, reason, &message),
        None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
    };
    (Value::Object(names), condition)
}

fn condition(kind: &str, status: bool, reason: &str, message: &str) -> Value {
    let status = if status { "True" } else { "False" };
    json!({ "type": kind, "status": status, "reason": reason, "message": message })
}

/// Puts a condition in; its time moves with its status only.
fn set_condition(definition: &mut Value, mut condition: Value, now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let found = list.iter_mut().find(|c| c["type"] == condition["type"]);
    let time = found
        .as_ref()
        .filter(|c| c["status"] == condition["status"])
        .map(|c| c["lastTransitionTime"].clone());
    condition["lastTransitionTime"] = time.unwrap_or_else(|| now.into());
    match found {
        Some(found) => *found = condition,
        None => list.push(condition),
    }
}

fn fill(names: &mut Map<String, Value>, field: &str, value: String) {
    let found = names.entry(field).or_insert(Value::Null);
    if found.as_str().unwrap_or_default().is_empty() {
        *found = value.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str) -> Value {
        let mut definition = json!({ "spec": {
            "group": "demo.dev",
            "names": { "plural": plural, "kind": kind },
            "versions": [{ "name": "v1", "storage": true }],
        } });
        default(&mut definition);
        prepare_status(&mut definition, true);
        definition
    }

    #[test]
    fn a_definition_is_installed_first_and_established_then() {
        let mut one = definition("things", "Thing");
        assert!(advance(&mut one, std::iter::empty(), "t1"));
        assert_eq!(one["status"]["conditions"][1]["reason"], "Installing");
        assert!(advance(&mut one, std::iter::empty(), "t2"));
        assert_eq!(one["status"]["conditions"][1]["status"], "True");
        assert_eq!(one["status"]["conditions"][0]["lastTransitionTime"], "t1");
        assert!(!advance(&mut one, std::iter::empty(), "t3"));
    }

    #[test]
    fn a_taken_kind_is_not_accepted_until_it_is_free() {
        let mut one = definition("things", "Thing");
        settle(&mut one, std::iter::empty(), "t");
        let mut two = definition("others", "Thing");
        settle(&mut two, [&one].into_iter(), "t");
        assert_eq!(two["status"]["conditions"][0]["reason"], "ListKindConflict");
        assert_eq!(
            two["status"]["acceptedNames"],
            json!({ "plural": "others", "kind": "" })
        );
        settle(&mut two, std::iter::empty(), "t");
        assert_eq!(two["status"]["acceptedNames"]["kind"], "Thing");
        assert_eq!(two["status"]["conditions"][1]["status"], "True");
    }
}
