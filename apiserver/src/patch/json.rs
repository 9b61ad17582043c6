//! JSON patch (RFC 6902) as the real server applies it, its departures from the RFC included: `replace` of a missing
//! key adds it, `copy` from a missing key copies null, a `test` for null holds where nothing is, and negative
//! indexes count from the end.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::http::json::MOST_LEVELS;
use crate::schema::go;

/// The most operations that one patch may hold.
const MOST_OPERATIONS: usize = 10_000;

/// Applies the operations of `patch` to `target`, in order. On an error `target` is left half patched.
///
/// # Errors
/// 400 when the patch is not a list of operations, 413 when it holds more than 10 000, 422 when one does not apply.
pub fn json(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let mut work = Work(MOST_WORK);
    for operation in decode(patch)? {
        apply(target, operation, &mut work).ok_or_else(rejected)?;
    }
    Ok(())
}

/// How many values the operations of one patch may copy and move together, each with all below it.
const MOST_WORK: usize = 1_000_000;

/// What a patch may still do. Copies can double an object with each operation, and moves wrap it level by level.
struct Work(usize);

impl Work {
    /// Whether `value` may go to `path`.
    fn allows(&mut self, path: &str, value: &Value) -> Option<()> {
        self.spend(value, path.matches('/').count())
    }

    fn spend(&mut self, value: &Value, level: usize) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        if level > MOST_LEVELS {
            return None;
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.spend(item, level + 1)),
            Value::Object(map) => map.values().try_for_each(|value| self.spend(value, level + 1)),
            _ => Some(()),
        }
    }

    /// Whether items of a list may be shifted: thirty-two cost as much as one value.
    fn shift(&mut self, items: usize) -> Option<()> {
        self.0 = self.0.checked_sub(items / 32)?;
        Some(())
    }
}

fn decode(patch: &Value) -> Result<Vec<&Map<String, Value>>, ApiError> {
    let wrong = |value: &Value, target: &str| {
        let kind = go::json_kind(value);
        ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go {target}"
        ))
    };
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(wrong(other, "value of type []handlers.jsonPatchOp")),
    };
    let mut decoded = Vec::with_capacity(operations.len().min(MOST_OPERATIONS));
    for operation in operations {
        let Value::Object(fields) = operation else {
            return Err(wrong(operation, "value of type handlers.jsonPatchOp"));
        };
        for name in ["op", "path", "from"] {
            if let Some(value) = fields.get(name).filter(|v| !v.is_string() && !v.is_null()) {
                return Err(wrong(value, &format!("struct field jsonPatchOp.{name} of type string")));
            }
        }
        decoded.push(fields);
    }
    if decoded.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            decoded.len()
        );
        return Err(ApiError::new(413, "RequestEntityTooLarge", message));
    }
    Ok(decoded)
}

fn apply(target: &mut Value, operation: &Map<String, Value>, work: &mut Work) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    let path = text("path")?;
    match text("op")? {
        "add" => add(target, path, value(), work),
        "remove" => remove(target, path, work).map(|_| ()),
        "replace" if path.is_empty() => {
            *target = operation
                .get("value")
                .filter(|v| v.is_object() || v.is_array())?
                .clone();
            Some(())
        }
        "replace" => {
            work.allows(path, operation.get("value").unwrap_or(&Value::Null))?;
            let (container, key) = find(target, path)?;
            match container {
                Value::Object(map) => {
                    map.insert(key, value());
                }
                Value::Array(items) => {
                    let index = existing_index(items.len(), &key)?;
                    items[index] = value();
                }
                _ => return None,
            }
            Some(())
        }
        "move" => {
            let moved = remove(target, text("from")?, work)?;
            add(target, path, moved, work)
        }
        "copy" => {
            let (container, key) = find(target, text("from")?)?;
            let copied = get(container, &key)?.unwrap_or(&Value::Null);
            work.allows(path, copied)?;
            let copied = copied.clone();
            add(target, path, copied, work)
        }
        "test" => {
            let expected = operation.get("value").unwrap_or(&Value::Null);
            if path.is_empty() {
                return (target == expected).then_some(());
            }
            let (container, key) = find(target, path)?;
            let found = get(container, &key)?.unwrap_or(&Value::Null);
            (found == expected).then_some(())
        }
        _ => None,
    }
}

