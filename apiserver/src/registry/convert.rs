//! Between the versions of one kind: what is stored, and what a request reads and writes.
//!
//! Custom resources with conversion `None` differ in `apiVersion` only. Of the built-in kinds, Events and
//! HorizontalPodAutoscalers have two versions with different fields.

use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::resource::Resource;

/// Fields of an Event: their name in the core group and in events.k8s.io.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an object as stored into the version of `resource`.
///
/// # Errors
/// 500 when the object's conversion needs a webhook that cannot be called.
pub(crate) fn from_storage(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    match &*resource.stored_under {
        "events" if !resource.group.is_empty() => {
            rename(object, EVENT_FIELDS.iter().copied());
            for field in ["reportingController", "reportingInstance"] {
                remove_if(object, field, |value| value == "");
            }
        }
        "horizontalpodautoscalers.autoscaling" if resource.version == "v1" => hpa_to_v1(object),
        _ => check_strategy(resource)?,
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.api_version().into());
    }
    Ok(())
}

/// Turns an object in the version of `resource` into the one that is stored.
///
/// # Errors
/// 500 when the object's conversion needs a webhook that cannot be called.
pub(crate) fn to_storage(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    let group = match &*resource.stored_under {
        "events" if !resource.group.is_empty() => {
            rename(object, EVENT_FIELDS.iter().map(|(core, new)| (*new, *core)));
            event_defaults(object);
            ""
        }
        "horizontalpodautoscalers.autoscaling" if resource.version == "v1" => {
            hpa_to_v2(object);
            "autoscaling"
        }
        _ => {
            check_strategy(resource)?;
            &resource.group
        }
    };
    if let Some(fields) = object.as_object_mut() {
        let api_version = crate::resource::api_version(group, &resource.storage_version);
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    Ok(())
}

/// Whether the stored form of the resource is the one that its version shows.
pub(crate) fn is_stored_form(resource: &Resource) -> bool {
    resource.version == resource.storage_version && (resource.group.is_empty() || &*resource.stored_under != "events")
}

fn check_strategy(resource: &Resource) -> Result<(), ApiError> {
    let webhook = resource
        .custom
        .as_ref()
        .is_some_and(|custom| custom.conversion["strategy"] == "Webhook");
    if webhook && resource.version != resource.storage_version {
        return Err(ApiError::new(
            500,
            "",
            format!(
                "conversion webhook for {}, Kind={} cannot be called",
                resource.api_version(),
                resource.kind
            ),
        ));
    }
    Ok(())
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(fields) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

fn remove_if(object: &mut Value, field: &str, test: impl Fn(&Value) -> bool) {
    if let Some(fields) = object.as_object_mut()
        && fields.get(field).is_some_and(test)
    {
        fields.remove(field);
    }
}

/// The core group writes these fields of an Event even when they are empty.
fn event_defaults(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    for (field, empty) in [
        ("involvedObject", json!({})),
        ("source", json!({})),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("eventTime", Value::Null),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
    ] {
        fields.entry(field).or_insert(empty);
    }
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// autoscaling/v1 knows the CPU target alone; the rest travels in annotations.
fn hpa_to_v1(object: &mut Value) {
    let mut annotations: Vec<(&str, Value)> = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let (cpu, others) = split_metrics(spec.remove("metrics"));
        if let Some(target) = cpu
            .as_ref()
            .and_then(|m| m.pointer("/resource/target/averageUtilization"))
        {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target.clone());
        }
        if !others.is_empty() {
            annotations.push((METRICS, Value::Array(others)));
        }
        if let Some(behavior) = spec.remove("behavior") {
            annotations.push((BEHAVIOR, behavior));
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let (cpu, others) = split_metrics(status.remove("currentMetrics"));
        if let Some(current) = cpu
            .as_ref()
            .and_then(|m| m.pointer("/resource/current/averageUtilization"))
        {
            status.insert("currentCPUUtilizationPercentage".to_owned(), current.clone());
        }
        if !others.is_empty() {
            annotations.push((CURRENT_METRICS, Value::Array(others)));
        }
        if let Some(conditions) = status
            .remove("conditions")
            .filter(|c| c.as_array().is_some_and(|c| !c.is_empty()))
        {
            annotations.push((CONDITIONS, conditions));
        }
        for counter in ["currentReplicas", "desiredReplicas"] {
            status.entry(counter).or_insert_with(|| 0.into());
        }
    }
    if !annotations.is_empty() {
        let metadata = &mut object["metadata"];
        if !metadata["annotations"].is_object() {
            metadata["annotations"] = json!({});
        }
        for (name, value) in annotations {
            metadata["annotations"][name] = value.to_string().into();
        }
    }
}

fn hpa_to_v2(object: &mut Value) {
    let mut take = |name: &str| -> Option<Value> {
        let annotations = object.pointer_mut("/metadata/annotations")?.as_object_mut()?;
        let value = serde_json::from_str(annotations.remove(name)?.as_str()?).ok();
        if annotations.is_empty() {
            object.pointer_mut("/metadata")?.as_object_mut()?.remove("annotations");
        }
        value
    };
    let (metrics, current) = (take(METRICS), take(CURRENT_METRICS));
    let (conditions, behavior) = (take(CONDITIONS), take(BEHAVIOR));
    let list = |value: Option<Value>| value.and_then(|v| v.as_array().cloned()).unwrap_or_default();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all = list(metrics);
        if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({ "type": "Utilization", "averageUtilization": target });
            all.insert(
                0,
                json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } }),
            );
        }
        insert_list(spec, "metrics", all);
        if let Some(behavior) = behavior {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let mut all = list(current);
        if let Some(value) = status.remove("currentCPUUtilizationPercentage") {
            let current = json!({ "averageUtilization": value, "averageValue": "0" });
            all.insert(
                0,
                json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } }),
            );
        }
        insert_list(status, "currentMetrics", all);
        if let Some(conditions) = conditions {
            status.insert("conditions".to_owned(), conditions);
        }
    }
}

/// The first metric about CPU utilisation, and the others.
fn split_metrics(metrics: Option<Value>) -> (Option<Value>, Vec<Value>) {
    let Some(Value::Array(mut all)) = metrics else {
        return (None, Vec::new());
    };
    let cpu = all.iter().position(|metric| {
        let resource = &metric["resource"];
        let utilization =
            !resource["target"]["averageUtilization"].is_null() || !resource["current"]["averageUtilization"].is_null();
        metric["type"] == "Resource" && resource["name"] == "cpu" && utilization
    });
    (cpu.map(|index| all.remove(index)), all)
}

fn insert_list(fields: &mut Map<String, Value>, name: &str, list: Vec<Value>) {
    if !list.is_empty() {
        fields.insert(name.to_owned(), Value::Array(list));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoscaler_survives_the_way_through_the_old_version() {
        let original = json!({
            "metadata": { "name": "a" },
            "spec": { "maxReplicas": 3, "behavior": { "scaleUp": {} }, "metrics": [
                { "type": "Resource", "resource": { "name": "cpu", "target": {
                    "type": "Utilization", "averageUtilization": 80 } } },
                { "type": "Pods", "pods": { "metric": { "name": "x" } } },
            ] },
        });
        let mut object = original.clone();
        hpa_to_v1(&mut object);
        assert_eq!(
            object["spec"],
            json!({ "maxReplicas": 3, "targetCPUUtilizationPercentage": 80 })
        );
        hpa_to_v2(&mut object);
        assert_eq!(object, original);
    }
}
