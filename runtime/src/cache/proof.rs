//! Proves from managedFields that applying a configuration once more would change nothing.
//!
//! After a restart nothing is remembered of what was applied. The object itself tells: our own entry of managedFields
//! names the fields we set. Where the configuration sets exactly these, each to the value that the object has, there
//! is nothing to apply. Where the server rewrote a value, or anything is not understood, there is no proof.

use serde_json::{Map, Value};

/// What names an object in a configuration and is never owned by a manager.
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

/// Whether `object` is what applying `configuration` as `manager` leaves behind.
pub(super) fn holds(
    configuration: &Map<String, Value>,
    object: &Value,
    manager: &str,
    subresource: Option<&str>,
) -> bool {
    let Some(owned) = own_fields(configuration, object, manager, subresource) else {
        return false;
    };
    let mut wanted = configuration.clone();
    wanted.remove("apiVersion");
    wanted.remove("kind");
    if let Some(Value::Object(metadata)) = wanted.get_mut("metadata") {
        metadata.retain(|name, _| !IDENTITY.contains(&name.as_str()));
        if metadata.is_empty() {
            wanted.remove("metadata");
        }
    }
    object
        .as_object()
        .is_some_and(|held| same_members(owned, &wanted, held))
}

/// The fields of our entry, if there is exactly one and it is of the same API version.
fn own_fields<'a>(
    configuration: &Map<String, Value>,
    object: &'a Value,
    manager: &str,
    subresource: Option<&str>,
) -> Option<&'a Map<String, Value>> {
    let mut ours = object["metadata"]["managedFields"].as_array()?.iter().filter(|entry| {
        entry["manager"] == manager
            && entry["subresource"].as_str().unwrap_or_default() == subresource.unwrap_or_default()
    });
    let entry = ours.next()?;
    // A second entry, of an Update under our name, would own fields that an apply gives up.
    if ours.next().is_some()
        || entry["operation"] != "Apply"
        || entry.get("apiVersion") != configuration.get("apiVersion")
    {
        return None;
    }
    entry["fieldsV1"].as_object()
}

fn same(owned: &Value, wanted: &Value, held: &Value) -> bool {
    let Some(owned) = owned.as_object() else { return false };
    let has_parts = owned.keys().any(|part| part != ".");
    match (wanted, held) {
        // A leaf, or a list or map that is owned as a whole.
        _ if !has_parts => wanted == held,
        (Value::Object(wanted), Value::Object(held)) => same_members(owned, wanted, held),
        (Value::Array(wanted), Value::Array(held)) => same_items(owned, wanted, held),
        _ => false,
    }
}

fn same_members(owned: &Map<String, Value>, wanted: &Map<String, Value>, held: &Map<String, Value>) -> bool {
    let named = owned.keys().filter(|part| *part != ".").count();
    named == wanted.len()
        && wanted.iter().all(|(name, value)| {
            let owned = owned.get(&format!("f:{name}"));
            owned
                .zip(held.get(name))
                .is_some_and(|(owned, held)| same(owned, value, held))
        })
}

/// Lists that are maps by key (`k:`) or sets of values (`v:`).
fn same_items(owned: &Map<String, Value>, wanted: &[Value], held: &[Value]) -> bool {
    let mut items = owned.iter().filter(|(part, _)| *part != ".");
    let count = items.clone().count();
    count == wanted.len()
        && items.all(|(part, owned)| match part.split_once(':') {
            Some(("v", value)) => {
                serde_json::from_str::<Value>(value).is_ok_and(|value| wanted.contains(&value) && held.contains(&value))
            }
            Some(("k", key)) => {
                serde_json::from_str::<Map<String, Value>>(key).is_ok_and(|key| same_item(owned, &key, wanted, held))
            }
            _ => false,
        })
}

