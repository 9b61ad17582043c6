//! Custom objects against their definition: metadata, schema, embedded objects, list types, rules.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::builtins::metadata;
use crate::builtins::names::NameRule;
use crate::error::Cause;
use crate::resource::Resource;
use crate::schema::{ListType, Node, go, same};

/// What is wrong with a custom object; `subresource` is empty for the object itself, and `old` is set for updates.
///
/// On `/status` only the status is checked, as everything else is taken from the old object.
#[must_use]
pub fn validate_object(resource: &Resource, subresource: &str, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let schema = &resource.schema;
    let mut causes = match old {
        None => metadata::validate_create(resource, new),
        Some(old) => metadata::validate_update(resource, new, old),
    };
    let status_alone = subresource == "status";
    causes.extend(if status_alone {
        schema.validate_field("status", new, old)
    } else {
        schema.validate(new, old)
    });
    if let Some(scale) = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        let written: &[&str] = if status_alone {
            &["statusReplicasPath"]
        } else {
            &["specReplicasPath", "statusReplicasPath"]
        };
        causes.extend(written.iter().filter_map(|path| replicas(&scale[*path], new)));
    }
    if !status_alone {
        each_place(schema.root(), new, "", &mut |node, value, path| {
            check_embedded(node, value, path, &mut causes);
        });
    }
    // Lists that were wrong before may stay so.
    if old.is_none_or(|old| lists(schema.root(), old).is_empty()) {
        causes.extend(lists(schema.root(), new));
    }
    causes.extend(rules(schema.root(), new, old, &causes));
    causes
}

/// What is wrong with the number of replicas that `/scale` reads.
fn replicas(path: &Value, object: &Value) -> Option<Cause> {
    let path = path.as_str()?;
    let found = path
        .trim_start_matches('.')
        .split('.')
        .try_fold(object, |value, step| value.get(step))?;
    let Some(count) = found.as_i64() else {
        let (shown, kind) = (go::value(found), go::type_name(found));
        let steps = path.trim_start_matches('.');
        let why = format!(".{steps} accessor error: {shown} is of the type {kind}, expected int64");
        return Some(Cause::invalid(path, &0.into(), why));
    };
    let why = if count < 0 {
        "should be a non-negative integer".to_owned()
    } else if count > i64::from(i32::MAX) {
        format!("should be less than or equal to {}", i32::MAX)
    } else {
        return None;
    };
    Some(Cause::invalid(path, found, why))
}

fn lists(node: &Node, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    each_place(node, object, "", &mut |node, value, path| {
        check_list(node, value, path, &mut causes);
    });
    causes
}

/// The rules run unless something is wrong that would mislead them.
fn rules(node: &Node, new: &Value, old: Option<&Value>, causes: &[Cause]) -> Vec<Cause> {
    if !super::rules::has_rules(node) {
        return Vec::new();
    }
    let blocking = [
        "FieldValueTypeInvalid",
        "FieldValueRequired",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
    ];
    if causes.iter().any(|cause| blocking.contains(&cause.reason)) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        return vec![Cause::invalid("<nil>", &Value::Null, why)];
    }
    super::rules::evaluate(node, new, old, "")
}

/// Calls `check` with every value that the schema knows and its path (`spec.m[key].list[0]`).
fn each_place(node: &Node, value: &Value, path: &str, check: &mut impl FnMut(&Node, &Value, &str)) {
    check(node, value, path);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let Some(child) = node.child(key).filter(|child| child.name.is_none()) else {
                    continue;
                };
                let below = match node.property(key) {
                    Some(_) if path.is_empty() => key.clone(),
                    Some(_) => format!("{path}.{key}"),
                    None => format!("{path}[{key}]"),
                };
                each_place(child, value, &below, check);
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return };
            for (index, item) in items.iter().enumerate() {
                each_place(child, item, &format!("{path}[{index}]"), check);
            }
        }
        _ => {}
    }
}

/// An embedded object needs its type; its metadata follows the general rules, but needs no name.
fn check_embedded(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !node.embedded || path.is_empty() {
        return;
    }
    let Some(object) = value.as_object() else { return };
    for key in ["apiVersion", "kind"] {
        let field = format!("{path}.{key}");
        match object.get(key).and_then(Value::as_str) {
            None | Some("") => causes.push(Cause::required(
                field,
                if object.contains_key(key) {
                    "must not be empty"
                } else {
                    ""
                },
            )),
            Some(version) if key == "apiVersion" && version.matches('/').count() > 1 => {
                let why = format!("unexpected GroupVersion string: {version}");
                causes.push(Cause::invalid(field, &version.into(), why));
            }
            Some(kind) if key == "kind" => {
                let faults = crate::builtins::names::label_1035(&kind.to_lowercase());
                causes.extend(
                    faults
                        .iter()
                        .map(|why| Cause::invalid(field.as_str(), &kind.into(), why)),
                );
            }
            Some(_) => {}
        }
    }
    if let Some(metadata) = object.get("metadata") {
        let found = metadata::validate_at(&format!("{path}.metadata"), metadata, NameRule::PathSegment);
        causes.extend(found.into_iter().filter(|cause| cause.reason != "FieldValueRequired"));
        let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        if !namespace.is_empty() {
            let faults = crate::builtins::names::label(namespace);
            let field = format!("{path}.metadata.namespace");
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(field.as_str(), &namespace.into(), why)),
            );
        }
    }
}

/// Sets hold no value twice, lists of type map no key. Only the first repeat of a value is told.
fn check_list(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(items) = value.as_array() else { return };
    let mut seen: Vec<Value> = Vec::new();
    let mut told: BTreeSet<String> = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let key = match &node.list {
            ListType::Atomic => return,
            ListType::Set => item.clone(),
            ListType::Map(keys) => {
                let Some(item) = item.as_object() else { continue };
                keys.iter()
                    .filter_map(|k| Some(((**k).to_owned(), item.get(&**k)?.clone())))
                    .collect()
            }
        };
        if !seen.iter().any(|other| same(other, &key)) {
            seen.push(key);
        } else if told.insert(key.to_string()) {
            causes.push(Cause::duplicate(format!("{path}[{index}]"), &key));
        }
    }
}
