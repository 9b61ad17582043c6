//! The plugin ResourceQuota: refuses what does not fit, and charges what does before it is stored.
//!
//! It works from `status.hard` and `status.used`, which the quota controller fills; a quota without a status limits
//! nothing yet. What is charged for an object that is then not stored comes back with the controller's next count.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Inner, Operation, Request};
use crate::controllers::object::Object;
use crate::controllers::quota::{covers, usage};
use crate::error::ApiError;
use crate::schema::quantity::Quantity;
use crate::storage::{Draft, Key};

const QUOTAS: &str = "resourcequotas";
/// Resources that every container must name where a quota limits them.
const NAMED: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];
/// Tries to charge a quota that others charge at the same time.
const ATTEMPTS: usize = 32;

/// Checks a create against every quota of its namespace, then charges them.
///
/// # Errors
/// 403 with the first quota that it exceeds, or that it cannot be measured against.
pub(super) fn check(inner: &Inner, request: &Request<'_>) -> Result<(), ApiError> {
    if request.operation != Operation::Create || !request.subresource.is_empty() || request.namespace.is_empty() {
        return Ok(());
    }
    let quotas = inner.store.list(QUOTAS, Some(request.namespace));
    if quotas.is_empty() {
        return Ok(());
    }
    let wanted = usage(request.resource, request.object);
    for quota in &quotas {
        charged(request, &quota.value(), &wanted)?;
    }
    if !request.dry_run {
        for quota in &quotas {
            charge(inner, request, &quota.key, &wanted)?;
        }
    }
    Ok(())
}

/// Stores the quota with what the request uses added, unless it uses nothing of it.
fn charge(
    inner: &Inner,
    request: &Request<'_>,
    key: &Key,
    wanted: &BTreeMap<String, Quantity>,
) -> Result<(), ApiError> {
    for _ in 0..ATTEMPTS {
        let Some(stored) = inner.store.get(key) else {
            return Ok(());
        };
        let mut quota = stored.value();
        let Some(used) = charged(request, &quota, wanted)? else {
            return Ok(());
        };
        for (name, amount) in used {
            quota["status"]["used"][name] = amount.canonical().into();
        }
        let draft = Draft::new(key.clone(), quota, Vec::new(), stored.schema);
        if inner.store.replace(&stored, draft).is_ok() {
            return Ok(());
        }
    }
    Err(ApiError::conflict(
        request.resource,
        request.shown_name(),
        "the quota is charged by too many at once",
    ))
}

/// What is used of a quota with the request; none if the request uses nothing of it.
fn charged(
    request: &Request<'_>,
    quota: &Value,
    wanted: &BTreeMap<String, Quantity>,
) -> Result<Option<BTreeMap<String, Quantity>>, ApiError> {
    let Some(hard) = quota.at("status.hard").and_then(Value::as_object) else {
        return Ok(None);
    };
    if !covers(quota, request.resource, request.object) {
        return Ok(None);
    }
    let refuse = |why: String| Err(ApiError::forbidden(request.resource, request.shown_name(), why));
    if request.resource.plural == "pods" && request.resource.group.is_empty() {
        let missing: Vec<String> = NAMED
            .iter()
            .filter(|n| hard.contains_key(**n))
            .filter_map(|n| unnamed(request.object, n))
            .collect();
        if !missing.is_empty() {
            return refuse(format!(
                "failed quota: {}: must specify {}",
                quota.name(),
                missing.join("; ")
            ));
        }
    }
    let limited: Vec<(&String, Quantity)> = wanted
        .iter()
        .filter(|(name, _)| hard.contains_key(*name))
        .map(|(name, amount)| (name, *amount))
        .collect();
    if limited.is_empty() {
        return Ok(None);
    }
    let read = |map: &str, name: &str| {
        let text = quota.at(map).and_then(|m| m.get(name)).and_then(Value::as_str);
        text.and_then(Quantity::parse)
    };
    let mut sums = BTreeMap::new();
    let (mut unknown, mut exceeded) = (Vec::new(), Vec::new());
    for (name, amount) in &limited {
        let (Some(used), Some(limit)) = (read("status.used", name), read("status.hard", name)) else {
            unknown.push(name.as_str());
            continue;
        };
        let sum = used.plus(*amount);
        if sum.compare(limit).is_gt() {
            exceeded.push((name.as_str(), amount.canonical(), used.canonical(), limit.canonical()));
        }
        sums.insert((*name).clone(), sum);
    }
    if !unknown.is_empty() {
        return refuse(format!(
            "status unknown for quota: {}, resources: {}",
            quota.name(),
            unknown.join(",")
        ));
    }
    if !exceeded.is_empty() {
        let list =
            |of: fn(&(&str, String, String, String)) -> String| exceeded.iter().map(of).collect::<Vec<_>>().join(",");
        return refuse(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            quota.name(),
            list(|(name, requested, _, _)| format!("{name}={requested}")),
            list(|(name, _, used, _)| format!("{name}={used}")),
            list(|(name, _, _, limit)| format!("{name}={limit}")),
        ));
    }
    Ok(Some(sums))
}

/// The containers that do not say how much of a resource they need, in words.
fn unnamed(pod: &Value, name: &str) -> Option<String> {
    let (field, resource) = name.split_once('.').unwrap_or(("requests", name));
    let path = format!("resources.{field}");
    let lacks = |c: &&Value| c.at(&path).and_then(|r| r.get(resource)).is_none();
    let containers: Vec<&str> = pod
        .items("spec.containers")
        .iter()
        .filter(lacks)
        .map(|c| c.text("name"))
        .collect();
    (!containers.is_empty()).then(|| format!("{name} for: {}", containers.join(",")))
}
