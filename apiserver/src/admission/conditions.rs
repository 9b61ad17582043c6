//! `matchConditions` of webhooks: expressions that all have to hold for the webhook to be called.

use serde_json::Value;

use super::policy::of_request;
use super::webhook::review::View;
use super::{Inner, Request};
use crate::cel::Program;
use crate::error::ApiError;

/// Whether the conditions hold. One that cannot be judged refuses the request, or with `ignore` skips the webhook.
pub(super) fn hold(
    inner: &Inner,
    spec: &Value,
    ignore: bool,
    request: &Request<'_>,
    view: &View<'_>,
) -> Result<bool, ApiError> {
    let conditions = spec["matchConditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if conditions.is_empty() {
        return Ok(true);
    }
    let variables = of_request(inner, request, view);
    let mut fault = None;
    for condition in conditions {
        let expression = condition["expression"].as_str().unwrap_or_default();
        match Program::compile(expression).and_then(|program| program.holds(&variables)) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => {
                fault = fault.or_else(|| Some(format!("expression '{expression}' resulted in error: {error}")));
            }
        }
    }
    match fault {
        None => Ok(true),
        Some(_) if ignore => Ok(false),
        Some(fault) => Err(ApiError::forbidden(request.resource, request.shown_name(), fault)),
    }
}
