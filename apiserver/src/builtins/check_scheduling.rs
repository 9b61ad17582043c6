//! Where pods may run: tolerations, affinity, spreading.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, Below, OneOf, Required, Selector, With};
use super::names;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    (
        "Toleration",
        &[
            With(toleration),
            OneOf("effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        ],
    ),
    (
        "Affinity",
        &[Below("nodeAffinity"), Below("podAffinity"), Below("podAntiAffinity")],
    ),
    ("NodeAffinity", TERMS),
    ("NodeSelector", &[With(some_term), Below("nodeSelectorTerms")]),
    ("NodeSelectorTerm", &[Below("matchExpressions"), With(match_fields)]),
    ("NodeSelectorRequirement", &[With(node_requirement)]),
    ("PreferredSchedulingTerm", &[With(weight), Below("preference")]),
    ("PodAffinity", TERMS),
    ("PodAntiAffinity", TERMS),
    ("WeightedPodAffinityTerm", &[With(weight), Below("podAffinityTerm")]),
    (
        "PodAffinityTerm",
        &[
            Selector("labelSelector"),
            Selector("namespaceSelector"),
            With(namespaces),
            With(match_label_keys),
            With(topology_key),
        ],
    ),
    ("PodReadinessGate", &[With(gate_type)]),
    ("PodSchedulingGate", &[Required("name")]),
];

const TERMS: &[Check] = &[
    Below("requiredDuringSchedulingIgnoredDuringExecution"),
    Below("preferredDuringSchedulingIgnoredDuringExecution"),
];

fn toleration(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (key, operator) = (at.text("key"), at.text("operator"));
    if !key.is_empty() {
        let faults = names::qualified(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(at.field("key"), &key.into(), why)),
        );
    } else if operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        causes.push(Cause::invalid(at.field("operator"), &operator.into(), why));
    }
    if at.get("tolerationSeconds").is_number() && at.text("effect") != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(Cause::invalid(at.field("effect"), &at.text("effect").into(), why));
    }
    match operator {
        "" | "Equal" => {
            let value = at.text("value");
            let faults = names::label_value(value);
            if !faults.is_empty() {
                causes.push(Cause::invalid(at.field("operator"), &value.into(), faults.join(";")));
            }
        }
        "Exists" => {
            if !at.text("value").is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(at.field("operator"), at.get("value"), why));
            }
        }
        _ => causes.push(Cause::unsupported(
            at.field("operator"),
            at.get("operator"),
            &["Equal", "Exists"],
        )),
    }
}

fn some_term(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("nodeSelectorTerms").is_empty() {
        let why = "must have at least one node selector term";
        causes.push(Cause::required(at.field("nodeSelectorTerms"), why));
    }
}

fn node_requirement(at: &At<'_>, causes: &mut Vec<Cause>) {
    let values = at.list("values").len();
    let field = at.field("values");
    match at.text("operator") {
        "In" | "NotIn" if values == 0 => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push(Cause::required(field, why));
        }
        "Exists" | "DoesNotExist" if values > 0 => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(field, why));
        }
        "Gt" | "Lt" if values != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            causes.push(Cause::required(field, why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            let why = "not a valid selector operator";
            causes.push(Cause::invalid(at.field("operator"), &other.into(), why));
        }
    }
    qualified(at, "key", causes);
    // What is only preferred may hold any text.
    if !at.path.contains(".preferredDuring") {
        for (index, value) in at.list("values").iter().enumerate() {
            let faults = names::label_value(value.as_str().unwrap_or_default());
            let place = at.field(&format!("values[{index}]"));
            causes.extend(faults.iter().map(|why| Cause::invalid(&*place, value, why)));
        }
    }
}

fn qualified(at: &At<'_>, field: &str, causes: &mut Vec<Cause>) {
    let name = at.text(field);
    let faults = names::qualified(name);
    causes.extend(
        faults
            .iter()
            .map(|why| Cause::invalid(at.field(field), &name.into(), why)),
    );
}

/// Nodes are selected by their name, and by no other field.
fn match_fields(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, field) in at.list("matchFields").iter().enumerate() {
        let path = at.field(&format!("matchFields[{index}]"));
        let values = field["values"].as_array().map_or(0, Vec::len);
        match field["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" => {
                if values != 1 {
                    let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                    causes.push(Cause::required(format!("{path}.values"), why));
                }
            }
            _ => {
                let why = "not a valid selector operator";
                causes.push(Cause::invalid(format!("{path}.operator"), &field["operator"], why));
            }
        }
        if field["key"] != "metadata.name" {
            let why = "not a valid field selector key";
            causes.push(Cause::invalid(format!("{path}.key"), &field["key"], why));
            continue;
        }
        for (value, name) in field["values"].as_array().into_iter().flatten().enumerate() {
            let faults = names::subdomain(name.as_str().unwrap_or_default());
            let place = format!("{path}.values[{value}]");
            causes.extend(faults.iter().map(|why| Cause::invalid(&*place, name, why)));
        }
    }
}

