//! What quotas and limits must be.

use std::collections::BTreeSet;

use super::checks::At;
use super::checks::Check::{self, Below, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("ResourceQuota", &[Below("spec")]),
    ("ResourceQuotaSpec", &[With(quota), With(scopes)]),
    ("LimitRange", &[Below("spec")]),
    ("LimitRangeSpec", &[Below("limits")]),
    ("LimitRangeItem", &[With(limit_item)]),
];

/// What a quota may count without a domain.
const COUNTED: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

fn quota(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (name, amount) in at.get("hard").as_object().into_iter().flatten() {
        let path = at.field(&format!("hard[{name}]"));
        let faults = names::qualified(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &name.as_str().into(), why)),
        );
        let known = COUNTED.contains(&name.as_str())
            || ["hugepages-", "requests.hugepages-"]
                .iter()
                .any(|p| name.starts_with(p));
        if faults.is_empty() && !name.contains('/') && !known {
            for why in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                causes.push(Cause::invalid(path.as_str(), &name.as_str().into(), why));
            }
        }
        let Some(quantity) = amount.as_str().and_then(Quantity::parse) else {
            continue;
        };
        if quantity.is_negative() {
            causes.push(Cause::invalid(
                path.as_str(),
                amount,
                "must be greater than or equal to 0",
            ));
        }
        let counted = COUNTED[10..].contains(&name.as_str()) || name.starts_with("count/");
        if counted && !quantity.is_whole() {
            causes.push(Cause::invalid(path, amount, "must be an integer"));
        }
    }
}

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

fn scopes(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.list("scopes");
    let path = at.field("scopes");
    for scope in given {
        if !scope.as_str().is_some_and(|s| SCOPES.contains(&s)) {
            causes.push(Cause::invalid(path.as_str(), at.get("scopes"), "unsupported scope"));
        }
    }
    for pair in [["Terminating", "NotTerminating"], ["BestEffort", "NotBestEffort"]] {
        if pair.iter().all(|wanted| given.iter().any(|g| g == wanted)) {
            causes.push(Cause::invalid(path.as_str(), at.get("scopes"), "conflicting scopes"));
        }
    }
}

fn limit_item(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("type");
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if at.get(field).as_object().is_some_and(|map| !map.is_empty()) {
                let why = "may not be specified when `type` is 'Pod'";
                causes.push(Cause::forbidden(at.field(field), why));
            }
        }
    }
    let amount = |field: &str, name: &str| {
        let text = at.get(field)[name].as_str()?;
        Some((Quantity::parse(text)?, text.to_owned()))
    };
    let fields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let names: BTreeSet<&String> = fields
        .iter()
        .flat_map(|f| at.get(f).as_object().into_iter().flat_map(|m| m.keys()))
        .collect();
    for name in names {
        let mut order = |low: &str, high: &str, at_field: &str, shown: &str, what: &str| {
            if let (Some((a, a_text)), Some((b, b_text))) = (amount(low, name), amount(high, name))
                && a.compare(b).is_gt()
            {
                let shown = if shown == low { &a_text } else { &b_text };
                let why = what.replace("{a}", &a_text).replace("{b}", &b_text);
                let path = at.field(&format!("{at_field}[{name}]"));
                causes.push(Cause::invalid(path, &shown.as_str().into(), why));
            }
        };
        order(
            "min",
            "max",
            "min",
            "min",
            "min value {a} is greater than max value {b}",
        );
        order(
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            "min value {a} is greater than default request value {b}",
        );
        order(
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            "default request value {a} is greater than max value {b}",
        );
        order(
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            "default request value {a} is greater than default limit value {b}",
        );
        order(
            "min",
            "default",
            "default",
            "min",
            "min value {a} is greater than default value {b}",
        );
        order(
            "default",
            "max",
            "default",
            "max",
            "default value {a} is greater than max value {b}",
        );
    }
}
