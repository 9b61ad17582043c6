//! From a typed object to the JSON that is sent.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cache::ApplyMemory;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// An object as it goes over the wire, with the parts of its metadata that the context decides.
#[derive(Clone, Debug)]
pub(super) struct Body(Map<String, Value>);

impl Body {
    /// Serialises `object`, writes its kind, and drops what the server owns: managedFields, and every `null`
    /// (a field that is `None` is one that the author does not set).
    pub(super) fn of<K: Serialize>(kind: &Kind, object: &K) -> Result<Self> {
        let value = serde_json::to_value(object)
            .map_err(|e| Error::terminal(format!("{} cannot be written as JSON: {e}", kind.kind())))?;
        let Value::Object(mut map) = value else {
            return Err(Error::terminal(format!(
                "{} must be written as a JSON object",
                kind.kind()
            )));
        };
        map.values_mut().for_each(drop_nulls);
        map.retain(|_, v| !v.is_null());
        map.insert("apiVersion".to_owned(), kind.api_version().into());
        map.insert("kind".to_owned(), kind.kind().into());
        let mut body = Self(map);
        let metadata = body.metadata();
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        Ok(body)
    }

    /// A body that holds nothing but what names the object.
    pub(super) fn bare(kind: &Kind, key: &ObjectKey) -> Self {
        let mut body = Self(Map::new());
        body.0.insert("apiVersion".to_owned(), kind.api_version().into());
        body.0.insert("kind".to_owned(), kind.kind().into());
        body.set_key(key);
        body
    }

    /// The members of the object.
    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// `metadata.name`, if there is one.
    pub(super) fn name(&self) -> Option<&str> {
        self.get_metadata("name")
    }

    /// `metadata.namespace`, if there is one.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.get_metadata("namespace")
    }

    /// A string of the metadata.
    pub(super) fn get_metadata(&self, field: &str) -> Option<&str> {
        self.0.get("metadata")?.get(field)?.as_str().filter(|s| !s.is_empty())
    }

    /// Writes name and namespace.
    pub(super) fn set_key(&mut self, key: &ObjectKey) {
        self.set_metadata("name", &*key.name);
        match key.namespace() {
            Some(namespace) => self.set_metadata("namespace", namespace),
            None => self.remove_metadata("namespace"),
        }
    }

    /// Writes one field of the metadata.
    pub(super) fn set_metadata(&mut self, field: &str, value: impl Into<Value>) {
        self.metadata().insert(field.to_owned(), value.into());
    }

    /// Takes one field out of the metadata.
    pub(super) fn remove_metadata(&mut self, field: &str) {
        self.metadata().remove(field);
    }

    /// Writes a field beside the metadata, such as `status`.
    pub(super) fn set(&mut self, field: &str, value: Value) {
        self.0.insert(field.to_owned(), value);
    }

    /// Writes one label.
    pub(super) fn set_label(&mut self, label: &str, value: &str) {
        let labels = self
            .metadata()
            .entry("labels")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(labels) = labels {
            labels.insert(label.to_owned(), value.into());
        }
    }

    /// Makes `owner` one of the owners; an older reference to the same object is replaced.
    pub(super) fn add_owner(&mut self, owner: &OwnerReference) -> Result<()> {
        let reference = serde_json::to_value(owner).map_err(|e| Error::terminal(e.to_string()))?;
        let owners = self
            .metadata()
            .entry("ownerReferences")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = owners {
            list.retain(|o| o.get("uid").and_then(Value::as_str) != Some(&owner.uid));
            list.push(reference);
        }
        Ok(())
    }

    /// Every leaf's path, for telling two configurations of one object apart by the fields they set.
    pub(super) fn field_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for (name, value) in &self.0 {
            if name != "apiVersion" && name != "kind" {
                collect_paths(name, value, &mut paths);
            }
        }
        paths
    }

    /// A digest of the configuration, equal for equal configurations within one process.
    pub(super) fn digest(&self) -> Result<u64> {
        let bytes = serde_json::to_vec(&self.0).map_err(|e| Error::terminal(e.to_string()))?;
        Ok(ApplyMemory::configuration(&bytes))
    }

    /// The bytes to send.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.0).map_err(|e| Error::terminal(e.to_string()))
    }

    fn metadata(&mut self) -> &mut Map<String, Value> {
        let metadata = self.0.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        match metadata {
            Value::Object(map) => map,
            _ => unreachable!("made an object just above"),
        }
    }
}

/// Removes the nulls of objects at any depth; nulls inside arrays keep their place.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn collect_paths(at: &str, value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, inner) in map {
                collect_paths(&format!("{at}.{name}"), inner, paths);
            }
        }
        // Lists are compared as wholes: an item's position is not a field.
        _ => paths.push(at.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map() -> Kind {
        Kind::new("", "v1", "ConfigMap", "configmaps", true)
    }

    #[test]
    fn a_body_carries_its_kind_and_no_nulls_and_no_managed_fields() {
        let object = json!({ "metadata": { "name": "a", "managedFields": [], "labels": null }, "data": { "k": null } });
        let body = Body::of(&config_map(), &object).expect("a JSON object");
        let sent: Value = serde_json::from_slice(&body.into_bytes().expect("serialisable")).expect("JSON");
        assert_eq!(
            sent,
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": {} })
        );
    }

    #[test]
    fn adding_an_owner_twice_keeps_one_reference() {
        let owner = OwnerReference {
            uid: "u".into(),
            name: "app".into(),
            ..OwnerReference::default()
        };
        let mut body = Body::bare(&config_map(), &ObjectKey::new("ns", "a"));
        body.add_owner(&owner).expect("serialisable");
        body.add_owner(&owner).expect("serialisable");
        let sent: Value = serde_json::from_slice(&body.into_bytes().expect("serialisable")).expect("JSON");
        assert_eq!(sent["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1));
    }
}
