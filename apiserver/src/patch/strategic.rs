//! Strategic merge patch: a merge patch that knows which lists merge item by item, and takes directives.
//!
//! Directives: `$patch: replace|delete` in maps and list items, `$retainKeys`, `$setElementOrder/<list>` and
//! `$deleteFromPrimitiveList/<list>`.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::schema::{Node, Schema, go};

const DIRECTIVE: &str = "$patch";
/// How often items of two lists are compared at most.
const MOST_COMPARISONS: usize = 4_000_000;
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// Merges `patch` into `target` as the schema's patch strategies say. Items that are new to a list come before those
/// that only the server has, in the patch's order. On an error `target` is left half patched.
///
/// # Errors
/// 400 when the patch is no object or a `$retainKeys` or order list is malformed; 422 for lists of lists; 500 for a
/// missing merge key, an order that does not fit and an unknown `$patch`.
pub fn strategic(schema: &Schema, target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let (Value::Object(target), Value::Object(patch)) = (target, patch) else {
        return Err(ApiError::bad_request("invalid JSON document"));
    };
    merge_map(Some(schema.root()), target, patch)
}

type Fields = Map<String, Value>;

fn merge_map(node: Option<&Node>, target: &mut Fields, patch: &Fields) -> Result<(), ApiError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        match directive.as_str() {
            Some("replace") => {
                target.clone_from(patch);
                target.remove(DIRECTIVE);
            }
            Some("delete") => target.clear(),
            _ => return Err(unknown_directive(directive, patch)),
        }
        return Ok(());
    }
    retain_keys(target, patch)?;
    let ordered = merge_ordered_lists(node, target, patch)?;
    for (key, change) in patch {
        if key == RETAIN_KEYS || key.starts_with(ORDER) || ordered.contains(&key.as_str()) {
            continue;
        }
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            delete_from(target, list, change)?;
            continue;
        }
        if change.is_null() {
            target.remove(key);
            continue;
        }
        let child = node.and_then(|n| n.child(key)).map(|n| &**n);
        match (target.get_mut(key), change) {
            (Some(Value::Object(target)), Value::Object(change)) => merge_map(child, target, change)?,
            (Some(Value::Array(target)), Value::Array(change)) => {
                let merged = merge_list(child, std::mem::take(target), change)?;
                *target = merged;
            }
            _ => {
                target.insert(key.clone(), plain(change));
            }
        }
    }
    Ok(())
}

/// Drops the siblings that `$retainKeys` does not name.
fn retain_keys(target: &mut Fields, patch: &Fields) -> Result<(), ApiError> {
    let Some(list) = patch.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || ApiError::bad_request("invalid patch format of retainKeys");
    let kept = list.as_array().ok_or_else(malformed)?;
    let is_kept = |key: &str| kept.iter().any(|k| k == key);
    let named = patch.iter().all(|(key, change)| {
        change.is_null() || key == RETAIN_KEYS || key.starts_with(DELETE_FROM) || key.starts_with(ORDER) || is_kept(key)
    });
    if !named {
        return Err(malformed());
    }
    target.retain(|key, _| is_kept(key));
    Ok(())
}

/// Merges the lists that `$setElementOrder` names and puts them in that order; returns their names.
fn merge_ordered_lists<'p>(
    node: Option<&Node>,
    target: &mut Fields,
    patch: &'p Fields,
) -> Result<Vec<&'p str>, ApiError> {
    let mut done = Vec::new();
    for (directive, order) in patch {
        let Some(key) = directive.strip_prefix(ORDER) else {
            continue;
        };
        let malformed = || ApiError::bad_request("invalid patch format of setElementOrder list");
        let order = order.as_array().ok_or_else(malformed)?;
        let child = node.and_then(|n| n.child(key)).map(|n| &**n);
        let merge_key = child.and_then(|n| n.merge_key.as_deref());
        let change = match patch.get(key) {
            None => None,
            Some(change) => Some(change.as_array().ok_or_else(malformed)?),
        };
        if let Some(change) = change {
            check_order(change, order, merge_key)?;
            done.push(key);
        }
        let before = target.get(key).and_then(Value::as_array).cloned();
        bounded(before.as_ref().map_or(0, Vec::len), order.len())?;
        let merged = match (before.clone(), change) {
            (Some(before), Some(change)) => merge_list(child, before, change)?,
            (Some(before), None) => before,
            (None, Some(change)) => plain_list(change),
            (None, None) => continue,
        };
        let before = before.unwrap_or_default();
        target.insert(
            key.to_owned(),
            Value::Array(in_order(merged, order, &before, merge_key)),
        );
    }
    Ok(done)
}

