//! What autoscalers must be.

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, OneOf, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("HorizontalPodAutoscaler", &[Below("spec")]),
    (
        "HorizontalPodAutoscalerSpec",
        &[
            AtLeast("minReplicas", 1),
            With(most_replicas),
            With(target),
            With(metrics),
            Below("behavior"),
        ],
    ),
    (
        "HorizontalPodAutoscalerBehavior",
        &[Below("scaleUp"), Below("scaleDown")],
    ),
    (
        "HPAScalingRules",
        &[
            With(stabilization),
            OneOf("selectPolicy", &["Disabled", "Max", "Min"]),
            With(policies),
        ],
    ),
    ("HPAScalingPolicy", &[With(policy)]),
];

fn most_replicas(at: &At<'_>, causes: &mut Vec<Cause>) {
    let most = at.get("maxReplicas").as_i64().unwrap_or(0);
    let path = at.field("maxReplicas");
    if most < 1 {
        let why = "must be set and greater than 0";
        causes.push(Cause::required(path.as_str(), why));
    }
    if at.get("minReplicas").as_i64().is_some_and(|least| most < least) {
        causes.push(Cause::invalid(
            path,
            &most.into(),
            "must be greater than or equal to `minReplicas`",
        ));
    }
}

fn target(at: &At<'_>, causes: &mut Vec<Cause>) {
    for field in ["scaleTargetRef.kind", "scaleTargetRef.name"] {
        let value = at.text(field);
        if value.is_empty() {
            causes.push(Cause::required(at.field(field), ""));
        }
        let faults = names::path_segment(value, false);
        let faults = faults.iter().filter(|_| !value.is_empty());
        causes.extend(faults.map(|why| Cause::invalid(at.field(field), &value.into(), why)));
    }
    if at.text("scaleTargetRef.apiVersion").is_empty() {
        let why = "apiVersion must specify API group";
        causes.push(Cause::invalid(at.field("scaleTargetRef.apiVersion"), &"".into(), why));
    }
}

/// Where a metric of each type says what it is.
const METRICS: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

fn metrics(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, metric) in at.list("metrics").iter().enumerate() {
        let path = at.field(&format!("metrics[{index}]"));
        let kind = metric["type"].as_str().unwrap_or_default();
        let expected = METRICS
            .iter()
            .find(|(known, _)| *known == kind)
            .map(|(_, field)| *field);
        let unsupported = || Cause::unsupported(format!("{path}.type"), &kind.into(), &METRICS.map(|(kind, _)| kind));
        if kind.is_empty() {
            causes.push(Cause::required(
                format!("{path}.type"),
                "must specify a metric source type",
            ));
        }
        if expected.is_none() {
            causes.push(unsupported());
        }
        // The first source that is there is looked at, whatever the type says.
        let present: Vec<&str> = SOURCES
            .into_iter()
            .filter(|field| metric.get(*field).is_some())
            .collect();
        if let Some(field) = present.first() {
            source(field, &metric[*field], &format!("{path}.{field}"), causes);
        }
        match expected {
            Some(field) if !present.contains(&field) => {
                let why = "must populate information for the given metric source";
                causes.push(Cause::required(format!("{path}.{field}"), why));
            }
            Some(_) => {}
            None => causes.push(unsupported()),
        }
        if present.len() != 1 {
            let others = present.iter().filter(|field| Some(**field) != expected);
            causes.extend(others.map(|field| {
                Cause::forbidden(format!("{path}.{field}"), "must populate the given metric source only")
            }));
        }
    }
}

/// The sources in the order in which they are looked for.
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