fn weight(at: &At<'_>, causes: &mut Vec<Cause>) {
    let weight = at.get("weight");
    if !weight.as_i64().is_some_and(|weight| (1..=100).contains(&weight)) {
        causes.push(Cause::invalid(at.field("weight"), weight, "must be in the range 1-100"));
    }
}

fn namespaces(at: &At<'_>, causes: &mut Vec<Cause>) {
    for name in at.list("namespaces") {
        let faults = names::label(name.as_str().unwrap_or_default());
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(at.field("namespace"), name, why)),
        );
    }
}

/// Keys whose values are those of the pod itself need a selector to be added to.
fn match_label_keys(at: &At<'_>, causes: &mut Vec<Cause>) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = at.list(field);
        if !keys.is_empty() && at.get("labelSelector").is_null() {
            let why = "must not be specified when labelSelector is not set";
            causes.push(Cause::forbidden(at.field(field), why));
        }
        for (index, key) in keys.iter().enumerate() {
            let faults = names::qualified(key.as_str().unwrap_or_default());
            let place = at.field(&format!("{field}[{index}]"));
            causes.extend(faults.iter().map(|why| Cause::invalid(&*place, key, why)));
        }
    }
}

fn topology_key(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text("topologyKey").is_empty() {
        causes.push(Cause::required(at.field("topologyKey"), "can not be empty"));
    } else {
        qualified(at, "topologyKey", causes);
    }
}

fn gate_type(at: &At<'_>, causes: &mut Vec<Cause>) {
    qualified(at, "conditionType", causes);
}

/// What a spread constraint may leave out.
fn spread_options(constraint: &Value, path: &str, causes: &mut Vec<Cause>) {
    let domains = &constraint["minDomains"];
    if let Some(count) = domains.as_i64() {
        let field = format!("{path}.minDomains");
        if count <= 0 {
            causes.push(Cause::invalid(&*field, domains, "must be greater than zero"));
        }
        let action = constraint["whenUnsatisfiable"].as_str().unwrap_or_default();
        if action != "DoNotSchedule" {
            let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            causes.push(Cause::invalid(field, domains, why));
        }
    }
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        let given = &constraint[policy];
        if !given.is_null() && given != "Honor" && given != "Ignore" {
            causes.push(Cause::unsupported(
                format!("{path}.{policy}"),
                given,
                &["Honor", "Ignore"],
            ));
        }
    }
    let keys = constraint["matchLabelKeys"].as_array().map_or(&[][..], Vec::as_slice);
    let selector = &constraint["labelSelector"];
    if !keys.is_empty() && selector.is_null() {
        let why = "must not be specified when labelSelector is not set";
        causes.push(Cause::forbidden(format!("{path}.matchLabelKeys"), why));
    }
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let selected: BTreeSet<&str> = expressions
        .filter_map(|expression| expression["key"].as_str())
        .chain(
            selector["matchLabels"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, _)| key.as_str()),
        )
        .collect();
    for (index, key) in keys.iter().enumerate() {
        let (place, name) = (
            format!("{path}.matchLabelKeys[{index}]"),
            key.as_str().unwrap_or_default(),
        );
        let faults = names::qualified(name);
        causes.extend(faults.iter().map(|why| Cause::invalid(&*place, key, why)));
        if selected.contains(name) {
            causes.push(Cause::invalid(
                place,
                key,
                "exists in both matchLabelKeys and labelSelector",
            ));
        }
    }
}

pub(super) fn topology(at: &At<'_>, causes: &mut Vec<Cause>) {
    let constraints = at.list("topologySpreadConstraints");
    for (index, constraint) in constraints.iter().enumerate() {
        let path = at.field(&format!("topologySpreadConstraints[{index}]"));
        if constraint["maxSkew"].as_i64().unwrap_or(0) <= 0 {
            causes.push(Cause::invalid(
                format!("{path}.maxSkew"),
                &constraint["maxSkew"],
                "must be greater than zero",
            ));
        }
        if constraint["topologyKey"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let allowed = ["DoNotSchedule", "ScheduleAnyway"];
        let given = constraint["whenUnsatisfiable"].as_str().unwrap_or_default();
        if !allowed.contains(&given) {
            causes.push(Cause::unsupported(
                format!("{path}.whenUnsatisfiable"),
                &given.into(),
                &allowed,
            ));
        }
        let pair = |constraint: &Value| {
            [
                constraint["topologyKey"].clone(),
                constraint["whenUnsatisfiable"].clone(),
            ]
        };
        if constraints[index + 1..]
            .iter()
            .any(|later| pair(later) == pair(constraint))
        {
            let key = constraint["topologyKey"].as_str().unwrap_or_default();
            let field = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            causes.push(Cause::duplicate(field, &format!("{{{key}, {given}}}").into()));
        }
        spread_options(constraint, &path, causes);
        causes.extend(super::checks::selector(
            &constraint["labelSelector"],
            &format!("{path}.labelSelector"),
        ));
    }
}
