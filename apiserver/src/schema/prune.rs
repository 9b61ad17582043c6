//! Dropping the fields that a schema does not know.

use serde_json::Value;

use super::node::{Node, Type};

/// Drops what `node` does not know from `value`; returns the dropped paths, sorted within each object.
pub(super) fn prune(node: &Node, value: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(node, value, &mut String::new(), false, &mut dropped);
    dropped
}

fn walk(node: &Node, value: &mut Value, path: &mut String, keep: bool, dropped: &mut Vec<String>) {
    let keep = keep_below(node, keep);
    let length = path.len();
    match value {
        Value::Object(map) => {
            if !keep && node.additional.is_none() {
                map.retain(|key, _| {
                    let known = node.property(key).is_some();
                    if !known {
                        dropped.push(joined(path, key));
                    }
                    known
                });
            }
            for (key, child) in map {
                if let Some(schema) = node.child(key) {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                    walk(schema, child, path, keep_inherited(node, keep), dropped);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            for (index, item) in items.iter_mut().enumerate() {
                path.push_str(&format!("[{index}]"));
                walk(schema, item, path, false, dropped);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Whether unknown fields of this node stay.
fn keep_below(node: &Node, keep: bool) -> bool {
    keep || node.preserve_unknown || (node.kind == Type::Any && node.properties.is_empty())
}

/// A schema below a preserving one that says nothing itself preserves, too; one with properties of its own prunes.
fn keep_inherited(_node: &Node, _keep: bool) -> bool {
    false
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
