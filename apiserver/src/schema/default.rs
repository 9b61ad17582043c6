//! Filling in defaults.

use serde_json::Value;

use super::node::Node;

/// Sets absent fields that have a default, at every depth; a null where null is no value counts as absent.
pub(super) fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for property in &node.properties {
                let Some(default) = &property.default else { continue };
                let absent = match map.get(&*property.name) {
                    None => true,
                    Some(found) => found.is_null() && !property.node.nullable,
                };
                if absent {
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
