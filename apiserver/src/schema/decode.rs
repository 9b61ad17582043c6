//! Objects of built-in kinds as the real server's types hold them.
//!
//! Decoding into Go types and encoding again is not the identity: nulls and empty optional values vanish, values of
//! required fields appear, quantities and times are respelled. This module does the same from the recorded schemas;
//! what those do not tell (which scalars are behind pointers) is in [`super::go_types`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::node::{Format, Node, Property, Type};
use super::{go, go_types, quantity};

/// Brings `value` into the form in which the server holds it; returns the paths of unknown fields, which are dropped.
///
/// # Errors
/// The words of Go's JSON decoder for the first value of a wrong type.
pub(super) fn decode(node: &Node, value: &mut Value) -> Result<Vec<String>, String> {
    let mut walk = Walk {
        unknown: Vec::new(),
        path: String::new(),
        fields: Vec::new(),
        structure: "",
    };
    walk.value(node, value)?;
    Ok(walk.unknown)
}

struct Walk<'n> {
    unknown: Vec<String>,
    /// Where we are, with indexes and map keys: for unknown fields.
    path: String,
    /// Where we are as Go's decoder says it: field names only.
    fields: Vec<&'n str>,
    structure: &'n str,
}

impl<'n> Walk<'n> {
    fn value(&mut self, node: &'n Node, value: &mut Value) -> Result<(), String> {
        match node.format {
            Format::Quantity => return decode_quantity(value),
            Format::IntOrString => return decode_int_or_string(value),
            Format::Time => return decode_time(value, false),
            Format::MicroTime => return decode_time(value, true),
            Format::Bytes => return self.bytes(value),
            _ => {}
        }
        match (node.kind, &mut *value) {
            (Type::Any, _) => Ok(()),
            (Type::Object, Value::Object(map)) => self.object(node, map),
            (Type::Array, Value::Array(items)) => match &node.items {
                Some(schema) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
                    if item.is_null() {
                        *item = zero(schema);
                        return Ok(());
                    }
                    let length = self.path.len();
                    self.path.push_str(&format!("[{index}]"));
                    let result = self.value(schema, item);
                    self.path.truncate(length);
                    result
                }),
                None => Ok(()),
            },
            (Type::String, Value::String(_)) | (Type::Boolean, Value::Bool(_)) | (Type::Number, Value::Number(_)) => {
                Ok(())
            }
            (Type::Integer, Value::Number(number)) => {
                let fits = match node.format {
                    Format::Int32 => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
                    _ => number.as_i64().is_some(),
                };
                if fits {
                    Ok(())
                } else {
                    Err(self.mismatch(&format!("number {number}"), node))
                }
            }
            (_, found) => Err(self.mismatch(go::json_kind(found), node)),
        }
    }

    fn object(&mut self, node: &'n Node, map: &mut Map<String, Value>) -> Result<(), String> {
        if node.properties.is_empty() {
            let Some(schema) = &node.additional else { return Ok(()) };
            for (key, value) in map.iter_mut() {
                if value.is_null() {
                    *value = zero(schema);
                    continue;
                }
                let length = self.path.len();
                self.path.push('.');
                self.path.push_str(key);
                let result = self.value(schema, value);
                self.path.truncate(length);
                result?;
            }
            return Ok(());
        }
        let (structure, length) = (self.structure, self.path.len());
        for key in map.keys().filter(|key| node.property(key).is_none()) {
            let dot = if length == 0 { "" } else { "." };
            self.unknown.push(format!("{}{dot}{key}", self.path));
        }
        map.retain(|key, value| node.property(key).is_some() && !value.is_null());
        for (key, value) in map.iter_mut() {
            let Some(property) = node.property(key) else { continue };
            self.structure = node.name.unwrap_or(structure);
            self.fields.push(&property.name);
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
            let result = self.value(&property.node, value);
            self.path.truncate(length);
            self.fields.pop();
            result?;
        }
        self.structure = structure;
        let name = node.name.unwrap_or_default();
        map.retain(|key, value| !vanishes(name, key, value, node));
        if go_types::stored_as_protobuf(name) {
            // What is stored as protobuf does not tell an empty list from none.
            let empty = |value: &&mut Value| value.as_array().is_some_and(Vec::is_empty);
            for (_, list) in map.iter_mut().filter(|(key, _)| *key != "managedFields") {
                if empty(&list) {
                    *list = Value::Null;
                }
            }
        }
        for property in &node.properties {
            fill(name, node, property, map);
        }
        Ok(())
    }

    fn bytes(&self, value: &mut Value) -> Result<(), String> {
        let Value::String(text) = value else {
            return Err(self.mismatch_of(go::json_kind(value), "[]uint8"));
        };
        let plain: String = text.chars().filter(|c| *c != '\n' && *c != '\r').collect();
        match STANDARD.decode(&plain) {
            Ok(bytes) => {
                *text = STANDARD.encode(bytes);
                Ok(())
            }
            Err(_) => Err(format!("illegal base64 data at input byte {}", bad_base64_byte(&plain))),
        }
    }

    fn mismatch(&self, found: &str, node: &Node) -> String {
        self.mismatch_of(found, &go_types::type_name(node))
    }

    fn mismatch_of(&self, found: &str, expected: &str) -> String {
        if self.fields.is_empty() {
            return format!("json: cannot unmarshal {found} into Go value of type {expected}");
        }
        let path = self.fields.join(".");
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{path} of type {expected}",
            self.structure
        )
    }
}

