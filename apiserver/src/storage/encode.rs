//! Objects as JSON text whose resourceVersion can be filled in or replaced without parsing.

use serde_json::{Map, Value};

/// An object's JSON without its resourceVersion, and where things are in it.
#[derive(Debug)]
pub(super) struct Encoded {
    /// The text; the resourceVersion is an empty string.
    pub(super) text: Vec<u8>,
    /// Where the digits of the resourceVersion belong.
    pub(super) version_at: usize,
    /// Where the text continues after `{"apiVersion":…,"kind":…,`.
    pub(super) head: usize,
}

/// Writes the object with apiVersion and kind in front and an empty resourceVersion in its metadata.
pub(super) fn encode(object: &Value) -> Encoded {
    let empty = Map::new();
    let fields = object.as_object().unwrap_or(&empty);
    let mut text = Vec::with_capacity(1024);
    text.push(b'{');
    for name in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(name) {
            member(&mut text, name, value);
            text.push(b',');
        }
    }
    let head = text.len();
    text.extend_from_slice(b"\"metadata\":{");
    let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    for (name, value) in metadata {
        if name != "resourceVersion" {
            member(&mut text, name, value);
            text.push(b',');
        }
    }
    text.extend_from_slice(b"\"resourceVersion\":\"");
    let version_at = text.len();
    text.extend_from_slice(b"\"}");
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
