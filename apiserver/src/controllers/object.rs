//! Reading Kubernetes objects that are plain JSON: names, owners, times, dotted paths.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::kinds::Kind;

/// The namespace and name of an object; an empty namespace means cluster-scoped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The namespace, empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of the object of that name.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of `object`.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        Self::new(object.namespace(), object.name())
    }
}

/// What controllers read from an object. Every getter answers something harmless (empty, zero) where a field is missing
/// or has another type: the server has validated what is stored.
pub trait Object {
    /// The value at a dotted path such as `metadata.name`. Keys that contain dots cannot be reached.
    fn at(&self, path: &str) -> Option<&Value>;
    /// The text at a path, or `""`.
    fn text(&self, path: &str) -> &str;
    /// The integer at a path.
    fn int(&self, path: &str) -> Option<i64>;
    /// Whether the value at a path is `true`.
    fn flag(&self, path: &str) -> bool;
    /// The items at a path, or none.
    fn items(&self, path: &str) -> &[Value];
    /// The time at a path.
    fn time(&self, path: &str) -> Option<Timestamp>;
    /// `metadata.name`.
    fn name(&self) -> &str {
        self.text("metadata.name")
    }
    /// `metadata.namespace`.
    fn namespace(&self) -> &str {
        self.text("metadata.namespace")
    }
    /// `metadata.uid`.
    fn uid(&self) -> &str {
        self.text("metadata.uid")
    }
    /// `metadata.resourceVersion` as a number.
    fn revision(&self) -> u64 {
        self.text("metadata.resourceVersion").parse().unwrap_or(0)
    }
    /// `metadata.generation`.
    fn generation(&self) -> i64 {
        self.int("metadata.generation").unwrap_or(0)
    }
    /// Whether a deletion was asked for.
    fn is_deleting(&self) -> bool {
        !self.text("metadata.deletionTimestamp").is_empty()
    }
    /// `metadata.labels`.
    fn labels(&self) -> Option<&Map<String, Value>> {
        self.at("metadata.labels").and_then(Value::as_object)
    }
    /// One label.
    fn label(&self, key: &str) -> Option<&str> {
        self.labels().and_then(|m| m.get(key)).and_then(Value::as_str)
    }
    /// One annotation.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.at("metadata.annotations")
            .and_then(|m| m.get(key))
            .and_then(Value::as_str)
    }
    /// The owner reference that is marked as the controller.
    fn controller(&self) -> Option<&Value> {
        self.items("metadata.ownerReferences")
            .iter()
            .find(|o| o.flag("controller"))
    }
    /// Whether the object's controller is the one with that uid.
    fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|o| o.text("uid") == uid)
    }
    /// Whether a finalizer of that name is pending.
    fn has_finalizer(&self, name: &str) -> bool {
        self.items("metadata.finalizers")
            .iter()
            .any(|f| f.as_str() == Some(name))
    }
    /// The status condition of that type.
    fn condition(&self, kind: &str) -> Option<&Value> {
        self.items("status.conditions").iter().find(|c| c.text("type") == kind)
    }
    /// Whether the status condition of that type is `True`.
    fn is_true(&self, condition: &str) -> bool {
        self.condition(condition).is_some_and(|c| c.text("status") == "True")
    }
}

impl Object for Value {
    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self, |value, key| value.get(key))
    }

    fn text(&self, path: &str) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or("")
    }

    fn int(&self, path: &str) -> Option<i64> {
        self.at(path).and_then(Value::as_i64)
    }

    fn flag(&self, path: &str) -> bool {
        self.at(path).and_then(Value::as_bool).unwrap_or(false)
    }

    fn items(&self, path: &str) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn time(&self, path: &str) -> Option<Timestamp> {
        self.text(path).parse().ok()
    }
}

/// Writes `value` at a dotted path, making the maps on the way; null removes the field.
pub fn set(object: &mut Value, path: &str, value: Value) {
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut at = object;
    for key in parents.split('.').filter(|k| !k.is_empty()) {
        if !at.get(key).is_some_and(Value::is_object) {
            if value.is_null() {
                return;
            }
            at[key] = json!({});
        }
        at = &mut at[key];
    }
    let Some(map) = at.as_object_mut() else { return };
    if value.is_null() {
        map.remove(last);
    } else {
        map.insert(last.to_owned(), value);
    }
}

/// Writes a number at a path, or removes the field where the number is zero (Go's `omitempty`).
pub fn set_count(object: &mut Value, path: &str, count: i64) {
    set(object, path, if count == 0 { Value::Null } else { count.into() });
}

/// Writes one annotation, making the map if there is none.
pub fn annotate(object: &mut Value, key: &str, value: &str) {
    map_of(object, "annotations").insert(key.to_owned(), value.into());
}

/// Writes one annotation, or removes it and with the last one the map.
pub fn set_annotation(object: &mut Value, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        return annotate(object, key, value);
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(key);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// Writes one label, making the map if there is none.
pub fn add_label(object: &mut Value, key: &str, value: &str) {
    map_of(object, "labels").insert(key.to_owned(), value.into());
}

/// A map inside `metadata`, made if missing.
pub fn map_of<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    static_map(&mut object["metadata"][field])
}

/// The map that `value` is, or becomes.
fn static_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// The owner reference that a controller puts on what it makes.
#[must_use]
pub fn controller_reference(owner: &Value, kind: &Kind) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind,
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reaches_into_nested_maps_and_misses_quietly() {
        let o = json!({"metadata": {"name": "a", "generation": 3}, "spec": {"paused": true, "list": [1]}});
        assert_eq!(o.name(), "a");
        assert_eq!(o.generation(), 3);
        assert!(o.flag("spec.paused"));
        assert_eq!(o.items("spec.list").len(), 1);
        assert_eq!(o.text("spec.none.deeper"), "");
    }

    #[test]
    fn setting_null_removes_and_never_makes_parents() {
        let mut o = json!({"status": {"replicas": 1}});
        set(&mut o, "status.replicas", Value::Null);
        set(&mut o, "other.field", Value::Null);
        set(&mut o, "status.a.b", 1.into());
        assert_eq!(o, json!({"status": {"a": {"b": 1}}}));
    }
}
