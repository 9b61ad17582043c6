//! Custom objects against their definition: metadata, schema, embedded objects, list types, rules.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::Value;

use crate::builtins::metadata;
use crate::builtins::names::NameRule;
use crate::error::Cause;
use crate::resource::Resource;
use crate::schema::{ByValue, ListType, Node, go};

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
    if schema.contents().places {
        if !status_alone {
            each_place(schema.root(), new, &Place::Root, &mut |node, value, place| {
                check_embedded(node, value, place, &mut causes);
            });
        }
        // Lists that were wrong before may stay so.
        let found = lists(schema.root(), new);
        if !found.is_empty() && old.is_none_or(|old| lists(schema.root(), old).is_empty()) {
            causes.extend(found);
        }
    }
    if schema.contents().rules {
        causes.extend(rules(schema.root(), new, old, &causes));
    }
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
    each_place(node, object, &Place::Root, &mut |node, value, place| {
        if !matches!(node.list, ListType::Atomic) {
            check_list(node, value, place, &mut causes);
        }
    });
    causes
}

/// The rules run unless something is wrong that would mislead them.
fn rules(node: &Node, new: &Value, old: Option<&Value>, causes: &[Cause]) -> Vec<Cause> {
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

/// Where a value stands; written only when something is wrong there: `spec.m[key].list[0]`.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Key(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Calls `check` with every value and its place that is, or may be on the way to, an embedded object or a list whose
/// items are told apart.
fn each_place(node: &Node, value: &Value, place: &Place<'_>, check: &mut impl FnMut(&Node, &Value, &Place<'_>)) {
    check(node, value, place);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let declared = node.property(key);
                let child = declared.map(|p| &p.node).or(node.additional.as_ref());
                let Some(child) = child.filter(|child| child.contents.places) else {
                    continue;
                };
                let below = match declared {
                    Some(_) => Place::Field(place, key),
                    None => Place::Key(place, key),
                };
                each_place(child, value, &below, check);
            }
        }
        Value::Array(items) => {
            let Some(child) = node.items.as_ref().filter(|child| child.contents.places) else {
                return;
            };
            for (index, item) in items.iter().enumerate() {
                each_place(child, item, &Place::Item(place, index), check);
            }
        }
        _ => {}
    }
}

/// An embedded object needs its type; its metadata follows the general rules, but needs no name.
fn check_embedded(node: &Node, value: &Value, place: &Place<'_>, causes: &mut Vec<Cause>) {
    if !node.embedded || matches!(place, Place::Root) {
        return;
    }
    let Some(object) = value.as_object() else { return };
    let path = place.to_string();
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

/// Whether the items are told apart by one key each, a text that no two of them share: what most lists are like.
fn are_unlike(list: &ListType, items: &[Value]) -> bool {
    let ListType::Map(keys) = list else { return false };
    let [key] = &**keys else { return false };
    let mut texts: Vec<&str> = items.iter().map_while(|item| item.get(&**key)?.as_str()).collect();
    texts.sort_unstable();
    texts.len() == items.len() && texts.windows(2).all(|pair| pair[0] != pair[1])
}

/// Sets hold no value twice, lists of type map no key. Only the first repeat of a value is told.
fn check_list(node: &Node, value: &Value, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let Some(items) = value.as_array() else { return };
    if are_unlike(&node.list, items) {
        return;
    }
    let mut seen: BTreeMap<Vec<(&str, ByValue<'_>)>, bool> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let key = match &node.list {
            ListType::Atomic => return,
            ListType::Set => vec![("", ByValue(item))],
            ListType::Map(keys) => {
                let Some(item) = item.as_object() else { continue };
                keys.iter()
                    .filter_map(|k| Some((&**k, ByValue(item.get(&**k)?))))
                    .collect()
            }
        };
        match seen.entry(key) {
            Entry::Vacant(first) => {
                first.insert(false);
            }
            Entry::Occupied(mut again) if !*again.get() => {
                *again.get_mut() = true;
                let shown = match (&node.list, again.key().as_slice()) {
                    (ListType::Set, [(_, ByValue(value))]) => (*value).clone(),
                    (_, parts) => parts
                        .iter()
                        .map(|(k, ByValue(v))| ((*k).to_owned(), (*v).clone()))
                        .collect(),
                };
                causes.push(Cause::duplicate(format!("{place}[{index}]"), &shown));
            }
            Entry::Occupied(_) => {}
        }
    }
}