fn add(target: &mut Value, path: &str, value: Value, work: &mut Work) -> Option<()> {
    work.allows(path, &value)?;
    let (container, key) = find(target, path)?;
    match container {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            // One past the end is a place to insert at, so negative indexes count from there.
            let index = existing_index(items.len() + 1, &key)?;
            work.shift(items.len() - index)?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(target: &mut Value, path: &str, work: &mut Work) -> Option<Value> {
    let (container, key) = find(target, path)?;
    match container {
        Value::Object(map) => map.remove(&key),
        Value::Array(items) => {
            let index = existing_index(items.len(), &key)?;
            work.shift(items.len() - index)?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

/// The container that the last step of `path` is in, and that step. What stands before the first slash is ignored.
fn find<'a>(target: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (_, steps) = path.split_once('/')?;
    let (parents, last) = steps
        .rsplit_once('/')
        .map_or((None, steps), |(parents, last)| (Some(parents), last));
    let mut container = target;
    for step in parents.into_iter().flat_map(|p| p.split('/')) {
        let step = unescape(step);
        container = match container {
            Value::Object(map) => map.get_mut(&step)?,
            Value::Array(items) => {
                let index = existing_index(items.len(), &step)?;
                &mut items[index]
            }
            _ => return None,
        };
    }
    (container.is_object() || container.is_array()).then(|| (container, unescape(last)))
}

/// What stands under `key`; `Some(None)` for a missing key of an object, `None` for a bad index of a list.
fn get<'a>(container: &'a Value, key: &str) -> Option<Option<&'a Value>> {
    match container {
        Value::Object(map) => Some(map.get(key)),
        Value::Array(items) => Some(items.get(existing_index(items.len(), key)?)),
        _ => None,
    }
}

fn existing_index(length: usize, key: &str) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    (0..length).contains(&index).then_some(usize::try_from(index).ok()?)
}

/// Undoes `~1` and `~0` in one pass, so that `~01` is `~1`.
fn unescape(step: &str) -> String {
    if !step.contains('~') {
        return step.to_owned();
    }
    let mut plain = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        plain.push_str(&rest[..at]);
        let (character, length) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        plain.push(character);
        rest = &rest[at + length..];
    }
    plain + rest
}

fn rejected() -> ApiError {
    let mut error = ApiError::new(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    );
    error.details = Some(Box::new(Value::Object(Map::new())));
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    fn patched(mut object: Value, patch: &Value) -> Result<Value, u16> {
        json(&mut object, patch).map(|()| object).map_err(|e| e.code)
    }

    #[test]
    fn operations_apply_in_order() {
        let patch = value!([
            {"op": "add", "path": "/list/-", "value": 3},
            {"op": "add", "path": "/list/-1", "value": 4},
            {"op": "remove", "path": "/list/-4"},
            {"op": "replace", "path": "/new", "value": true},
            {"op": "copy", "from": "/none", "path": "/null"},
            {"op": "move", "from": "/old", "path": "/moved"},
            {"op": "test", "path": "/nothing", "value": null},
        ]);
        let result = patched(value!({"list": [1, 2], "old": "x"}), &patch);
        assert_eq!(
            result,
            Ok(value!({"list": [2, 3, 4], "new": true, "null": null, "moved": "x"}))
        );
    }

    #[test]
    fn what_does_not_apply_is_422() {
        for operation in [
            value!({"op": "remove", "path": "/x"}),
            value!({"op": "add", "path": "/x/y", "value": 1}),
            value!({"op": "add", "path": "/list/3", "value": 1}),
            value!({"op": "add", "path": "list", "value": 1}),
            value!({"op": "move", "from": "/x", "path": "/y"}),
            value!({"op": "sing", "path": "/list"}),
            value!({"path": "/list"}),
        ] {
            assert_eq!(
                patched(value!({"list": [1]}), &value!([operation])),
                Err(422),
                "{operation}"
            );
        }
    }

    #[test]
    fn what_is_no_list_of_operations_is_400() {
        for patch in [value!({}), value!("x"), value!([1]), value!([{"op": 1}])] {
            assert_eq!(patched(value!({}), &patch), Err(400), "{patch}");
        }
    }
}
