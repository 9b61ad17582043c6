//! Objects as JSON text in the key order of the real server, with a resourceVersion that can be filled in or replaced
//! without parsing.

use serde_json::{Map, Value};

/// In which order the keys of an object are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// As Go writes the structs of built-in kinds: metadata in the order of its declaration.
    Declared,
    /// Sorted by name, as Go writes maps: custom resources.
    #[default]
    Sorted,
}

/// The fields of ObjectMeta in the order of their declaration.
const DECLARED: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// An object's JSON without its resourceVersion, and where things are in it.
#[derive(Debug)]
pub(super) struct Encoded {
    /// The text; the resourceVersion is an empty string.
    pub(super) text: Vec<u8>,
    /// Where the digits of the resourceVersion belong.
    pub(super) version_at: usize,
    /// Where the text continues after `{"kind":…,"apiVersion":…,`.
    pub(super) head: usize,
}

/// Writes the object with kind and apiVersion in front and an empty resourceVersion in its metadata.
pub(super) fn encode(object: &Value, layout: Layout) -> Encoded {
    write(object, layout, true)
}

/// The object's text.
#[must_use]
pub fn text(object: &Value, layout: Layout) -> Vec<u8> {
    if object.get("metadata").is_some_and(Value::is_object) {
        write(object, layout, false).text
    } else {
        serde_json::to_vec(object).unwrap_or_default()
    }
}

fn write(object: &Value, layout: Layout, empty_version: bool) -> Encoded {
    let nothing = Map::new();
    let fields = object.as_object().unwrap_or(&nothing);
    let mut text = Vec::with_capacity(1024);
    text.push(b'{');
    let front = match layout {
        Layout::Declared => ["kind", "apiVersion"],
        Layout::Sorted => ["apiVersion", "kind"],
    };
    for name in front {
        if let Some(value) = fields.get(name) {
            member(&mut text, name, value);
            text.push(b',');
        }
    }
    let head = text.len();
    text.extend_from_slice(b"\"metadata\":{");
    let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&nothing);
    let mut version_at = text.len();
    let mut first = true;
    let mut put = |text: &mut Vec<u8>, name: &str, value: Option<&Value>| {
        let version = name == "resourceVersion" && empty_version;
        if value.is_none() && !version {
            return;
        }
        if !std::mem::take(&mut first) {
            text.push(b',');
        }
        if version {
            text.extend_from_slice(b"\"resourceVersion\":\"");
            version_at = text.len();
            text.push(b'"');
        } else if let Some(value) = value {
            member(text, name, value);
        }
    };
    match layout {
        Layout::Declared => {
            for name in DECLARED {
                put(&mut text, name, metadata.get(name));
            }
            for (name, value) in metadata.iter().filter(|(name, _)| !DECLARED.contains(&name.as_str())) {
                put(&mut text, name, Some(value));
            }
        }
        Layout::Sorted => {
            let mut written = !empty_version;
            for (name, value) in metadata {
                if !written && name.as_str() >= "resourceVersion" {
                    put(&mut text, "resourceVersion", None);
                    written = true;
                }
                if !(empty_version && name == "resourceVersion") {
                    put(&mut text, name, Some(value));
                }
            }
            if !written {
                put(&mut text, "resourceVersion", None);
            }
        }
    }
    text.push(b'}');
    for (name, value) in fields {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            text.push(b',');
            member(&mut text, name, value);
        }
    }
    text.push(b'}');
    Encoded { text, version_at, head }
}

fn member(text: &mut Vec<u8>, name: &str, value: &Value) {
    // Writing a Value to a Vec cannot fail: its keys are strings and a Vec takes every byte.
    let _ = serde_json::to_writer(&mut *text, name);
    text.push(b':');
    let _ = serde_json::to_writer(text, value);
}
