//! PodSecurity: pods keep the standards that their namespace asks for, and what makes pods is warned.

mod checks;
mod policy;

use std::collections::BTreeMap;

use serde_json::Value;

use self::policy::{Level, Policy, Standard};
use super::{Inner, Operation, Request};
use crate::error::ApiError;

/// Where kinds that make pods keep the pod's template.
const TEMPLATES: &[(&str, &str, &str)] = &[
    ("", "podtemplates", "/template"),
    ("", "replicationcontrollers", "/spec/template"),
    ("apps", "daemonsets", "/spec/template"),
    ("apps", "deployments", "/spec/template"),
    ("apps", "replicasets", "/spec/template"),
    ("apps", "statefulsets", "/spec/template"),
    ("batch", "cronjobs", "/spec/jobTemplate/spec/template"),
    ("batch", "jobs", "/spec/template"),
];
/// Subresources of pods that do not change what a pod may do.
const HARMLESS: [&str; 8] = [
    "attach",
    "binding",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// Checks pods against the standards of their namespace, and the labels of namespaces.
///
/// # Errors
/// 403 for a pod that does not keep them, 422 for labels that name no standard.
pub(super) fn check(inner: &Inner, request: &Request<'_>, warnings: &mut Vec<String>) -> Result<(), ApiError> {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Ok(());
    }
    let (group, plural) = (&*request.resource.group, &*request.resource.plural);
    match (group, plural) {
        ("", "namespaces") if request.subresource.is_empty() => namespace(inner, request, warnings),
        ("", "pods") if !HARMLESS.contains(&request.subresource) => pod(inner, request, warnings),
        _ if request.subresource.is_empty() => {
            let template = TEMPLATES.iter().find(|(g, p, _)| *g == group && *p == plural);
            if let Some(template) = template.and_then(|(.., path)| request.object.pointer(path)) {
                let policy = of_namespace(inner, request);
                warn(policy.warn, &template["metadata"], &template["spec"], warnings);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn of_namespace(inner: &Inner, request: &Request<'_>) -> Policy {
    let namespace = inner.store.find("namespaces", "", request.namespace);
    Policy::of(&namespace.map(|stored| stored.value()).unwrap_or_default())
}

fn pod(inner: &Inner, request: &Request<'_>, warnings: &mut Vec<String>) -> Result<(), ApiError> {
    if request.old.is_some_and(|old| !is_significant(request.object, old)) {
        return Ok(());
    }
    let policy = of_namespace(inner, request);
    let (metadata, spec) = (&request.object["metadata"], &request.object["spec"]);
    let refused = judged(policy.enforce, metadata, spec);
    if !refused.is_empty() {
        let why = format!(
            "violates PodSecurity {:?}: {}",
            policy.enforce.to_string(),
            told(&refused)
        );
        return Err(ApiError::forbidden(request.resource, request.shown_name(), why));
    }
    warn(policy.warn, metadata, spec, warnings);
    Ok(())
}

fn judged(standard: Standard, metadata: &Value, spec: &Value) -> Vec<(String, String)> {
    checks::refusals(standard.level, standard.minor(), metadata, spec)
}

fn warn(standard: Standard, metadata: &Value, spec: &Value, warnings: &mut Vec<String>) {
    let refused = judged(standard, metadata, spec);
    if !refused.is_empty() {
        warnings.push(format!(
            "would violate PodSecurity {:?}: {}",
            standard.to_string(),
            told(&refused)
        ));
    }
}

fn told(refused: &[(String, String)]) -> String {
    let told = refused.iter().map(|(reason, detail)| {
        if detail.is_empty() {
            reason.clone()
        } else {
            format!("{reason} ({detail})")
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Whether an update changes what a pod runs.
fn is_significant(new: &Value, old: &Value) -> bool {
    let runs = |pod: &Value, list: &str| -> Vec<(Value, Value)> {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        containers.map(|c| (c["name"].clone(), c["image"].clone())).collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|list| runs(new, list) != runs(old, list))
}

/// A namespace's labels must make sense, and pods that a stricter standard refuses are told.
fn namespace(inner: &Inner, request: &Request<'_>, warnings: &mut Vec<String>) -> Result<(), ApiError> {
    let policy = Policy::of(request.object);
    let before = request.old.map(Policy::of);
    if !policy.faults.is_empty() && before.as_ref().is_none_or(|before| before.faults != policy.faults) {
        let (group, kind) = (&request.resource.group, &request.resource.kind);
        return Err(ApiError::invalid(group, kind, request.shown_name(), &policy.faults));
    }
    let Some(before) = before else { return Ok(()) };
    let (new, old) = (policy.enforce, before.enforce);
    if new == old || new.level == Level::Privileged || (new.same_version(old) && new.level <= old.level) {
        return Ok(());
    }
    let name = request.shown_name();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in inner.store.list("pods", Some(name)) {
        let pod = pod.value();
        let reasons: Vec<String> = judged(new, &pod["metadata"], &pod["spec"])
            .into_iter()
            .map(|(reason, _)| reason)
            .collect();
        if !reasons.is_empty() {
            let pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            found.entry(reasons.join(", ")).or_default().push(pod);
        }
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {name:?} violate the new PodSecurity enforce level {:?}",
            new.to_string()
        ));
    }
    let mut told: Vec<String> = found
        .into_iter()
        .map(|(reasons, pods)| {
            let first = pods.iter().min().cloned().unwrap_or_default();
            match pods.len() {
                1 => format!("{first}: {reasons}"),
                2 => format!("{first} (and 1 other pod): {reasons}"),
                many => format!("{first} (and {} other pods): {reasons}", many - 1),
            }
        })
        .collect();
    told.sort();
    warnings.extend(told);
    Ok(())
}
