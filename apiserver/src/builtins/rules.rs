//! The small language in which defaults are written, and the walk that applies them.

use serde_json::{Map, Value};

use crate::schema::Node;

/// One default of a structure. Paths are relative to the structure: `strategy.type`.
pub(super) enum Rule {
    /// Sets an absent field to a value, written as JSON.
    Set(&'static str, &'static str),
    /// The same, if another field has one of these values.
    SetIf(&'static str, &'static str, &'static str, &'static [&'static str]),
    /// The same, if another field is there.
    SetIfThere(&'static str, &'static str, &'static str),
    /// Sets an absent field to the value of another.
    Copy(&'static str, &'static str),
    /// What depends on more than that.
    Compute(fn(&mut Map<String, Value>)),
}

/// Applies the rules of every structure in `value`, outer ones first.
pub(super) fn apply(node: &Node, value: &mut Value, rules_of: &dyn Fn(&str) -> Option<&'static [Rule]>) {
    match value {
        Value::Object(map) => {
            if let Some(rules) = node.name.and_then(rules_of) {
                for rule in rules {
                    rule.apply(map);
                }
            }
            for (key, child) in map.iter_mut() {
                // Metadata has no defaults and is the largest part of many objects.
                if let Some(schema) = node.child(key).filter(|n| n.name != Some("ObjectMeta")) {
                    apply(schema, child, rules_of);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for item in items {
                    apply(schema, item, rules_of);
                }
            }
        }
        _ => {}
    }
}

impl Rule {
    fn apply(&self, map: &mut Map<String, Value>) {
        let (at, value) = match self {
            Self::Set(at, value) => (at, value),
            Self::SetIf(at, value, other, values) => {
                let holds = find(map, other)
                    .and_then(Value::as_str)
                    .is_some_and(|found| values.contains(&found));
                if !holds {
                    return;
                }
                (at, value)
            }
            Self::SetIfThere(at, value, other) => {
                if find(map, other).is_none() {
                    return;
                }
                (at, value)
            }
            Self::Copy(at, from) => {
                if let Some(value) = find(map, from).cloned() {
                    set(map, at, value);
                }
                return;
            }
            Self::Compute(compute) => return compute(map),
        };
        if find(map, at).is_none() {
            set(map, at, serde_json::from_str(value).unwrap_or_default());
        }
    }
}

/// The value at a path of fields; null counts as absent.
pub(super) fn find<'a>(map: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (head, rest) = path
        .split_once('.')
        .map_or((path, None), |(head, rest)| (head, Some(rest)));
    let value = map.get(head).filter(|v| !v.is_null())?;
    match rest {
        None => Some(value),
        Some(rest) => find(value.as_object()?, rest),
    }
}

/// Sets the value at a path of fields if it is absent, making objects on the way.
pub(super) fn set(map: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((head, rest)) = path.split_once('.') else {
        let found = map.entry(path).or_insert(Value::Null);
        if found.is_null() {
            *found = value;
        }
        return;
    };
    let below = map.entry(head).or_insert_with(|| Value::Object(Map::new()));
    if below.is_null() {
        *below = Value::Object(Map::new());
    }
    if let Value::Object(below) = below {
        set(below, rest, value);
    }
}
