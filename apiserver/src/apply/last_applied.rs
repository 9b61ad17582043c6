//! The hand-over from client-side apply: for the manager `kubectl` alone, what the last-applied annotation holds does
//! not conflict, and the annotation is kept up to date.

use serde_json::Value;

use super::compare::Comparison;
use super::owned;
use super::ownership::Conflicts;
use super::shape::Shape;

const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What all annotations of an object may hold together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Whether the manager may take over fields that the annotation holds.
pub(super) fn may_take_over(manager: &str) -> bool {
    manager == MANAGER
}

/// The conflicts that stand. None are left when `manager` may take over everything in question.
pub(super) fn remaining(manager: &str, shape: Shape<'_>, live: &Value, conflicts: Conflicts) -> Conflicts {
    let last = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (MANAGER, Some(last)) = (manager, last) else {
        return conflicts;
    };
    let differs = Comparison::of(shape, live, &last);
    let allowed = owned::fields(shape, &last)
        .difference(&differs.modified)
        .difference(&differs.added)
        .difference(&differs.removed);
    let left = conflicts
        .into_iter()
        .map(|(entry, fields)| (entry, fields.difference(&allowed)));
    left.filter(|(_, fields)| !fields.is_empty()).collect()
}

/// Writes the applied configuration into the annotation, where there is one.
pub(super) fn renew(manager: &str, live: &Value, config: &Value, object: &mut Value) {
    if manager != MANAGER || annotation(live).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), format!("{config}\n").into());
    let size: usize = annotations
        .iter()
        .map(|(k, v)| k.len() + v.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATIONS_LIMIT {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()
}
