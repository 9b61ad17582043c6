use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use serde_json::Value;

use super::editions::Editions;
use super::encode::{Encoded, Layout, encode};
use super::key::Key;

type Text = Box<str>;

/// An object about to be stored: all but its revision.
#[derive(Debug)]
pub struct Draft {
    key: Key,
    object: Value,
    encoded: Encoded,
    uid: Text,
    labels: Box<[(Text, Text)]>,
    fields: Box<[(Arc<str>, Text)]>,
    schema: u64,
    linked: bool,
}

impl Draft {
    /// Serialises `object`, which is in its storage version.
    ///
    /// `fields` are the values of its selectable fields apart from name and namespace; `schema` says which state of
    /// its definition the object was shaped by (0 for built-in kinds).
    #[must_use]
    pub fn new(key: Key, object: Value, fields: Vec<(Arc<str>, String)>, schema: u64) -> Self {
        let metadata = &object["metadata"];
        let mut labels: Vec<(Text, Text)> = metadata["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str().into(), value.as_str().unwrap_or_default().into()))
            .collect();
        labels.sort_unstable();
        Self {
            key,
            encoded: encode(&object, if schema == 0 { Layout::Declared } else { Layout::Sorted }),
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            labels: labels.into(),
            fields: fields.into_iter().map(|(name, value)| (name, value.into())).collect(),
            schema,
            linked: !metadata["ownerReferences"].is_null() || !metadata["deletionTimestamp"].is_null(),
            object,
        }
    }

    /// The key it goes under.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The stored object, and its value: whoever keeps that saves the next reader the parsing.
    pub(super) fn seal(self, revision: u64) -> (Stored, Arc<Value>) {
        let Encoded { text, version_at, head } = self.encoded;
        let digits = revision.to_string();
        let mut json = Vec::with_capacity(text.len() + digits.len());
        json.extend_from_slice(&text[..version_at]);
        json.extend_from_slice(digits.as_bytes());
        json.extend_from_slice(&text[version_at..]);
        let mut object = self.object;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), digits.into());
        }
        let object = Arc::new(object);
        let stored = Stored {
            key: self.key,
            revision,
            json: json.into(),
            uid: self.uid,
            labels: self.labels,
            fields: self.fields,
            schema: self.schema,
            linked: self.linked,
            head,
            version_at,
            parsed: Mutex::new(Arc::downgrade(&object)),
            editions: Editions::default(),
        };
        (stored, object)
    }
}

/// One version of an object, as it goes over the wire.
#[derive(Debug)]
pub struct Stored {
    /// What it is stored under.
    pub key: Key,
    /// The revision that wrote it; also the resourceVersion inside `json`.
    pub revision: u64,
    /// The object in its storage version, apiVersion, kind and resourceVersion included.
    pub json: Bytes,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by name.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Selectable fields apart from name and namespace, with their values.
    pub fields: Box<[(Arc<str>, Box<str>)]>,
    /// The state of the definition that the object was shaped by; 0 for built-in kinds.
    pub schema: u64,
    /// Whether it has owners or is being deleted: what the garbage collector looks at.
    pub linked: bool,
    /// What webhooks made of it for requests in other versions.
    pub editions: Editions,
    head: usize,
    version_at: usize,
    /// The value while anybody holds it.
    parsed: Mutex<Weak<Value>>,
}

impl Stored {
    /// The object as a value.
    ///
    /// Parsing cannot fail, since the text was written by serialising a value; should memory be corrupt, this is null.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The object as a value, shared with everybody who holds it at the same time.
    #[must_use]
    pub fn shared(&self) -> Arc<Value> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = parsed.upgrade() {
            return value;
        }
        let value = Arc::new(self.value());
        *parsed = Arc::downgrade(&value);
        value
    }

    /// The same version of the object with other content: as another version of its kind shows it.
    #[must_use]
    pub fn shown_as(&self, object: Value, fields: Vec<(Arc<str>, String)>, schema: u64) -> Self {
        Draft::new(self.key.clone(), object, fields, schema)
            .seal(self.revision)
            .0
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        let index = self.labels.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        Some(&self.labels[index].1)
    }

    /// The value of a selectable field; empty where the object lacks it.
    #[must_use]
    pub fn field(&self, path: &str) -> &str {
        match path {
            "metadata.name" => &self.key.name,
            "metadata.namespace" => &self.key.namespace,
            _ => self
                .fields
                .iter()
                .find(|(name, _)| **name == *path)
                .map_or("", |(_, value)| value),
        }
    }

    /// The text after apiVersion and kind: what follows `{` in a list of a built-in kind.
    #[must_use]
    pub fn tail(&self) -> Bytes {
        self.json.slice(self.head..)
    }

    /// The object's text with another resourceVersion: how a deletion shows the last content.
    #[must_use]
    pub fn json_at(&self, revision: u64) -> Bytes {
        if revision == self.revision {
            return self.json.clone();
        }
        let end = self.version_at + self.revision.to_string().len();
        let digits = revision.to_string();
        let mut text = Vec::with_capacity(self.json.len() + digits.len());
        text.extend_from_slice(&self.json[..self.version_at]);
        text.extend_from_slice(digits.as_bytes());
        text.extend_from_slice(&self.json[end..]);
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft() -> Draft {
        let object = json!({
            "data": { "resourceVersion": "1" },
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": { "name": "a", "namespace": "x", "resourceVersion": "7", "labels": { "a": "b", "c": "d" } },
        });
        Draft::new(Key::new("configmaps", "x", "a"), object, Vec::new(), 0)
    }

    #[test]
    fn the_revision_becomes_the_resource_version() {
        let stored = draft().seal(41).0;
        assert_eq!(stored.value()["metadata"]["resourceVersion"], "41");
        assert_eq!(stored.value()["data"]["resourceVersion"], "1");
        assert!(
            stored
                .json
                .starts_with(br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":"#)
        );
    }

    #[test]
    fn another_revision_replaces_only_the_resource_version() {
        let stored = draft().seal(99).0;
        let moved: Value = serde_json::from_slice(&stored.json_at(100)).unwrap();
        let mut expected = stored.value();
        expected["metadata"]["resourceVersion"] = "100".into();
        assert_eq!(moved, expected);
    }

    #[test]
    fn the_value_is_shared_while_somebody_holds_it_and_equals_the_text() {
        let (stored, object) = draft().seal(7);
        assert!(Arc::ptr_eq(&stored.shared(), &object));
        assert_eq!(*object, stored.value());
        drop(object);
        let again = stored.shared();
        assert_eq!(*again, stored.value());
        assert!(Arc::ptr_eq(&stored.shared(), &again));
    }

    #[test]
    fn labels_and_fields_are_readable_without_parsing() {
        let stored = draft().seal(2).0;
        assert_eq!(stored.label("c"), Some("d"));
        assert_eq!(stored.label("x"), None);
        assert_eq!(stored.field("metadata.name"), "a");
        assert_eq!(stored.field("spec.nodeName"), "");
    }
}
