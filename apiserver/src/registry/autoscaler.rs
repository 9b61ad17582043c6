//! HorizontalPodAutoscalers between autoscaling/v2, which stores them, and autoscaling/v1.
//!
//! v1 knows the target for the CPU alone; everything else travels in annotations, metrics in the words that v1 once had
//! for them, the behaviour as Go prints the server's own type.

use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// A field of a metric: its name in v1, its path in v2 below the source, and whether v1 always writes it.
type Field = (&'static str, &'static str, bool);

/// What v1 calls the fields of each source, in the order in which it writes them; those of a target, then of a status.
const SOURCES: &[(&str, &[Field], &[Field])] = &[
    (
        "object",
        &[
            ("target", "describedObject", true),
            ("metricName", "metric.name", true),
            ("targetValue", "target.value", true),
            ("selector", "metric.selector", false),
            ("averageValue", "target.averageValue", false),
        ],
        &[
            ("target", "describedObject", true),
            ("metricName", "metric.name", true),
            ("currentValue", "current.value", true),
            ("selector", "metric.selector", false),
            ("averageValue", "current.averageValue", false),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name", true),
            ("targetAverageValue", "target.averageValue", true),
            ("selector", "metric.selector", false),
        ],
        &[
            ("metricName", "metric.name", true),
            ("currentAverageValue", "current.averageValue", true),
            ("selector", "metric.selector", false),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name", true),
            ("targetAverageUtilization", "target.averageUtilization", false),
            ("targetAverageValue", "target.averageValue", false),
        ],
        &[
            ("name", "name", true),
            ("currentAverageUtilization", "current.averageUtilization", false),
            ("currentAverageValue", "current.averageValue", true),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name", true),
            ("targetAverageUtilization", "target.averageUtilization", false),
            ("targetAverageValue", "target.averageValue", false),
            ("container", "container", true),
        ],
        &[
            ("name", "name", true),
            ("currentAverageUtilization", "current.averageUtilization", false),
            ("currentAverageValue", "current.averageValue", true),
            ("container", "container", true),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name", true),
            ("metricSelector", "metric.selector", false),
            ("targetValue", "target.value", false),
            ("targetAverageValue", "target.averageValue", false),
        ],
        &[
            ("metricName", "metric.name", true),
            ("metricSelector", "metric.selector", false),
            ("currentValue", "current.value", true),
            ("currentAverageValue", "current.averageValue", false),
        ],
    ),
];

/// Turns the stored form into v1.
pub(super) fn to_v1(object: &mut Value) {
    let mut annotations: Vec<(&str, String)> = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let (cpu, others) = split_metrics(spec.remove("metrics"));
        if let Some(target) = cpu
            .as_ref()
            .and_then(|m| m.pointer("/resource/target/averageUtilization"))
        {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target.clone());
        }
        if !others.is_empty() {
            annotations.push((METRICS, list(others.iter().map(|metric| metric_text(metric, false)))));
        }
        if let Some(behavior) = spec.remove("behavior") {
            annotations.push((BEHAVIOR, behavior_text(&behavior)));
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
            annotations.push((
                CURRENT_METRICS,
                list(others.iter().map(|metric| metric_text(metric, true))),
            ));
        }
        if let Some(Value::Array(conditions)) = status.remove("conditions")
            && !conditions.is_empty()
        {
            let fields = ["type", "status", "lastTransitionTime", "reason", "message"];
            let texts = conditions
                .iter()
                .map(|condition| record(fields.iter().filter_map(|f| Some((*f, condition.get(*f)?.to_string())))));
            annotations.push((CONDITIONS, list(texts)));
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
        for (name, text) in annotations {
            metadata["annotations"][name] = text.into();
        }
    }
}

/// Turns v1 into the stored form.
pub(super) fn to_v2(object: &mut Value) {
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
    let listed = |value: Option<Value>| value.and_then(|v| v.as_array().cloned()).unwrap_or_default();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all: Vec<Value> = listed(metrics)
            .iter()
            .map(|metric| metric_value(metric, false))
            .collect();
        if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({ "type": "Utilization", "averageUtilization": target });
            let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
            all.insert(0, cpu);
        }
        insert_list(spec, "metrics", all);
        if let Some(behavior) = behavior {
            spec.insert("behavior".to_owned(), behavior_value(&behavior));
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let mut all: Vec<Value> = listed(current)
            .iter()
            .map(|metric| metric_value(metric, true))
            .collect();
        if let Some(value) = status.remove("currentCPUUtilizationPercentage") {
            let current = json!({ "averageUtilization": value, "averageValue": "0" });
            let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } });
            all.insert(0, cpu);
        }
        insert_list(status, "currentMetrics", all);
        if let Some(conditions) = conditions {
            status.insert("conditions".to_owned(), conditions);
        }
    }
}