/// The items of a patch must come in the order that the directive gives.
fn check_order(change: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), ApiError> {
    if change.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut steps = order.iter();
    let deleted = |item: &Value| item.get(DIRECTIVE).is_some_and(|d| d == "delete");
    let fits = change
        .iter()
        .filter(|item| merge_key.is_none() || !deleted(item))
        .all(|item| steps.any(|step| matches(step, item, merge_key)));
    if fits {
        return Ok(());
    }
    let shown = |items: &[Value]| go::value(&Value::Array(items.to_vec()));
    Err(failure(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        shown(change),
        shown(order)
    )))
}

/// Lists are merged by looking for each item of one in the other, which only short ones can afford.
fn bounded(target: usize, patch: usize) -> Result<(), ApiError> {
    let all = target.saturating_add(patch);
    if all.saturating_mul(all) <= MOST_COMPARISONS {
        return Ok(());
    }
    let message = format!(
        "Request entity too large: a list of {target} items cannot be merged with one of {patch}; replace it instead"
    );
    Err(ApiError::new(413, "RequestEntityTooLarge", message))
}

fn delete_from(target: &mut Fields, list: &str, gone: &Value) -> Result<(), ApiError> {
    let Value::Array(gone) = gone else {
        return Err(ApiError::bad_request("invalid patch format of primitive list"));
    };
    if let Some(Value::Array(items)) = target.get_mut(list) {
        bounded(items.len(), gone.len())?;
        items.retain(|item| !gone.contains(item));
    }
    Ok(())
}

fn merge_list(node: Option<&Node>, target: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>, ApiError> {
    if !node.is_some_and(|n| n.patch_merge) {
        return Ok(patch.to_vec());
    }
    bounded(target.len(), patch.len())?;
    if target.iter().chain(patch).any(Value::is_array) {
        let mut error = ApiError::new(422, "Invalid", "lists of lists are not supported");
        error.details = Some(Box::new(Value::Object(Map::new())));
        return Err(error);
    }
    let merge_key = node.and_then(|n| n.merge_key.as_deref());
    let items = node.and_then(|n| n.items.as_ref()).map(|n| &**n);
    let Some(merge_key) = merge_key else {
        let mut merged: Vec<Value> = Vec::with_capacity(target.len() + patch.len());
        for item in target.iter().chain(patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(in_order(merged, patch, &target, None));
    };
    let (mut target, patch) = without_directives(target, patch, merge_key)?;
    let before = target.clone();
    for item in &patch {
        let value = item.get(merge_key).ok_or_else(|| no_merge_key(item, merge_key))?;
        let found = target.iter_mut().find(|t| t.get(merge_key) == Some(value));
        match (found, item) {
            (Some(Value::Object(found)), Value::Object(item)) => merge_map(items, found, item)?,
            _ => target.push(plain(item)),
        }
    }
    Ok(in_order(target, &patch, &before, Some(merge_key)))
}

/// Acts on the list items that are directives; returns the list and what is left of the patch.
fn without_directives(
    mut target: Vec<Value>,
    patch: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(failure("list element types are not identical".to_owned()));
        };
        match fields.get(DIRECTIVE) {
            None => rest.push(item.clone()),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let value = fields.get(merge_key).ok_or_else(|| no_merge_key(item, merge_key))?;
                    target.retain(|t| t.get(merge_key) != Some(value));
                }
                Some("replace") => replace = true,
                Some("merge") => return Err(failure("merging lists cannot yet be specified in the patch".to_owned())),
                _ => return Err(unknown_directive(directive, fields)),
            },
        }
    }
    Ok(if replace { (rest, Vec::new()) } else { (target, rest) })
}

