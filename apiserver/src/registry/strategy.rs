//! What differs between kinds on the way of a write: built-in kinds by their tables, custom ones by their definition,
//! definitions themselves by the rules of [`crate::crd`].

use serde_json::{Value, json};

use super::traits::Traits;
use super::{Scope, definitions};
use crate::builtins;
use crate::error::Cause;
use crate::resource::Resource;

/// Fills in what a client may leave out, before anybody owns a field.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if resource.custom.is_some() {
        resource.schema.apply_defaults(object);
    } else {
        builtins::default(resource, object);
        if definitions::is_definition(resource) {
            crate::crd::default(object);
        }
    }
}

/// The top-level fields that a write through the subresource never owns.
pub(crate) fn reset_fields(resource: &Resource, subresource: &str) -> &'static [&'static str] {
    match subresource {
        "" if resource.subresource("status").is_some() || super::special::is_virtual(resource) => &["status"],
        "" => &[],
        "status" if resource.custom.is_none() => &["spec"],
        "status" => &["spec", "metadata"],
        _ => &[],
    }
}

/// Makes a new object ready for storage.
pub(crate) fn prepare_create(scope: &Scope, object: &mut Value) {
    let resource = &scope.resource;
    if resource.custom.is_some() {
        if resource.subresource("status").is_some()
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
    } else {
        builtins::prepare_create(resource, object, &scope.core.clock, &scope.user);
        if definitions::is_definition(resource) {
            crate::crd::prepare(object, None);
        }
    }
    if resource.counts_generation {
        object["metadata"]["generation"] = 1.into();
    }
}

/// What is wrong with a new object.
pub(crate) fn validate_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    if resource.custom.is_some() {
        let causes = kind_causes(resource, object);
        if !causes.is_empty() {
            return causes;
        }
        return crate::crd::validate_object(resource, "", object, None);
    }
    let mut causes = builtins::validate_create(resource, object);
    if definitions::is_definition(resource) {
        causes.extend(crate::crd::validate(object, None));
    }
    causes
}

/// Puts back what a write through the subresource may not change, and counts the generation.
pub(crate) fn prepare_update(scope: &Scope, new: &mut Value, old: &Value) {
    let (resource, subresource) = (&*scope.resource, written_part(&scope.subresource));
    if resource.custom.is_some() {
        match subresource {
            "" if resource.subresource("status").is_some() => put_back(new, old, "status"),
            "status" => keep_status_only(new, old),
            _ => {}
        }
    } else {
        builtins::prepare_update(resource, subresource, new, old, &scope.core.clock);
        if definitions::is_definition(resource) && subresource.is_empty() {
            crate::crd::prepare(new, Some(old));
        }
    }
    if resource.counts_generation {
        let before = old["metadata"]["generation"].as_i64().unwrap_or_default();
        let changed = !matches!(subresource, "status" | "binding") && is_new_generation(resource, new, old);
        new["metadata"]["generation"] = (before + i64::from(changed)).into();
    }
}

/// What is wrong with an updated object.
pub(crate) fn validate_update(resource: &Resource, subresource: &str, new: &Value, old: &Value) -> Vec<Cause> {
    let subresource = written_part(subresource);
    if resource.custom.is_some() {
        let causes = kind_causes(resource, new);
        if !causes.is_empty() {
            return causes;
        }
        return crate::crd::validate_object(resource, subresource, new, Some(old));
    }
    let mut causes = builtins::validate_update(resource, subresource, new, old);
    if definitions::is_definition(resource) && subresource.is_empty() {
        causes.extend(crate::crd::validate(new, Some(old)));
    }
    causes
}

/// The part of the object that a subresource writes: scaling is a change of the object itself.
fn written_part(subresource: &str) -> &str {
    if subresource == "scale" { "" } else { subresource }
}

/// What a writer should know about an object that is stored all the same.
pub(crate) fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    builtins::warnings(resource, new, old)
}

/// A patch may have changed what kind of object it is.
fn kind_causes(resource: &Resource, object: &Value) -> Vec<Cause> {
    let expected = [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())];
    expected
        .iter()
        .filter(|(field, expected)| object[*field].as_str() != Some(expected))
        .map(|(field, expected)| {
            let given = object[*field].as_str().unwrap_or_default();
            Cause::invalid(*field, &json!(given), format!("must be {expected}"))
        })
        .collect()
}

/// Whether anything changed that the kind counts: all but the metadata, and the status where it is written apart.
fn is_new_generation(resource: &Resource, new: &Value, old: &Value) -> bool {
    let apart = resource.subresource("status").is_some();
    let (Some(new_fields), Some(old_fields)) = (new.as_object(), old.as_object()) else {
        return false;
    };
    let counted =
        |name: &&String| !matches!(name.as_str(), "metadata" | "apiVersion" | "kind") && (!apart || *name != "status");
    let one_way = |a: &serde_json::Map<String, Value>, b: &serde_json::Map<String, Value>| {
        a.keys().filter(counted).any(|name| a.get(name) != b.get(name))
    };
    let metadata = Traits::of(resource).generation_metadata;
    one_way(new_fields, old_fields)
        || old_fields
            .keys()
            .filter(counted)
            .any(|name| !new_fields.contains_key(name))
        || metadata
            .iter()
            .any(|part| empty_as_null(&new["metadata"][*part]) != empty_as_null(&old["metadata"][*part]))
}

fn empty_as_null(value: &Value) -> &Value {
    match value {
        Value::Object(map) if map.is_empty() => &Value::Null,
        other => other,
    }
}

fn put_back(new: &mut Value, old: &Value, field: &str) {
    let Some(fields) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => {
            fields.insert(field.to_owned(), value.clone());
        }
        None => {
            fields.remove(field);
        }
    }
}

/// A status write on a custom resource changes the status and who owns it, nothing else.
fn keep_status_only(new: &mut Value, old: &Value) {
    let status = new.as_object_mut().and_then(|fields| fields.remove("status"));
    let managed = new["metadata"]["managedFields"].take();
    let mut kept = old.clone();
    if let Some(fields) = kept.as_object_mut() {
        fields.remove("status");
        if let Some(status) = status {
            fields.insert("status".to_owned(), status);
        }
        if let Some(api_version) = new.get("apiVersion") {
            fields.insert("apiVersion".to_owned(), api_version.clone());
        }
    }
    if let Some(metadata) = kept["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        if !managed.is_null() {
            metadata.insert("managedFields".to_owned(), managed);
        }
    }
    *new = kept;
}