fn fields(source: &str, current: bool) -> &'static [Field] {
    let found = SOURCES.iter().find(|(name, ..)| *name == source);
    found.map_or(&[], |(_, target, status)| if current { status } else { target })
}

fn metric_text(metric: &Value, current: bool) -> String {
    let mut parts = vec![("type", metric["type"].to_string())];
    for (source, ..) in SOURCES {
        let Some(given) = metric.get(*source) else { continue };
        let texts = fields(source, current).iter().filter_map(|(name, path, always)| {
            let value = given.pointer(&format!("/{}", path.replace('.', "/")));
            match value {
                Some(value) => Some((*name, value.to_string())),
                // Quantities that are not there are zero.
                None if *always => Some((*name, "\"0\"".to_owned())),
                None => None,
            }
        });
        parts.push((source, record(texts)));
    }
    record(parts.into_iter())
}

fn metric_value(metric: &Value, current: bool) -> Value {
    let mut found = json!({ "type": metric["type"] });
    for (source, ..) in SOURCES {
        let Some(given) = metric.get(*source) else { continue };
        let mut value = json!({});
        for (name, path, _) in fields(source, current) {
            let Some(field) = given.get(*name) else { continue };
            match path.split_once('.') {
                Some((outer, inner)) => value[outer][inner] = field.clone(),
                None => value[*path] = field.clone(),
            }
        }
        if !current {
            let target = &mut value["target"];
            target["type"] = if !target["averageUtilization"].is_null() {
                "Utilization".into()
            } else if !target["averageValue"].is_null() {
                "AverageValue".into()
            } else {
                "Value".into()
            };
        }
        found[*source] = value;
    }
    found
}

fn behavior_text(behavior: &Value) -> String {
    let rules = |rules: &Value| {
        if rules.is_null() {
            return "null".to_owned();
        }
        let policies = rules["policies"].as_array().map_or("null".to_owned(), |policies| {
            list(policies.iter().map(|policy| {
                let fields = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];
                record(fields.iter().map(|(go, json)| (*go, policy[*json].to_string())))
            }))
        });
        let parts = [
            (
                "StabilizationWindowSeconds",
                rules["stabilizationWindowSeconds"].to_string(),
            ),
            ("SelectPolicy", rules["selectPolicy"].to_string()),
            ("Policies", policies),
            ("Tolerance", rules["tolerance"].to_string()),
        ];
        record(parts.into_iter())
    };
    let parts = [
        ("ScaleUp", rules(&behavior["scaleUp"])),
        ("ScaleDown", rules(&behavior["scaleDown"])),
    ];
    record(parts.into_iter())
}

/// The fields of Go's type in the spelling of the API.
fn behavior_value(behavior: &Value) -> Value {
    match behavior {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| {
                    let mut letters = name.chars();
                    let first = letters.next().map(|c| c.to_ascii_lowercase());
                    let name: String = first.into_iter().chain(letters).collect();
                    (name, behavior_value(value))
                });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(behavior_value).collect(),
        other => other.clone(),
    }
}

/// A JSON object with its fields in this order.
fn record<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
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
            "spec": {
                "maxReplicas": 3,
                "behavior": { "scaleUp": { "policies": [{ "type": "Pods", "value": 4, "periodSeconds": 15 }] } },
                "metrics": [
                    { "type": "Resource", "resource": { "name": "cpu", "target": {
                        "type": "Utilization", "averageUtilization": 80 } } },
                    { "type": "Pods", "pods": { "metric": { "name": "x" }, "target": {
                        "type": "AverageValue", "averageValue": "5" } } },
                ],
            },
        });
        let mut object = original.clone();
        to_v1(&mut object);
        assert_eq!(
            object["spec"],
            json!({ "maxReplicas": 3, "targetCPUUtilizationPercentage": 80 })
        );
        assert_eq!(
            object["metadata"]["annotations"][METRICS],
            r#"[{"type":"Pods","pods":{"metricName":"x","targetAverageValue":"5"}}]"#
        );
        to_v2(&mut object);
        assert_eq!(object, original);
    }
}
