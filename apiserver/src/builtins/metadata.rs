//! Rules on `metadata` that hold for every kind, built-in or custom.

use serde_json::Value;

use crate::error::Cause;
use crate::resource::Resource;

/// What is wrong with the metadata of a new object.
#[must_use]
pub fn validate_create(_resource: &Resource, object: &Value) -> Vec<Cause> {
    let named = object
        .pointer("/metadata/name")
        .or_else(|| object.pointer("/metadata/generateName"));
    if named.and_then(Value::as_str).unwrap_or_default().is_empty() {
        return vec![Cause::required("metadata.name", "name or generateName is required")];
    }
    Vec::new()
}

/// What is wrong with the metadata of an updated object.
#[must_use]
pub fn validate_update(_resource: &Resource, _new: &Value, _old: &Value) -> Vec<Cause> {
    Vec::new()
}
