//! The verbs as the server's own controllers call them.

use std::sync::Arc;

use serde_json::Value;

use super::PatchKind;
use crate::error::ApiError;
use crate::resource::{Gvr, Resource};
use crate::server::Core;
use crate::storage::Change;

fn starting() -> ApiError {
    ApiError::new(503, "ServiceUnavailable", "the server is starting")
}

pub(crate) async fn get(_: &Arc<Core>, _: &Gvr, _: &str, _: &str) -> Result<Value, ApiError> {
    Err(starting())
}
pub(crate) async fn list(_: &Arc<Core>, _: &Gvr, _: &str, _: &str) -> Result<(Vec<Value>, u64), ApiError> {
    Err(starting())
}
pub(crate) async fn create(_: &Arc<Core>, _: &str, _: &Gvr, _: &str, _: Value) -> Result<Value, ApiError> {
    Err(starting())
}
pub(crate) async fn create_sub(
    _: &Arc<Core>,
    _: &str,
    _: &Gvr,
    _: (&str, &str, &str),
    _: Value,
) -> Result<Value, ApiError> {
    Err(starting())
}
pub(crate) async fn update(_: &Arc<Core>, _: &str, _: &Gvr, _: Option<&str>, _: Value) -> Result<Value, ApiError> {
    Err(starting())
}
pub(crate) async fn patch(
    _: &Arc<Core>,
    _: &str,
    _: &Gvr,
    _: Option<&str>,
    _: (&str, &str),
    _: PatchKind,
    _: Value,
) -> Result<Value, ApiError> {
    Err(starting())
}
pub(crate) async fn delete(_: &Arc<Core>, _: &str, _: &Gvr, _: &str, _: &str, _: Value) -> Result<Value, ApiError> {
    Err(starting())
}

pub(crate) fn storage_name(core: &Core, resource: &Gvr) -> String {
    match core.catalog().get(&resource.group, &resource.version, &resource.plural) {
        Some(found) => found.stored_under.to_string(),
        None if resource.group.is_empty() => resource.plural.clone(),
        None => format!("{}.{}", resource.plural, resource.group),
    }
}

pub(crate) fn stored_as(core: &Core, change: &Change) -> Option<Arc<Resource>> {
    let stored = change.object()?;
    core.catalog()
        .iter()
        .find(|r| r.stored_under == stored.key.resource && r.version == r.storage_version)
        .cloned()
}
