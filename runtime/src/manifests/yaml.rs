//! Kubernetes objects as YAML, out and in.

use std::fmt::Write as _;

use serde_json::Value;

/// YAML that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// An object that YAML cannot say.
    #[error("cannot write {object} as YAML: {cause}")]
    Write {
        /// Kind and name of the object.
        object: String,
        /// What the serializer said.
        cause: String,
    },
    /// Text that is not YAML.
    #[error("not valid YAML: {0}")]
    Read(String),
    /// A document without what names an object.
    #[error("document {number} is not a Kubernetes object: {missing}")]
    NotAnObject {
        /// Counted from 1.
        number: usize,
        /// What is missing.
        missing: &'static str,
    },
}

/// A YAML stream, one document per object; fields in alphabetical order.
pub(super) fn stream(objects: &[Value]) -> Result<String, YamlError> {
    let mut out = String::new();
    for object in objects {
        let text = serde_saphyr::to_string(object).map_err(|e| YamlError::Write {
            object: format!(
                "{} {}",
                object["kind"].as_str().unwrap_or("object"),
                object["metadata"]["name"].as_str().unwrap_or("")
            ),
            cause: e.to_string(),
        })?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(out, "---\n{text}{end}");
    }
    Ok(out)
}

/// The Kubernetes objects of a YAML (or JSON) stream, in order. Empty documents are skipped; a `List` is its items.
///
/// # Errors
///
/// When the text is not YAML, or a document has no `apiVersion`, `kind` or `metadata.name`.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let values: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|e| YamlError::Read(one_line(&e.to_string())))?;
    let mut objects = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        if value.is_null() {
            continue;
        }
        let items = match value {
            Value::Object(mut list) if list.get("kind").and_then(Value::as_str) == Some("List") => {
                match list.remove("items") {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                }
            }
            other => vec![other],
        };
        for item in items {
            if let Some(missing) = missing(&item) {
                return Err(YamlError::NotAnObject {
                    number: index + 1,
                    missing,
                });
            }
            objects.push(item);
        }
    }
    Ok(objects)
}

fn missing(object: &Value) -> Option<&'static str> {
    let text = |value: &Value| value.as_str().is_some_and(|s| !s.is_empty());
    if !object.is_object() {
        Some("it is not a mapping")
    } else if !text(&object["apiVersion"]) {
        Some("`apiVersion` is missing")
    } else if !text(&object["kind"]) {
        Some("`kind` is missing")
    } else if !text(&object["metadata"]["name"]) && !text(&object["metadata"]["generateName"]) {
        Some("`metadata.name` is missing")
    } else {
        None
    }
}

/// The first line of a message that draws a picture of the source below it.
fn one_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}
