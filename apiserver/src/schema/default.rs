//! Filling in defaults.

use serde_json::{Map, Value};

use super::node::{Node, Property};

/// Sets absent fields that have a default, at every depth; a null where null is no value counts as absent.
pub(super) fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for property in &node.properties {
                let Some(default) = &property.default else { continue };
                if is_absent(map, property) {
                    map.insert((*property.name).to_owned(), default.clone());
                }
            }
            for (key, child) in map {
                if let Some(schema) = node.child(key) {
                    // The shared definitions (metadata) carry defaults for other purposes.
                    if schema.name.is_none() {
                        apply(schema, child);
                    }
                }
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
    match value {
        Value::Object(map) => {
            let defaulted = |property: &&Property| property.default.is_some();
            node.properties
                .iter()
                .filter(defaulted)
                .any(|property| is_absent(map, property))
                || map.iter().any(|(key, child)| {
                    let schema = node.child(key).filter(|schema| schema.name.is_none());
                    schema.is_some_and(|schema| is_missing(schema, child))
                })
        }
        Value::Array(items) => node
            .items
            .as_ref()
            .is_some_and(|schema| items.iter().any(|item| is_missing(schema, item))),
        _ => false,
    }
}

fn is_absent(map: &Map<String, Value>, property: &Property) -> bool {
    match map.get(&*property.name) {
        None => true,
        Some(found) => found.is_null() && !property.node.nullable,
    }
}
