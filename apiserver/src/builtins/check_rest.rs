//! What the kinds of the cluster itself must be.

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, Named, OneOf, Positive, Required, With};
use super::names;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Lease", &[Below("spec")]),
    (
        "LeaseSpec",
        &[Positive("leaseDurationSeconds"), AtLeast("leaseTransitions", 0)],
    ),
    ("Event", &[With(event)]),
    (
        "PriorityClass",
        &[
            With(priority),
            OneOf("preemptionPolicy", &["PreemptLowerPriority", "Never"]),
        ],
    ),
    ("Namespace", &[With(namespace_finalizers)]),
    ("Node", &[With(taints)]),
    ("ControllerRevision", &[AtLeast("revision", 0)]),
    ("RuntimeClass", &[Required("handler"), Named("handler", names::label)]),
];

/// The old group checks where the event belongs, the new one that it says what happened.
fn event(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.map.contains_key("involvedObject") || at.root["apiVersion"] == "v1" {
        let (own, of) = (at.text("metadata.namespace"), at.text("involvedObject.namespace"));
        let fits = own == of || (of.is_empty() && matches!(own, "" | "default"));
        if !fits {
            let why = "does not match event.namespace";
            causes.push(Cause::invalid("involvedObject.namespace", &of.into(), why));
        }
        return;
    }
    let deprecated = !at.get("deprecatedFirstTimestamp").is_null() || !at.get("deprecatedLastTimestamp").is_null();
    if deprecated {
        return;
    }
    if at.get("eventTime").is_null() {
        causes.push(Cause::required("eventTime", ""));
    } else {
        for (field, limit) in [
            ("reportingController", usize::MAX),
            ("reportingInstance", 128),
            ("action", 128),
            ("reason", 128),
        ] {
            let text = at.text(field);
            if text.is_empty() {
                causes.push(Cause::required(field, ""));
            } else if text.len() > limit {
                causes.push(Cause::invalid(
                    field,
                    &"".into(),
                    format!("can have at most {limit} characters"),
                ));
            }
        }
    }
    let kind = at.text("type");
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid("type", &"".into(), format!("has invalid value: {kind}")));
    }
    if at.text("note").len() > 1024 {
        causes.push(Cause::invalid("note", &"".into(), "can have at most 1024 characters"));
    }
}

const MOST_PRIORITY: i64 = 1_000_000_000;

fn priority(at: &At<'_>, causes: &mut Vec<Cause>) {
    let name = at.text("metadata.name");
    let value = at.get("value").as_i64().unwrap_or(0);
    if name.starts_with("system-") {
        let known = [
            ("system-node-critical", 2_000_001_000),
            ("system-cluster-critical", 2_000_000_000),
        ];
        if !known.contains(&(name, value)) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            causes.push(Cause::forbidden("metadata.name", why));
        }
    } else if value > MOST_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {MOST_PRIORITY}");
        causes.push(Cause::forbidden("value", why));
    }
}

fn namespace_finalizers(at: &At<'_>, causes: &mut Vec<Cause>) {
    for name in at.list("spec.finalizers").iter().filter_map(Value::as_str) {
        let faults = names::qualified(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid("spec.finalizers", &name.into(), why)),
        );
        if faults.is_empty() && !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid("spec.finalizers", &name.into(), why));
        }
    }
}

fn taints(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen: Vec<(&Value, &Value)> = Vec::new();
    for (index, taint) in at.list("spec.taints").iter().enumerate() {
        let path = format!("metadata.taints[{index}]");
        let key = taint["key"].as_str().unwrap_or_default();
        let faults = names::qualified(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.key"), &key.into(), why)),
        );
        let allowed = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !taint["effect"].as_str().is_some_and(|e| allowed.contains(&e)) {
            causes.push(Cause::unsupported(format!("{path}.effect"), &taint["effect"], &allowed));
        }
        let pair = (&taint["key"], &taint["effect"]);
        if seen.contains(&pair) {
            let value = taint["value"].as_str().unwrap_or_default();
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!(
                    "Duplicate value: {{\"Key\":{},\"Value\":{value:?},\"Effect\":{},\"TimeAdded\":{}}}: taints must be unique by key and effect pair",
                    taint["key"], taint["effect"], taint["timeAdded"]
                ),
                field: path,
            });
        }
        seen.push(pair);
    }
}