/// Puts a merged list in order: the items that `order` names as it says, the others as they were `before`, each
/// as far to the front as its place before allows.
fn in_order(merged: Vec<Value>, order: &[Value], before: &[Value], merge_key: Option<&str>) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| matches(other, item, merge_key));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_cached_key(|item| place(order, item));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return result,
            (None, Some(_)) => false,
            (Some(_), None) => true,
            (Some(other), Some(name)) => {
                matches!((place(before, other), place(before, name)), (Some(other), Some(name)) if other < name)
            }
        };
        result.extend(if other_first { others.next() } else { named.next() });
    }
}

fn matches(a: &Value, b: &Value, merge_key: Option<&str>) -> bool {
    match merge_key {
        None => a == b,
        Some(key) => matches!((a.get(key), b.get(key)), (Some(a), Some(b)) if a == b),
    }
}

/// What a patch sets where nothing was: without nulls and directives.
fn plain(patch: &Value) -> Value {
    match patch {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, value)| !value.is_null() && !is_directive(key))
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => Value::Array(plain_list(items)),
        other => other.clone(),
    }
}

fn plain_list(items: &[Value]) -> Vec<Value> {
    items
        .iter()
        .filter(|item| item.get(DIRECTIVE).is_none())
        .map(plain)
        .collect()
}

fn is_directive(key: &str) -> bool {
    key == DIRECTIVE || key == RETAIN_KEYS || key.starts_with(ORDER) || key.starts_with(DELETE_FROM)
}

fn no_merge_key(item: &Value, merge_key: &str) -> ApiError {
    failure(format!(
        "map: {} does not contain declared merge key: {merge_key}",
        go::value(item)
    ))
}

fn unknown_directive(directive: &Value, fields: &Fields) -> ApiError {
    let (directive, map) = (go::value(directive), go::value(&Value::Object(fields.clone())));
    failure(format!("unknown patch type: {directive} in map: {map}"))
}

fn failure(message: String) -> ApiError {
    ApiError::new(500, "", message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(mut object: Value, patch: &Value) -> Result<Value, ApiError> {
        let schema = Schema::builtin("", "v1", "Pod").unwrap();
        strategic(&schema, &mut object, patch)?;
        Ok(object["spec"].take())
    }

    fn pod(containers: &[&str]) -> Value {
        let containers: Vec<Value> = containers
            .iter()
            .map(|name| json!({ "name": name, "image": "i" }))
            .collect();
        json!({ "spec": { "containers": containers, "nodeSelector": { "a": "1" } } })
    }

    fn names(spec: &Value) -> Vec<&str> {
        spec["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn items_merge_by_key_and_new_ones_come_in_the_order_of_the_patch() {
        let patch = json!({ "spec": { "containers": [{ "name": "b", "image": "j" }, { "name": "n" }] } });
        let spec = patched(pod(&["a", "b", "c"]), &patch).unwrap();
        assert_eq!(names(&spec), ["a", "b", "n", "c"]);
        assert_eq!(spec["containers"][1], json!({ "name": "b", "image": "j" }));
    }

    #[test]
    fn directives_delete_replace_and_order() {
        let delete = json!({ "spec": { "containers": [{ "name": "b", "$patch": "delete" }] } });
        assert_eq!(names(&patched(pod(&["a", "b"]), &delete).unwrap()), ["a"]);
        let replace = json!({ "spec": { "containers": [{ "$patch": "replace" }, { "name": "n" }] } });
        assert_eq!(names(&patched(pod(&["a", "b"]), &replace).unwrap()), ["n"]);
        let order = json!({ "spec": { "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }] } });
        assert_eq!(names(&patched(pod(&["a", "b", "c"]), &order).unwrap()), ["b", "c", "a"]);
        let keys = json!({ "spec": { "$retainKeys": ["containers"], "containers": [{ "name": "a" }] } });
        assert!(patched(pod(&["a"]), &keys).unwrap().get("nodeSelector").is_none());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (patch, code, message) in [
            (
                json!({ "spec": { "containers": [{ "image": "x" }] } }),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                json!({ "spec": { "$retainKeys": [], "hostname": "x" } }),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!({ "spec": { "$patch": "sing" } }),
                500,
                "unknown patch type: sing in map: map[$patch:sing]",
            ),
        ] {
            let error = patched(pod(&["a"]), &patch).unwrap_err();
            assert_eq!((error.code, &*error.message), (code, message));
        }
    }
}