/// One source of a metric: what it names, and the target that fits it.
fn source(kind: &str, source: &Value, path: &str, causes: &mut Vec<Cause>) {
    let empty = |value: &Value| value.as_str().unwrap_or_default().is_empty();
    match kind {
        "resource" | "containerResource" => {
            if empty(&source["name"]) {
                causes.push(Cause::required(format!("{path}.name"), "must specify a resource name"));
            }
            if kind == "containerResource" && empty(&source["container"]) {
                let why = "must specify a container name";
                causes.push(Cause::required(format!("{path}.container"), why));
            }
        }
        _ => {
            if kind == "object" {
                for field in ["kind", "name"] {
                    if empty(&source["describedObject"][field]) {
                        causes.push(Cause::required(format!("{path}.describedObject.{field}"), ""));
                    }
                }
            }
            let name = source["metric"]["name"].as_str().unwrap_or_default();
            let field = format!("{path}.metric.name");
            if name.is_empty() {
                causes.push(Cause::required(field, "must specify a metric name"));
            } else {
                let faults = names::path_segment(name, false);
                causes.extend(faults.iter().map(|why| Cause::invalid(&*field, &name.into(), why)));
            }
        }
    }
    let target = &source["target"];
    let path = format!("{path}.target");
    target_type(target, &path, causes);
    let has = |field: &str| !target[field].is_null();
    let (value, average, utilization) = (has("value"), has("averageValue"), has("averageUtilization"));
    match kind {
        "resource" | "containerResource" => {
            if utilization && average {
                let why = "may not set both a target raw value and a target utilization";
                causes.push(Cause::forbidden(format!("{path}.averageValue"), why));
            } else if !utilization && !average {
                let why = "must set either a target raw value or a target utilization";
                causes.push(Cause::required(format!("{path}.averageUtilization"), why));
            }
        }
        "pods" => {
            if !average {
                let why = "must specify a positive target averageValue";
                causes.push(Cause::required(format!("{path}.averageValue"), why));
            }
        }
        "external" => {
            if value && average {
                let why = "may not set both a target value for metric and a per-pod target";
                causes.push(Cause::forbidden(format!("{path}.value"), why));
            } else if !value && !average {
                let why = "must set either a target value for metric or a per-pod target";
                causes.push(Cause::required(format!("{path}.averageValue"), why));
            }
        }
        _ => {
            if !value && !average {
                let why = "must set either a target value or averageValue";
                causes.push(Cause::required(format!("{path}.averageValue"), why));
            }
        }
    }
}

fn target_type(target: &Value, path: &str, causes: &mut Vec<Cause>) {
    match target["type"].as_str().unwrap_or_default() {
        "" => {
            let why = "must specify a metric target type";
            causes.push(Cause::required(format!("{path}.type"), why));
        }
        "Utilization" | "Value" | "AverageValue" => {}
        _ => {
            let why = "must be either Utilization, Value, or AverageValue";
            causes.push(Cause::invalid(format!("{path}.type"), &target["type"], why));
        }
    }
    let utilization = &target["averageUtilization"];
    if utilization.as_i64().is_some_and(|percent| percent < 1) {
        let why = "must be greater than 0";
        causes.push(Cause::invalid(format!("{path}.averageUtilization"), utilization, why));
    }
    for field in ["value", "averageValue"] {
        let amount = target[field].as_str().and_then(Quantity::parse);
        if amount.is_some_and(|amount| amount.nanos() <= 0) {
            let why = "must be positive";
            causes.push(Cause::invalid(format!("{path}.{field}"), &target[field], why));
        }
    }
}

fn stabilization(at: &At<'_>, causes: &mut Vec<Cause>) {
    let seconds = at.get("stabilizationWindowSeconds");
    let why = match seconds.as_i64() {
        Some(n) if n < 0 => "must be greater than or equal to zero",
        Some(n) if n > 3600 => "must be less than or equal to 3600",
        _ => return,
    };
    causes.push(Cause::invalid(at.field("stabilizationWindowSeconds"), seconds, why));
}

fn policies(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("policies").is_empty() {
        let why = "must specify at least one Policy";
        causes.push(Cause::required(at.field("policies"), why));
    }
    at.below("policies", causes);
}

fn policy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("type");
    if !matches!(kind, "Percent" | "Pods") {
        causes.push(Cause::unsupported(at.field("type"), &kind.into(), &["Percent", "Pods"]));
    }
    let positive = |field: &str, causes: &mut Vec<Cause>| {
        let number = at.get(field);
        if number.as_i64().is_none_or(|n| n <= 0) {
            let shown = if number.is_null() { &Value::from(0) } else { number };
            causes.push(Cause::invalid(at.field(field), shown, "must be greater than zero"));
        }
    };
    positive("value", causes);
    positive("periodSeconds", causes);
    let period = at.get("periodSeconds");
    if period.as_i64().is_some_and(|n| n > 1800) {
        let why = "must be less than or equal to 1800";
        causes.push(Cause::invalid(at.field("periodSeconds"), period, why));
    }
}
