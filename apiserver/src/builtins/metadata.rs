//! Rules on `metadata` that hold for every kind, built-in or custom.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::{self, NameRule};
use crate::error::Cause;
use crate::resource::Resource;

/// What all annotations of an object may hold together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// The longest name of a field manager, in bytes.
const MANAGER_LIMIT: usize = 128;
/// Finalizers without a domain that built-in kinds accept.
const STANDARD_FINALIZERS: [&str; 4] = [
    "foregroundDeletion",
    "kubernetes",
    "orphan",
    // The server puts it on definitions itself.
    "customresourcecleanup.apiextensions.k8s.io",
];

/// What is wrong with the metadata of a new object.
#[must_use]
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let rule = NameRule::of(&resource.group, &resource.kind);
    let mut causes = validate_at("metadata", metadata(object), rule);
    if resource.custom.is_none() {
        causes.extend(unqualified_finalizers(metadata(object)));
    }
    causes
}

/// What is wrong with the metadata of an updated object. As on the real server, most faults come more than once: the
/// generic update checks them, and the kind's own checks do again.
#[must_use]
pub fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
    let once = changes(metadata(new), metadata(old));
    let mut causes = once.clone();
    causes.extend(once);
    if resource.custom.is_some() || CHECKED_AGAIN.contains(&(&*resource.group, &*resource.kind)) {
        causes.extend(validate_create(resource, new));
    } else {
        causes.extend(unqualified_finalizers(metadata(new)));
    }
    causes
}

/// What the server warns of: finalizers of custom objects without a domain.
#[must_use]
pub fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    if resource.custom.is_none() {
        return Vec::new();
    }
    let before: Vec<&str> = old.map(|old| finalizers(metadata(old)).collect()).unwrap_or_default();
    finalizers(metadata(new))
        .filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name) && !before.contains(name))
        .map(|name| {
            let path = if name.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// What is wrong with the metadata at `path`, whose name follows `rule`.
#[must_use]
pub fn validate_at(path: &str, metadata: &Value, rule: NameRule) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, prefix) = (text("name"), text("generateName"));
    if !prefix.is_empty() {
        let faults = rule.faults(prefix, true);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.generateName"), &prefix.into(), why)),
        );
    }
    if name.is_empty() {
        causes.push(Cause::required(
            format!("{path}.name"),
            "name or generateName is required",
        ));
    } else {
        let faults = rule.faults(name, false);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
        );
    }
    if metadata
        .get("generation")
        .and_then(Value::as_i64)
        .is_some_and(|n| n < 0)
    {
        causes.push(Cause::invalid(
            format!("{path}.generation"),
            &metadata["generation"],
            "must be greater than or equal to 0",
        ));
    }
    causes.extend(labels(&format!("{path}.labels"), &metadata["labels"]));
    causes.extend(annotations(&format!("{path}.annotations"), &metadata["annotations"]));
    causes.extend(owner_references(
        &format!("{path}.ownerReferences"),
        &metadata["ownerReferences"],
    ));
    causes.extend(finalizer_faults(&format!("{path}.finalizers"), metadata));
    causes.extend(managed_fields(
        &format!("{path}.managedFields"),
        &metadata["managedFields"],
    ));
    causes
}

/// What is wrong with a map of labels.
#[must_use]
pub fn labels(path: &str, labels: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        causes.extend(
            names::qualified(key)
                .iter()
                .map(|why| Cause::invalid(path, &key.as_str().into(), why)),
        );
        causes.extend(
            names::label_value(value)
                .iter()
                .map(|why| Cause::invalid(path, &value.into(), why)),
        );
    }
    causes
}

/// What is wrong with a map of annotations. Keys are checked in lower case.
#[must_use]
pub fn annotations(path: &str, annotations: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let faults = names::qualified(&key.to_lowercase());
        causes.extend(faults.iter().map(|why| Cause::invalid(path, &key.as_str().into(), why)));
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"),
            field: path.to_owned(),
        });
    }
    causes
}

/// Kinds whose own check of an update looks at all of the metadata once more.
const CHECKED_AGAIN: &[(&str, &str)] = &[
    ("", "ConfigMap"),
    ("", "Secret"),
    ("", "ServiceAccount"),
    ("", "Service"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
];

fn metadata(object: &Value) -> &Value {
    object.get("metadata").unwrap_or(&Value::Null)
}

/// What is wrong with the change of metadata itself.
fn changes(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let added: Vec<String> = finalizers(new)
            .filter(|name| !finalizers(old).any(|before| before == *name))
            .map(|name| format!("{name:?}"))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", detail));
        }
    }
    if new["resourceVersion"].as_str().unwrap_or_default().is_empty() {
        causes.push(Cause::invalid(
            "metadata.resourceVersion",
            &"".into(),
            "must be specified for an update",
        ));
    }
    if new["generation"].as_i64().unwrap_or(0) < old["generation"].as_i64().unwrap_or(0) {
        causes.push(Cause::invalid(
            "metadata.generation",
            &new["generation"],
            "must not be decremented",
        ));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if new[field] != old[field] {
            causes.push(Cause::invalid(
                format!("metadata.{field}"),
                &new[field],
                "field is immutable",
            ));
        }
    }
    causes.extend(labels("metadata.labels", &new["labels"]));
    causes.extend(annotations("metadata.annotations", &new["annotations"]));
    causes.extend(owner_references("metadata.ownerReferences", &new["ownerReferences"]));
    causes.extend(managed_fields("metadata.managedFields", &new["managedFields"]));
    causes
}

