//! Owner references that are given twice.

use serde_json::Value;

/// What the warning says of references that admission added.
pub(crate) const AFTER_ADMISSION: &str = " after mutating admission happens";

/// Drops repeated owner references; answers the warning about them. `when` is empty, or [`AFTER_ADMISSION`].
pub(crate) fn drop_repeated(object: &mut Value, when: &str) -> Option<String> {
    let references = object.get_mut("metadata")?.get_mut("ownerReferences")?.as_array_mut()?;
    let mut kept: Vec<Value> = Vec::with_capacity(references.len());
    let mut repeated: Vec<String> = Vec::new();
    for reference in references.drain(..) {
        if kept.contains(&reference) {
            let uid = reference["uid"].as_str().unwrap_or_default().to_owned();
            if !repeated.contains(&uid) {
                repeated.push(uid);
            }
        } else {
            kept.push(reference);
        }
    }
    *references = kept;
    if repeated.is_empty() {
        return None;
    }
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(", ")
    ))
}
