//! An apply configuration merged into an object: maps by key, lists as their schema says.

use serde_json::Value;

use crate::schema::{ListType, Node};

/// Merges `configuration` into `object`.
pub(super) fn configuration(object: &mut Value, configuration: &Value, schema: &Node) {
    match (object, configuration) {
        (Value::Object(fields), Value::Object(wanted)) if !schema.atomic_map => {
            for (name, value) in wanted {
                let node = schema.child(name).map_or(Node::anything(), |child| child);
                self::configuration(fields.entry(name.clone()).or_insert(Value::Null), value, node);
            }
        }
        (Value::Array(items), Value::Array(wanted)) => list(items, wanted, schema),
        (object, wanted) => *object = wanted.clone(),
    }
}

fn list(items: &mut Vec<Value>, wanted: &[Value], schema: &Node) {
    match &schema.list {
        ListType::Atomic => *items = wanted.to_vec(),
        ListType::Set => {
            let new: Vec<Value> = wanted.iter().filter(|value| !items.contains(value)).cloned().collect();
            items.extend(new);
        }
        ListType::Map(keys) => {
            let of_item = schema.items.as_ref().map_or(Node::anything(), |item| item);
            for value in wanted {
                let same = items
                    .iter_mut()
                    .find(|item| keys.iter().all(|key| item[&**key] == value[&**key]));
                match same {
                    Some(item) => configuration(item, value, of_item),
                    None => items.push(value.clone()),
                }
            }
        }
    }
}
