//! Whether a policy or a binding is about a request.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::webhook::matching::{EXEMPT, Seen, in_selected_namespace, rule_matches, selected};
use crate::admission::{Inner, Request};
use crate::resource::Resource;

/// How constraints (`matchConstraints`, `matchResources`) see the request; none when they leave it out. Without
/// resource rules every resource is matched.
pub(super) fn seen(inner: &Inner, constraints: &Value, request: &Request<'_>) -> Option<Seen> {
    let resource = request.resource;
    if resource.group == "admissionregistration.k8s.io" && EXEMPT.contains(&resource.plural.as_str()) {
        return None;
    }
    let selected = selected(&constraints["objectSelector"], request)
        && in_selected_namespace(&constraints["namespaceSelector"], request, &inner.store);
    if !selected || by_rules(&constraints["excludeResourceRules"], constraints, request).is_some() {
        return None;
    }
    match constraints["resourceRules"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        [] => Some(Seen::AsSent),
        _ => by_rules(&constraints["resourceRules"], constraints, request),
    }
}

fn by_rules(rules: &Value, constraints: &Value, request: &Request<'_>) -> Option<Seen> {
    let rules = rules.as_array()?;
    let matching = |resource: &Resource| {
        rules
            .iter()
            .any(|rule| rule_matches(rule, resource, request) && is_named(&rule["resourceNames"], request))
    };
    if matching(request.resource) {
        return Some(Seen::AsSent);
    }
    if constraints["matchPolicy"] == "Exact" {
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

fn is_named(names: &Value, request: &Request<'_>) -> bool {
    match names.as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => true,
        names => names.iter().any(|name| name == request.shown_name()),
    }
}
