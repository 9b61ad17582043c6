//! `matchConditions`: expressions that all have to hold for a webhook to be called.

use serde_json::Value;

use super::{Inner, Request};
use crate::error::ApiError;

/// Whether the conditions hold. One that cannot be judged refuses the request, or with `ignore` skips the webhook.
pub(super) fn hold(_inner: &Inner, spec: &Value, ignore: bool, request: &Request<'_>) -> Result<bool, ApiError> {
    let conditions = spec["matchConditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let Some(first) = conditions.first() else {
        return Ok(true);
    };
    if ignore {
        return Ok(false);
    }
    let expression = first["expression"].as_str().unwrap_or_default();
    let why = format!("expression '{expression}' cannot be judged: this server does not evaluate matchConditions yet");
    Err(ApiError::forbidden(request.resource, request.shown_name(), why))
}
