//! What built-in kinds demand of their objects.

use serde_json::Value;

use super::metadata;
use crate::error::Cause;
use crate::resource::Resource;

/// What is wrong with a new object, metadata included.
#[must_use]
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    metadata::validate_create(resource, object)
}

/// What is wrong with an updated object, metadata and immutable fields included. `subresource` is empty for the object
/// itself.
#[must_use]
pub fn validate_update(resource: &Resource, _subresource: &str, new: &Value, old: &Value) -> Vec<Cause> {
    metadata::validate_update(resource, new, old)
}