fn same_item(owned: &Value, key: &Map<String, Value>, wanted: &[Value], held: &[Value]) -> bool {
    // A key field that the configuration leaves out was defaulted by the server; it fits if nothing else does.
    let fits = |item: &&Value, strict: bool| {
        key.iter().all(|(name, value)| match item.get(name) {
            Some(found) => found == value,
            None => !strict,
        })
    };
    let mut candidates = wanted.iter().filter(|item| fits(item, false));
    let (Some(wanted), None) = (candidates.next(), candidates.next()) else {
        return false;
    };
    let Some(held) = held.iter().find(|item| fits(item, true)) else {
        return false;
    };
    same(owned, wanted, held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn configuration() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "shop", "labels": { "app": "web" },
                "ownerReferences": [{ "uid": "u", "kind": "App", "name": "web", "apiVersion": "demo.dev/v1", "controller": true }] },
            "spec": { "replicas": 2, "template": { "spec": { "containers": [
                { "name": "main", "image": "nginx", "args": ["-x"], "ports": [{ "containerPort": 80 }] }
            ] } } },
        })
    }

    fn object() -> Value {
        let mut object = configuration();
        object["metadata"]["labels"]["other"] = json!("theirs");
        object["metadata"]["finalizers"] = json!(["theirs"]);
        object["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("Always");
        object["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = json!("TCP");
        object["metadata"]["managedFields"] = json!([{
            "manager": "op/app", "operation": "Apply", "apiVersion": "apps/v1",
            "fieldsV1": {
                "f:metadata": { "f:labels": { "f:app": {} }, "f:ownerReferences": { "k:{\"uid\":\"u\"}": {} } },
                "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": {
                    "k:{\"name\":\"main\"}": { ".": {}, "f:name": {}, "f:image": {}, "f:args": {}, "f:ports": {
                        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } } }
                } } } }
            },
        }]);
        object
    }

    fn proven(configuration: &Value, object: &Value) -> bool {
        holds(configuration.as_object().expect("an object"), object, "op/app", None)
    }

    #[test]
    fn an_object_that_is_as_configured_needs_no_apply_whatever_others_added() {
        assert!(proven(&configuration(), &object()));
    }

    #[test]
    fn any_difference_in_fields_or_values_is_no_proof() {
        let changes: [fn(&mut Value); 7] = [
            |c| c["spec"]["replicas"] = json!(3),
            |c| c["metadata"]["labels"]["new"] = json!("x"),
            |c| c["metadata"]["labels"] = json!({}),
            |c| c["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["-y"]),
            |c| c["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = json!(81),
            |c| c["spec"]["paused"] = json!(true),
            |c| c["apiVersion"] = json!("apps/v2"),
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut other = configuration();
            change(&mut other);
            assert!(!proven(&other, &object()), "change {index}");
        }
    }

    #[test]
    fn drift_in_the_object_is_no_proof() {
        let changes: [fn(&mut Value); 5] = [
            |o| o["spec"]["replicas"] = json!(5),
            |o| o["metadata"]["labels"]["app"] = json!("drifted"),
            |o| o["spec"]["template"]["spec"]["containers"] = json!([]),
            |o| o["metadata"]["managedFields"][0]["operation"] = json!("Update"),
            |o| o["metadata"]["managedFields"] = json!([]),
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut other = object();
            change(&mut other);
            assert!(!proven(&configuration(), &other), "change {index}");
        }
    }

    #[test]
    fn the_status_has_an_entry_of_its_own() {
        let configuration =
            json!({ "apiVersion": "v1", "kind": "X", "metadata": { "name": "x" }, "status": { "ready": 1 } });
        let object = json!({ "metadata": { "name": "x", "managedFields": [{
            "manager": "op/app-status", "operation": "Apply", "apiVersion": "v1", "subresource": "status",
            "fieldsV1": { "f:status": { "f:ready": {} } } }] }, "status": { "ready": 1, "theirs": 2 } });
        let map = configuration.as_object().expect("an object");
        assert!(holds(map, &object, "op/app-status", Some("status")));
        assert!(!holds(map, &object, "op/app-status", None));
    }
}