/// What is wrong with the entries of managedFields that a client may write itself.
fn managed_fields(path: &str, entries: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            let why = "must be `Apply` or `Update`";
            causes.push(Cause::invalid(at("operation"), &text("operation").into(), why));
        }
        if !matches!(text("fieldsType"), "FieldsV1" | "") {
            causes.push(Cause::invalid(
                at("fieldsType"),
                &text("fieldsType").into(),
                "must be `FieldsV1`",
            ));
        }
        if text("manager").len() > MANAGER_LIMIT {
            causes.push(Cause {
                reason: "FieldValueTooLong",
                message: format!("Too long: may not be more than {MANAGER_LIMIT} bytes"),
                field: at("manager"),
            });
        }
    }
    causes
}

fn owner_references(path: &str, references: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controllers: Vec<String> = Vec::new();
    let all = references.as_array().map_or(&[][..], Vec::as_slice);
    for reference in all {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let version = text("apiVersion");
        if version.is_empty() || version.matches('/').count() > 1 || version.ends_with('/') {
            let why = "version must not be empty";
            causes.push(Cause::invalid(format!("{path}.apiVersion"), &version.into(), why));
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                causes.push(Cause::invalid(format!("{path}.{key}"), &"".into(), "must not be empty"));
            }
        }
        if (version, text("kind")) == ("v1", "Event") {
            causes.push(shown_as(
                path,
                &shown_reference(reference),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if reference["controller"] == true {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let shown: Vec<String> = all.iter().map(shown_reference).collect();
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        causes.push(shown_as(path, &format!("[{}]", shown.join(",")), &why));
    }
    causes
}

fn finalizer_faults(path: &str, metadata: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for name in finalizers(metadata) {
        causes.extend(
            names::qualified(name)
                .iter()
                .map(|why| Cause::invalid(path, &name.into(), why)),
        );
    }
    let has = |wanted: &str| finalizers(metadata).any(|name| name == wanted);
    if has("orphan") && has("foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(path, &metadata["finalizers"], why));
    }
    causes
}

fn unqualified_finalizers(metadata: &Value) -> Vec<Cause> {
    finalizers(metadata)
        .enumerate()
        .filter(|(_, name)| !name.contains('/') && !STANDARD_FINALIZERS.contains(name))
        .map(|(index, name)| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            Cause::invalid(format!("metadata.finalizers[{index}]"), &name.into(), why)
        })
        .collect()
}

fn finalizers(metadata: &Value) -> impl Iterator<Item = &str> {
    metadata["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// A cause whose value is already text.
fn shown_as(path: &str, shown: &str, why: &str) -> Cause {
    Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {shown}: {why}"),
        field: path.to_owned(),
    }
}

/// An owner reference with its fields in the order of the real server's type.
fn shown_reference(reference: &Value) -> String {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields: BTreeMap<usize, String> = order
        .iter()
        .enumerate()
        .filter_map(|(at, key)| Some((at, format!("{:?}:{}", key, reference.get(*key)?))))
        .collect();
    format!("{{{}}}", fields.into_values().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_maps() -> Resource {
        crate::builtins::resources()
            .into_iter()
            .find(|r| r.kind == "ConfigMap")
            .unwrap()
    }

    fn sentences(causes: &[Cause]) -> Vec<String> {
        causes.iter().map(Cause::sentence).collect()
    }

    #[test]
    fn an_owner_needs_four_fields_and_only_one_may_be_the_controller() {
        let object = json!({ "metadata": { "name": "a", "ownerReferences": [{}] } });
        assert_eq!(validate_create(&config_maps(), &object).len(), 4);
        let owner =
            |name: &str| json!({ "apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": true });
        let object = json!({ "metadata": { "name": "a", "ownerReferences": [owner("x"), owner("y")] } });
        let found = sentences(&validate_create(&config_maps(), &object));
        assert!(
            found[0].contains(r#"[{"apiVersion":"v1","kind":"K","name":"x","uid":"x","controller":true},"#),
            "{found:?}"
        );
    }

    #[test]
    fn identity_cannot_change_and_a_deleting_object_takes_no_new_finalizer() {
        let old = json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "5", "deletionTimestamp": "t" } });
        let mut new = old.clone();
        new["metadata"]["uid"] = "2".into();
        new["metadata"]["finalizers"] = json!(["x.example/a"]);
        let found = sentences(&validate_update(&config_maps(), &new, &old));
        let immutable = "metadata.uid: Invalid value: \"2\": field is immutable";
        assert_eq!(found.iter().filter(|s| *s == immutable).count(), 2);
        assert!(
            found[0].ends_with("found new finalizers []string{\"x.example/a\"}"),
            "{found:?}"
        );
    }
}
