//! Dropping the fields that a structural schema does not know, and typing the metadata of whole objects.

use std::fmt::Write as _;

use serde_json::Value;

use super::decode;
use super::node::{Node, Type};

/// Writes numbers without a fraction as whole ones, as the real server does.
pub(super) fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // Every i64 within this range is exactly one f64.
            let whole = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0);
            if let Some(whole) = whole {
                *value = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// What pruning dropped, as warnings name it: fields of the schema first, then fields of metadata.
#[derive(Default)]
pub(super) struct Pruned {
    fields: Vec<String>,
    metadata: Vec<String>,
    /// Why the metadata of an object does not decode.
    error: Option<String>,
}

impl Pruned {
    /// The dropped paths, each group sorted.
    pub(super) fn paths(mut self) -> Vec<String> {
        self.fields.sort();
        self.metadata.sort();
        self.fields.extend(self.metadata);
        self.fields
    }

    /// The dropped paths, or why metadata does not decode.
    pub(super) fn checked(self) -> Result<Vec<String>, String> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.paths()),
        }
    }
}

/// Drops what `node` does not know from `value`. With `nulls`, drops nulls where null is no value, too.
pub(super) fn prune(node: &Node, value: &mut Value, nulls: bool) -> Pruned {
    let mut walk = Walk {
        path: String::new(),
        nulls,
        pruned: Pruned::default(),
    };
    walk.visit(node, value);
    walk.pruned
}

struct Walk {
    path: String,
    nulls: bool,
    pruned: Pruned,
}

impl Walk {
    fn visit(&mut self, node: &Node, value: &mut Value) {
        let length = self.path.len();
        match value {
            Value::Object(map) => {
                let keeps = node.preserve_unknown || (node.kind == Type::Any && node.properties.is_empty());
                let mut properties = node.in_order();
                let mut unwanted: Vec<String> = Vec::new();
                for (key, child) in map.iter_mut() {
                    let declared = properties.find(key).map(|property| &property.node);
                    let Some(schema) = declared.or(node.additional.as_ref()) else {
                        if !keeps {
                            self.pruned.fields.push(joined(&self.path, key));
                            unwanted.push(key.clone());
                        }
                        continue;
                    };
                    if self.nulls && child.is_null() && !takes_null(schema) {
                        unwanted.push(key.clone());
                        continue;
                    }
                    // Nothing can be dropped from a scalar.
                    let metadata = schema.name.is_some();
                    if !metadata && !child.is_object() && !child.is_array() {
                        continue;
                    }
                    if length > 0 {
                        self.path.push('.');
                    }
                    self.path.push_str(key);
                    if metadata {
                        self.metadata(schema, child);
                    } else {
                        self.visit(schema, child);
                    }
                    self.path.truncate(length);
                }
                for key in unwanted {
                    map.remove(&key);
                }
            }
            Value::Array(items) => {
                let Some(schema) = &node.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    // Writing to a string does not fail.
                    let _ = write!(self.path, "[{index}]");
                    self.visit(schema, item);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The metadata of the object itself or of one embedded in it, typed as for built-in kinds.
    fn metadata(&mut self, node: &Node, value: &mut Value) {
        let before = (self.path != "metadata").then(|| value.clone());
        match decode::decode(node, value) {
            Ok(unknown) => self
                .pruned
                .metadata
                .extend(unknown.iter().map(|key| joined(&self.path, key))),
            Err(error) => {
                let error = match before {
                    Some(before) => format!("{}: Invalid value: {before}: {error}", self.path),
                    None => error,
                };
                self.pruned.error.get_or_insert(error);
            }
        }
    }
}

fn takes_null(schema: &Node) -> bool {
    schema.nullable || schema.preserve_unknown || schema.name.is_some()
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
