//! Stored objects as a request sees them: in its version, with the defaults of the present schema.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::convert;
use crate::error::ApiError;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::storage::{self, Layout, Stored};

/// An object on its way out: as text where nothing has to be looked at, else as a value.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    Json(Bytes),
    Value(Value),
}

impl Shown {
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Json(text) => serde_json::from_slice(&text).unwrap_or_default(),
            Self::Value(value) => value,
        }
    }

    pub(crate) fn into_json(self, resource: &Resource) -> Bytes {
        match self {
            Self::Json(text) => text,
            Self::Value(value) => storage::text(&value, layout(resource)).into(),
        }
    }
}

/// The order in which the keys of a resource's objects are written.
pub(crate) fn layout(resource: &Resource) -> Layout {
    if resource.custom.is_some() {
        Layout::Sorted
    } else {
        Layout::Declared
    }
}

/// The state of objects that lack defaults: no definition has it.
pub(crate) const INCOMPLETE: u64 = u64::MAX;

/// The state of objects that a webhook has converted for requests in another version: no definition has it either.
pub(crate) const CONVERTED: u64 = u64::MAX - 1;

/// The state of a resource's definition that objects are stored under.
pub(crate) fn schema_state(resource: &Resource) -> u64 {
    resource
        .custom
        .as_ref()
        .map_or(0, |custom| custom.definition_generation)
}

/// Whether the stored text is what a request in this version answers.
pub(crate) fn is_verbatim(resource: &Resource, stored: &Stored) -> bool {
    stored.schema == CONVERTED || (convert::is_stored_form(resource) && stored.schema == schema_state(resource))
}

/// The object as this version of the resource shows it.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn show(resource: &Resource, stored: &Stored) -> Result<Shown, ApiError> {
    if is_verbatim(resource, stored) {
        return Ok(Shown::Json(stored.json.clone()));
    }
    value(resource, stored).map(Shown::Value)
}

/// The object as this version of the resource shows it, parsed.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn value(resource: &Resource, stored: &Stored) -> Result<Value, ApiError> {
    reshape(resource, stored, stored.value())
}

/// The object as this version of the resource shows it, parsed and shared with whoever holds it at the same time.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn shared(resource: &Resource, stored: &Stored) -> Result<Arc<Value>, ApiError> {
    if is_verbatim(resource, stored) {
        return Ok(stored.shared());
    }
    value(resource, stored).map(Arc::new)
}

/// Brings a parsed stored object into the version of the resource.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn reshape(resource: &Resource, stored: &Stored, mut object: Value) -> Result<Value, ApiError> {
    if is_verbatim(resource, stored) {
        return Ok(object);
    }
    // A read fills in the defaults of the storage version; conversion adds none, but drops what the version lacks.
    if let Some(schema) = storage_schema(resource) {
        schema.prune(&mut object);
        schema.apply_defaults(&mut object);
    }
    if !convert::is_stored_form(resource) {
        convert::from_storage(resource, &mut object)?;
        if resource.custom.is_some() {
            resource.schema.prune(&mut object);
        }
    }
    Ok(object)
}

/// The schema of the version that custom resources are stored in; nothing for built-in kinds.
pub(crate) fn storage_schema(resource: &Resource) -> Option<&Schema> {
    let custom = resource.custom.as_ref()?;
    let stored = |(name, _): &&(String, Arc<Schema>)| *name == resource.storage_version;
    custom.versions.iter().find(stored).map(|(_, schema)| &**schema)
}
