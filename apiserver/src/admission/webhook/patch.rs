//! A webhook's JSON patch on an object, with the words that the real server has for one that does not apply.

use serde_json::Value;

use crate::patch;

/// Applies the operations in order.
///
/// # Errors
///
/// Which operation does not apply, and why.
pub(crate) fn apply(object: &mut Value, operations: &Value) -> Result<(), String> {
    for operation in operations.as_array().into_iter().flatten() {
        let one = Value::Array(vec![operation.clone()]);
        patch::json(object, &one).map_err(|_| fault(operation))?;
    }
    Ok(())
}

fn fault(operation: &Value) -> String {
    let text = |field: &str| operation[field].as_str().unwrap_or_default();
    let path = text("path");
    let last = path.rsplit('/').next().unwrap_or_default();
    match text("op") {
        "test" => format!("testing value {path} failed: test failed"),
        "remove" => {
            format!("error in remove for path: '{path}': Unable to remove nonexistent key: {last}: missing value")
        }
        op @ ("add" | "replace") => {
            format!("{op} operation does not apply: doc is missing path: {path:?}: missing value")
        }
        op @ ("copy" | "move") => {
            format!(
                "error in {op} for path: '{path}': doc is missing from path: {}: missing value",
                text("from")
            )
        }
        other => format!("Unexpected kind: {other}"),
    }
}
