//! Removing a set of fields from an object.

use serde_json::Value;

use super::set::FieldSet;
use super::shape::{Atom, Shape};

/// `value` without the fields of `set`. A map or list below which something was to be removed and that is left
/// empty becomes null, as on the real server.
pub(super) fn remove(shape: Shape<'_>, value: &Value, set: &FieldSet) -> Value {
    match (shape.atom(Some(value)), value) {
        (Atom::Map(map), Value::Object(fields)) if !map.atomic => {
            let mut kept = serde_json::Map::new();
            for (key, field) in fields {
                let (member, below) = set.at_field(key).unwrap_or((false, &NOTHING));
                if member {
                    continue;
                }
                let field = if below.is_empty() {
                    field.clone()
                } else {
                    let (shape, _) = map.field(key).unwrap_or((Shape::Deduced, false));
                    remove(shape, field, below)
                };
                kept.insert(key.clone(), field);
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        (Atom::List(list), Value::Array(items)) if !list.is_atomic() => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                let found = list.element(item).ok().and_then(|element| set.at(&element));
                let (member, below) = found.unwrap_or((false, &NOTHING));
                if !member {
                    kept.push(if below.is_empty() {
                        item.clone()
                    } else {
                        remove(list.items, item, below)
                    });
                }
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Atom::Scalar(_), value) => value.clone(),
        // Nothing can be removed below an atomic value: asking for it removes all.
        _ => Value::Null,
    }
}

static NOTHING: FieldSet = FieldSet::new();
