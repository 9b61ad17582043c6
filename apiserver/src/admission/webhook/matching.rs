//! Whether a webhook is called for a request, and as which version the object is sent to it.

use std::sync::Arc;

use serde_json::Value;

use super::configured::Webhook;
use crate::access::selector::selects;
use crate::admission::Request;
use crate::resource::Resource;
use crate::storage::Store;

/// Configuration of admission itself, which admission cannot refuse.
pub(crate) const EXEMPT: [&str; 6] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];

/// The version in which a webhook sees the request.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// That of the request.
    AsSent,
    /// Another version of the same kind.
    As(Arc<Resource>),
}

/// How the webhook sees the request; none when its rules or selectors leave the request out.
pub(super) fn matches(webhook: &Webhook, request: &Request<'_>, store: &Store) -> Option<Seen> {
    let resource = request.resource;
    if resource.group == "admissionregistration.k8s.io" && EXEMPT.contains(&resource.plural.as_str()) {
        return None;
    }
    let seen = seen(&webhook.spec, request)?;
    let selected = selected(&webhook.spec["objectSelector"], request)
        && in_selected_namespace(&webhook.spec["namespaceSelector"], request, store);
    selected.then_some(seen)
}

/// How the rules of a webhook see the request.
fn seen(spec: &Value, request: &Request<'_>) -> Option<Seen> {
    let rules = spec["rules"].as_array()?;
    let matching = |resource: &Resource| rules.iter().any(|rule| rule_matches(rule, resource, request));
    if matching(request.resource) {
        return Some(Seen::AsSent);
    }
    if spec["matchPolicy"] == "Exact" {
        return None;
    }
    let same = |other: &&Arc<Resource>| {
        other.stored_under == request.resource.stored_under && other.kind == request.resource.kind && matching(other)
    };
    request
        .catalog
        .iter()
        .find(same)
        .map(|other| Seen::As(Arc::clone(other)))
}

/// Whether a rule (`operations`, `apiGroups`, `apiVersions`, `resources`, `scope`) is about the request.
pub(crate) fn rule_matches(rule: &Value, resource: &Resource, request: &Request<'_>) -> bool {
    let listed = |field: &str, wanted: &str| {
        let entries = rule[field].as_array().map(Vec::as_slice).unwrap_or_default();
        entries.iter().any(|entry| entry == "*" || entry == wanted)
    };
    let is_namespace = resource.group.is_empty() && resource.plural == "namespaces";
    let namespaced = !request.namespace.is_empty() && !is_namespace;
    let in_scope = match rule["scope"].as_str().unwrap_or("*") {
        "Cluster" => !namespaced,
        "Namespaced" => namespaced,
        _ => true,
    };
    let resources = rule["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
    in_scope
        && listed("operations", request.operation.as_str())
        && listed("apiGroups", &resource.group)
        && listed("apiVersions", &resource.version)
        && resources
            .iter()
            .filter_map(Value::as_str)
            .any(|r| covers(r, &resource.plural, request.subresource))
}

/// `pods`, `pods/status`, `pods/*`, `*/status`, `*` (no subresources), `*/*`.
fn covers(rule: &str, resource: &str, subresource: &str) -> bool {
    let (of, sub) = rule.split_once('/').unwrap_or((rule, ""));
    (of == "*" || of == resource) && (sub == "*" || sub == subresource)
}

/// Whether the selector selects the object as it was or as it will be.
pub(crate) fn selected(selector: &Value, request: &Request<'_>) -> bool {
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        return true;
    }
    let labels = |object: &Value| !object.is_null() && selects(selector, &object["metadata"]["labels"]);
    labels(request.object) || request.old.is_some_and(labels)
}

/// Whether the selector selects the request's namespace; cluster-scoped objects always pass.
pub(crate) fn in_selected_namespace(selector: &Value, request: &Request<'_>, store: &Store) -> bool {
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        return true;
    }
    if request.resource.group.is_empty() && request.resource.plural == "namespaces" {
        let namespace = if request.object.is_null() {
            request.old.unwrap_or(&Value::Null)
        } else {
            &*request.object
        };
        return selects(selector, &namespace["metadata"]["labels"]);
    }
    if request.namespace.is_empty() {
        return true;
    }
    let namespace = store.find("namespaces", "", request.namespace);
    namespace.is_some_and(|stored| selects(selector, &stored.value()["metadata"]["labels"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_covers_no_subresources() {
        assert!(covers("*", "pods", "") && !covers("*", "pods", "status"));
        assert!(covers("*/*", "pods", "") && covers("*/*", "pods", "status"));
        assert!(covers("pods/*", "pods", "exec") && !covers("pods", "pods", "exec"));
        assert!(covers("*/status", "pods", "status") && !covers("*/status", "pods", ""));
    }
}