/// Whether Go's encoder leaves the field out: it is empty and its type says `omitempty`.
fn vanishes(structure: &str, key: &str, value: &Value, node: &Node) -> bool {
    let required = node.required.iter().any(|name| &**name == key);
    let property = node.property(key);
    let written = go_types::always_written(structure, key, required);
    match value {
        // An empty list of owners says something: that ownership is to be forgotten.
        Value::Array(_) if key == "managedFields" => false,
        Value::Array(items) => items.is_empty() && !written,
        Value::Object(map) => {
            // Empty maps vanish, empty structures stay.
            let is_map = property.is_some_and(|p| p.node.properties.is_empty() && p.node.additional.is_some());
            map.is_empty() && is_map && !written
        }
        Value::String(text) => text.is_empty() && !written && !go_types::is_pointer(structure, key),
        Value::Bool(false) => !written && go_types::is_plain(structure, key),
        Value::Number(number) => number.as_i64() == Some(0) && !written && go_types::is_plain(structure, key),
        _ => false,
    }
}

/// Writes an absent field whose type has no `omitempty`, or is a structure in place.
fn fill(structure: &str, node: &Node, property: &Property, map: &mut Map<String, Value>) {
    if map.contains_key(&*property.name) {
        return;
    }
    let required = node.required.contains(&property.name);
    let written = go_types::always_written(structure, &property.name, required);
    let value = match &property.default {
        Some(Value::Object(_)) => {
            let mut inner = Map::new();
            let name = property.node.name.unwrap_or_default();
            for below in &property.node.properties {
                fill(name, &property.node, below, &mut inner);
            }
            Value::Object(inner)
        }
        Some(default) if written => default.clone(),
        None if written && property.node.kind == Type::Array => Value::Null,
        None if written && matches!(property.node.format, Format::Time | Format::MicroTime) => Value::Null,
        None if written && property.node.kind == Type::String => "".into(),
        _ => return,
    };
    map.insert((*property.name).to_owned(), value);
}

/// What a null becomes where a value must stand.
fn zero(node: &Node) -> Value {
    match node.kind {
        Type::String => "".into(),
        Type::Integer | Type::Number => 0.into(),
        Type::Boolean => false.into(),
        Type::Object if node.properties.is_empty() => Value::Null,
        Type::Object => {
            let mut map = Map::new();
            for property in &node.properties {
                fill(node.name.unwrap_or_default(), node, property, &mut map);
            }
            Value::Object(map)
        }
        Type::Any if node.format == Format::Quantity => "0".into(),
        _ => Value::Null,
    }
}

fn decode_quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) if text.is_empty() => "0".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match quantity::canonical(&text) {
        Some(canonical) => *value = canonical.into(),
        None => return Err(quantity::MALFORMED.to_owned()),
    }
    Ok(())
}

fn decode_int_or_string(value: &mut Value) -> Result<(), String> {
    let found = match value {
        Value::String(_) => return Ok(()),
        Value::Number(n) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => return Ok(()),
        Value::Number(n) => format!("number {n}"),
        other => go::json_kind(other).to_owned(),
    };
    Err(format!("json: cannot unmarshal {found} into Go value of type int32"))
}

fn decode_time(value: &mut Value, micro: bool) -> Result<(), String> {
    let Value::String(text) = value else {
        let found = go::json_kind(value);
        return Err(format!("json: cannot unmarshal {found} into Go value of type string"));
    };
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    let refused = |rest: &str, wanted: &str| {
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"
        ))
    };
    let Some(seconds) = text.get(..19).filter(|head| head.as_bytes()[10] == b'T') else {
        return refused(text, "2006");
    };
    let rest = &text[seconds.len()..];
    let digits = rest
        .strip_prefix('.')
        .map_or(0, |r| r.bytes().take_while(u8::is_ascii_digit).count());
    if micro && digits < 6 {
        return refused(rest, ".000000");
    }
    if micro && digits > 6 {
        return refused(&rest[7..], "Z07:00");
    }
    let Ok(time) = text.parse::<Timestamp>() else {
        return refused(text, "2006");
    };
    let format = if micro {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    *text = time.strftime(format).to_string();
    Ok(())
}

/// The byte at which Go's decoder stops.
fn bad_base64_byte(text: &str) -> usize {
    let valid = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    let first = text.bytes().position(|b| !valid(b)).unwrap_or(text.len());
    // Padding in a place where it may stand is not yet the fault.
    if text.as_bytes().get(first) == Some(&b'=') && first % 4 >= 2 {
        let padding = 4 - first % 4;
        let complete = text.bytes().skip(first).take(padding).all(|b| b == b'=') && text.len() >= first + padding;
        return if complete { first + padding } else { text.len() };
    }
    first
}
