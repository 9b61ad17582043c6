//! The list of built-in resources, from the recorded discovery documents.

use std::sync::Arc;

use serde_json::Value;

use crate::resource::{Resource, Subresource};
use crate::schema::{Schema, data};

/// Kinds that count `metadata.generation`.
const COUNT_GENERATION: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("scheduling.k8s.io", "PriorityClass"),
];

/// Kinds that are kept but warned of.
const DEPRECATED: &[(&str, &str, &str)] = &[
    ("", "ComponentStatus", "v1 ComponentStatus is deprecated in v1.19+"),
    (
        "",
        "Endpoints",
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
];

/// Groups whose objects another version stores.
const STORAGE_VERSIONS: &[(&str, &str, &str)] = &[("autoscaling", "HorizontalPodAutoscaler", "v2")];

/// Every built-in resource, groups and versions in discovery's order, resources as recorded.
#[must_use]
pub fn resources() -> Vec<Resource> {
    group_versions()
        .iter()
        .filter_map(|(group, version)| {
            let path = if group.is_empty() {
                format!("/api/{version}")
            } else {
                format!("/apis/{group}/{version}")
            };
            let (_, list) = data::discovery().iter().find(|(recorded, _)| *recorded == path)?;
            Some(of_list(group, version, list["resources"].as_array()?))
        })
        .flatten()
        .collect()
}

fn group_versions() -> Vec<(String, String)> {
    let mut found = vec![(String::new(), "v1".to_owned())];
    let groups = data::discovery().iter().find(|(path, _)| *path == "/apis");
    for group in groups
        .and_then(|(_, list)| list["groups"].as_array())
        .into_iter()
        .flatten()
    {
        for version in group["versions"].as_array().into_iter().flatten() {
            found.push((text(group, "name"), text(version, "version")));
        }
    }
    found
}

fn of_list(group: &str, version: &str, recorded: &[Value]) -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    for entry in recorded {
        let name = text(entry, "name");
        match name.split_once('/') {
            None => resources.push(resource(group, version, entry)),
            Some((parent, sub)) => {
                let subresource = Subresource {
                    name: sub.to_owned(),
                    kind: text(entry, "kind"),
                    group_version: entry
                        .get("version")
                        .map(|_| (text(entry, "group"), text(entry, "version"))),
                    verbs: texts(entry, "verbs"),
                };
                if let Some(parent) = resources.iter_mut().find(|r| r.plural == parent) {
                    parent.subresources.push(subresource);
                }
            }
        }
    }
    resources
}

fn resource(group: &str, version: &str, entry: &Value) -> Resource {
    let kind = text(entry, "kind");
    let storage = STORAGE_VERSIONS
        .iter()
        .find(|(g, k, _)| *g == group && *k == kind)
        .map_or(version, |(_, _, v)| v);
    let plural = text(entry, "name");
    // Both groups' events are one store with two views.
    let stored_under = match group {
        "" | "events.k8s.io" => plural.clone(),
        _ => format!("{plural}.{group}"),
    };
    Resource {
        stored_under: stored_under.into(),
        group: group.to_owned(),
        version: version.to_owned(),
        storage_version: storage.to_owned(),
        list_kind: format!("{kind}List"),
        plural: text(entry, "name"),
        singular: text(entry, "singularName"),
        short_names: texts(entry, "shortNames"),
        categories: texts(entry, "categories"),
        namespaced: entry["namespaced"] == true,
        verbs: texts(entry, "verbs"),
        counts_generation: COUNT_GENERATION.contains(&(group, &kind)),
        subresources: Vec::new(),
        schema: Schema::builtin(group, version, &kind).unwrap_or_else(|| Arc::new(Schema::any())),
        deprecation: DEPRECATED
            .iter()
            .find(|(g, k, _)| *g == group && *k == kind)
            .map(|(.., warning)| (*warning).to_owned()),
        custom: None,
        kind,
    }
}

fn text(entry: &Value, key: &str) -> String {
    entry[key].as_str().unwrap_or_default().to_owned()
}

fn texts(entry: &Value, key: &str) -> Vec<String> {
    entry[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_resource_has_its_schema_and_subresources() {
        let all = resources();
        let deployment = all.iter().find(|r| r.kind == "Deployment").unwrap();
        assert!(deployment.namespaced && deployment.counts_generation);
        assert_eq!(deployment.short_names, ["deploy"]);
        let scale = deployment.subresource("scale").unwrap();
        assert_eq!(scale.group_version, Some(("autoscaling".into(), "v1".into())));
        for resource in &all {
            assert!(
                resource.schema.is_builtin(),
                "{} {}",
                resource.api_version(),
                resource.kind
            );
        }
    }
}
