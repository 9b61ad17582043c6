//! The JSONPath of printer columns and selectable fields: dots, brackets, indexes and `[*]`.

use serde_json::Value;

/// The first value that `path` (such as `.spec.ports[0].name`) finds in `object`.
#[must_use]
pub fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    all(object, path).into_iter().next()
}

/// Every value that `path` finds in `object`, in order. A path that does not parse finds nothing.
#[must_use]
pub fn all<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let Some(steps) = parse(path) else { return Vec::new() };
    let mut found = vec![object];
    for step in steps {
        found = found.into_iter().flat_map(|value| take(value, &step)).collect();
    }
    found
}

#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    Index(i64),
    Every,
}

fn take<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match (step, value) {
        (Step::Key(key), value) => value.get(key).into_iter().collect(),
        (Step::Index(index), Value::Array(items)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let index = if *index < 0 { index + length } else { *index };
            usize::try_from(index)
                .ok()
                .and_then(|i| items.get(i))
                .into_iter()
                .collect()
        }
        (Step::Every, Value::Array(items)) => items.iter().collect(),
        (Step::Every, Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, after) = match bracket.strip_prefix('\'') {
                // A quoted key may hold brackets of its own.
                Some(quoted) => {
                    let end = quoted.find("']")?;
                    (Step::Key(quoted[..end].replace("\\.", ".")), &quoted[end + 2..])
                }
                None => {
                    let end = bracket.find(']')?;
                    let inside = &bracket[..end];
                    let step = if inside == "*" {
                        Step::Every
                    } else {
                        Step::Index(inside.parse().ok()?)
                    };
                    (step, &bracket[end + 1..])
                }
            };
            steps.push(inside);
            rest = after;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let mut key = String::new();
        let mut characters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '.' | '[' => {
                    end = at;
                    break;
                }
                '\\' => key.extend(characters.next().map(|(_, c)| c)),
                other => key.push(other),
            }
        }
        if key == "*" {
            steps.push(Step::Every);
        } else if !key.is_empty() {
            steps.push(Step::Key(key));
        } else if end == rest.len() && !rest.is_empty() {
            return None;
        }
        rest = &rest[end..];
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_reach_keys_indexes_and_every_item() {
        let object = json!({"spec": {"a.b": 1, "list": [{"n": 1}, {"n": 2}]}});
        assert_eq!(first(&object, ".spec.list[1].n"), Some(&json!(2)));
        assert_eq!(first(&object, ".spec.list[-1].n"), Some(&json!(2)));
        assert_eq!(all(&object, ".spec.list[*].n"), [&json!(1), &json!(2)]);
        assert_eq!(first(&object, ".spec.a\\.b"), Some(&json!(1)));
        assert_eq!(first(&object, ".spec['a.b']"), Some(&json!(1)));
        assert_eq!(first(&object, ".spec.list[9].n"), None);
    }
}
