//! The mutating plugins that every server runs: Priority, DefaultTolerationSeconds, StorageObjectInUseProtection.

use serde_json::{Value, json};

use super::{Inner, Operation, Request};
use crate::error::ApiError;

/// Seconds that a pod stays on a node that is not ready or cannot be reached.
const PATIENCE: i64 = 300;
/// Priority classes that exist without being stored, with their priority.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// Changes new pods, claims and volumes as the default plugins do.
///
/// # Errors
/// 403 for a pod whose priority does not follow from its class.
pub(super) fn apply(inner: &Inner, request: &mut Request<'_>) -> Result<(), ApiError> {
    if !request.subresource.is_empty() || !request.resource.group.is_empty() {
        return Ok(());
    }
    if request.operation == Operation::Update && request.resource.plural == "pods" {
        // What an update takes away comes back.
        tolerate(request.object);
    }
    if request.operation != Operation::Create {
        return Ok(());
    }
    match request.resource.plural.as_str() {
        "pods" => {
            prioritize(inner, request)?;
            tolerate(request.object);
        }
        "persistentvolumeclaims" => protect(request.object, "kubernetes.io/pvc-protection"),
        "persistentvolumes" => protect(request.object, "kubernetes.io/pv-protection"),
        _ => {}
    }
    Ok(())
}

fn prioritize(inner: &Inner, request: &mut Request<'_>) -> Result<(), ApiError> {
    let named = request.object["spec"]["priorityClassName"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    let (name, priority, preemption) = match class(inner, &named) {
        Some(found) => found,
        None if named.is_empty() => (named, 0, "PreemptLowerPriority".to_owned()),
        None => {
            let why = format!("no PriorityClass with name {named} was found");
            return Err(ApiError::forbidden(request.resource, request.shown_name(), why));
        }
    };
    let spec = &request.object["spec"];
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != priority) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        );
        return Err(ApiError::forbidden(request.resource, request.shown_name(), why));
    }
    if let Some(given) = spec["preemptionPolicy"].as_str().filter(|given| *given != preemption) {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {preemption} from the given PriorityClass name"
        );
        return Err(ApiError::forbidden(request.resource, request.shown_name(), why));
    }
    let Some(spec) = request.object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if !name.is_empty() {
        spec.insert("priorityClassName".to_owned(), name.into());
    }
    spec.insert("priority".to_owned(), priority.into());
    spec.insert("preemptionPolicy".to_owned(), preemption.into());
    Ok(())
}

/// The priority class of that name, or the default one for no name: name, priority, preemption policy.
fn class(inner: &Inner, name: &str) -> Option<(String, i64, String)> {
    if let Some((name, priority)) = SYSTEM_CLASSES.iter().find(|(system, _)| *system == name) {
        return Some(((*name).to_owned(), *priority, "PreemptLowerPriority".to_owned()));
    }
    let table = "priorityclasses.scheduling.k8s.io";
    let found = if name.is_empty() {
        let classes = inner.store.list(table, None);
        let defaults = classes
            .iter()
            .map(|stored| stored.value())
            .filter(|class| class["globalDefault"] == true);
        defaults.min_by_key(|class| class["value"].as_i64())?
    } else {
        inner.store.find(table, "", name)?.value()
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let preemption = text(&found["preemptionPolicy"]).unwrap_or_else(|| "PreemptLowerPriority".to_owned());
    Some((
        text(&found["metadata"]["name"])?,
        found["value"].as_i64().unwrap_or(0),
        preemption,
    ))
}

fn tolerate(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let mut tolerations = spec
        .get("tolerations")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |t: &Value| {
            let (own, effect) = (t["key"].as_str().unwrap_or(""), t["effect"].as_str().unwrap_or(""));
            (own == key || own.is_empty()) && matches!(effect, "" | "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE,
            }));
        }
    }
    spec.insert("tolerations".to_owned(), tolerations.into());
}

fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(list) = finalizers
        .as_array_mut()
        .filter(|list| !list.iter().any(|f| f == finalizer))
    {
        list.push(finalizer.into());
    }
}
