//! The aggregated form, `apidiscovery.k8s.io/v2`: everything in one document.

use serde_json::{Value, json};

use super::groups::{Group, Groups, Version};
use crate::resource::{Resource, Subresource};

/// The document of `/api` (the core group) or of `/apis` (all others).
pub(super) fn document(groups: &Groups, core: bool) -> Value {
    let items: Vec<Value> = groups
        .0
        .iter()
        .filter(|g| g.name.is_empty() == core)
        .map(group)
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn group(group: &Group) -> Value {
    let mut entry = json!({ "metadata": {}, "versions": group.versions.iter().map(version).collect::<Vec<_>>() });
    if !group.name.is_empty() {
        entry["metadata"]["name"] = group.name.clone().into();
    }
    entry
}

fn version(version: &Version) -> Value {
    json!({
        "version": version.name,
        "resources": version.resources.iter().map(|r| resource(r)).collect::<Vec<_>>(),
        "freshness": "Current",
    })
}

fn resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.clone().into();
    }
    if !resource.subresources.is_empty() {
        entry["subresources"] = resource
            .subresources
            .iter()
            .map(|sub| subresource(resource, sub))
            .collect();
    }
    entry
}

fn subresource(resource: &Resource, sub: &Subresource) -> Value {
    let own = (resource.group.clone(), resource.version.clone());
    let (group, version) = sub.group_version.as_ref().unwrap_or(&own);
    json!({ "subresource": sub.name, "responseKind": kind(group, version, &sub.kind), "verbs": sub.verbs })
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}
