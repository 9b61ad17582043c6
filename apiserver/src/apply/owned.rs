//! The fields that an applied object sets.

use serde_json::Value;

use super::element::Element;
use super::set::FieldSet;
use super::shape::{Atom, Shape};

/// The set of fields of `value`: its leaves, its empty maps, the keys of free maps and the items of associative
/// lists. Items that nothing tells apart are left out.
pub(super) fn fields(shape: Shape<'_>, value: &Value) -> FieldSet {
    below(shape, value).1
}

/// Whether the place itself is a field, and the fields below it.
fn below(shape: Shape<'_>, value: &Value) -> (bool, FieldSet) {
    let mut set = FieldSet::new();
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(_) | Atom::Whole, _) => return (true, set),
        (Atom::Map(map), _) if map.atomic => return (true, set),
        (Atom::List(list), _) if list.is_atomic() => return (true, set),
        (Atom::Map(map), Value::Object(fields)) => {
            for (key, value) in fields {
                let step = map.step(key);
                let (leaf, children) = below(step.shape, value);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                set.push(Element::Field(step.name), leaf || empty || !step.declared, children);
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            for item in items {
                let Ok(key) = list.key(item) else { continue };
                let (_, children) = below(list.items, item);
                set.push(key.element(), true, children);
            }
        }
        _ => {}
    }
    (false, set)
}
