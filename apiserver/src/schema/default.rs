//! Filling in defaults.

use serde_json::{Map, Value};

use super::node::{Node, Property};

/// Sets absent fields that have a default, at every depth; a null where null is no value counts as absent.
pub(super) fn apply(node: &Node, value: &mut Value) {
    if !node.contents.defaults {
        return;
    }
    match value {
        Value::Object(map) => {
            for property in &node.properties {
                if let Some(default) = &property.default
                    && is_absent(map, property)
                {
                    map.insert((*property.name).to_owned(), default.clone());
                }
                if property.node.contents.defaults
                    && let Some(child) = map.get_mut(&*property.name)
                {
                    apply(&property.node, child);
                }
            }
            if let Some(schema) = below_free_keys(node) {
                let free = map.iter_mut().filter(|(key, _)| node.property(key).is_none());
                free.for_each(|(_, child)| apply(schema, child));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for item in items {
                    apply(schema, item);
                }
            }
        }
        _ => {}
    }
}

/// Whether [`apply`] would change the value.
pub(super) fn is_missing(node: &Node, value: &Value) -> bool {
    if !node.contents.defaults {
        return false;
    }
    match value {
        Value::Object(map) => {
            node.properties.iter().any(|property| {
                (property.default.is_some() && is_absent(map, property))
                    || (property.node.contents.defaults
                        && map
                            .get(&*property.name)
                            .is_some_and(|child| is_missing(&property.node, child)))
            }) || below_free_keys(node).is_some_and(|schema| {
                let mut free = map.iter().filter(|(key, _)| node.property(key).is_none());
                free.any(|(_, child)| is_missing(schema, child))
            })
        }
        Value::Array(items) => node
            .items
            .as_ref()
            .is_some_and(|schema| items.iter().any(|item| is_missing(schema, item))),
        _ => false,
    }
}

/// The schema of free keys, where there are defaults in it.
fn below_free_keys(node: &Node) -> Option<&Node> {
    node.additional.as_deref().filter(|schema| schema.contents.defaults)
}

fn is_absent(map: &Map<String, Value>, property: &Property) -> bool {
    match map.get(&*property.name) {
        None => true,
        Some(found) => found.is_null() && !property.node.nullable,
    }
}
