//! Values of the API as values of the language, and back.

#![expect(
    clippy::disallowed_types,
    reason = "the language's own type of a map; rules that list its keys are the author's"
)]

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::{Key, Map};
use serde_json::{Number, Value};

use crate::schema::{Node, Type};

/// The value, typed by the schema where there is one.
pub(super) fn from_json(json: &Value, schema: Option<&Node>) -> CelValue {
    match json {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::Number(number) => from_number(number, schema),
        Value::String(text) => from_text(text, schema),
        Value::Array(items) => {
            let item = schema.and_then(|schema| schema.items.as_ref()).map(|item| &**item);
            CelValue::List(Arc::new(items.iter().map(|value| from_json(value, item)).collect()))
        }
        Value::Object(fields) => {
            let map: HashMap<Key, CelValue> = fields
                .iter()
                .map(|(name, value)| {
                    if name == "metadata" && schema.is_some_and(|schema| schema.embedded) {
                        return (Key::String(Arc::new(name.clone())), names_of(value));
                    }
                    let of_field = schema.and_then(|schema| schema.child(name)).map(|field| &**field);
                    let declared = schema.is_some_and(|schema| schema.property(name).is_some());
                    let seen = if declared { escaped(name) } else { name.clone() };
                    (Key::String(Arc::new(seen)), from_json(value, of_field))
                })
                .collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

/// What rules see of the metadata of a whole object: its name and what that was made from.
fn names_of(metadata: &Value) -> CelValue {
    let seen: HashMap<Key, CelValue> = ["name", "generateName"]
        .into_iter()
        .filter_map(|field| {
            let value = metadata.get(field)?.as_str()?;
            let key = Key::String(Arc::new(field.to_owned()));
            Some((key, CelValue::String(Arc::new(value.to_owned()))))
        })
        .collect();
    CelValue::Map(Map { map: Arc::new(seen) })
}

/// Words that the language keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a property as expressions write it: `a-b` is `a__dash__b`.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    if name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return name.to_owned();
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// The value as JSON.
///
/// # Errors
///
/// The kind of a value that JSON cannot hold.
pub(super) fn to_json(value: &CelValue) -> Result<Value, String> {
    Ok(match value {
        CelValue::Null => Value::Null,
        CelValue::Bool(value) => (*value).into(),
        CelValue::Int(value) => (*value).into(),
        CelValue::UInt(value) => (*value).into(),
        CelValue::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
        CelValue::String(text) => text.as_str().into(),
        CelValue::List(items) => items.iter().map(to_json).collect::<Result<Value, _>>()?,
        CelValue::Map(map) => {
            let fields = map.map.iter().map(|(key, value)| Ok((key_text(key), to_json(value)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        CelValue::Timestamp(time) => time.to_rfc3339().into(),
        CelValue::Duration(duration) => format!("{}s", duration.num_seconds()).into(),
        other => return Err(format!("a value of type {} has no JSON form", other.type_of())),
    })
}

fn key_text(key: &Key) -> String {
    match key {
        Key::String(text) => text.to_string(),
        Key::Int(number) => number.to_string(),
        Key::Uint(number) => number.to_string(),
        Key::Bool(value) => value.to_string(),
    }
}

fn from_number(number: &Number, schema: Option<&Node>) -> CelValue {
    let double = schema.is_some_and(|schema| schema.kind == Type::Number);
    match number.as_i64() {
        Some(whole) if !double => CelValue::Int(whole),
        _ => CelValue::Float(number.as_f64().unwrap_or_default()),
    }
}

fn from_text(text: &str, schema: Option<&Node>) -> CelValue {
    let format = schema
        .and_then(|schema| schema.validations.as_ref())
        .and_then(|v| v.format.as_deref());
    let typed = match format {
        Some("date-time") => text.parse().ok().map(CelValue::Timestamp),
        Some("date") => format!("{text}T00:00:00Z").parse().ok().map(CelValue::Timestamp),
        Some("duration") => duration(text).map(CelValue::Duration),
        _ => None,
    };
    typed.unwrap_or_else(|| CelValue::String(Arc::new(text.to_owned())))
}

/// A duration in Go's form, such as `1h30m`.
fn duration(text: &str) -> Option<chrono::Duration> {
    let (negative, mut rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut nanoseconds = 0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let units: [(&str, f64); 7] = [
            ("ns", 1.0),
            ("us", 1e3),
            ("µs", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("m", 6e10),
            ("h", 3.6e12),
        ];
        let (unit, size) = units.into_iter().find(|(unit, _)| {
            let after = rest[digits..].strip_prefix(unit);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphabetic()))
        })?;
        nanoseconds += amount * size;
        rest = &rest[digits + unit.len()..];
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the language's durations are whole nanoseconds"
    )]
    let whole = nanoseconds as i64;
    Some(chrono::Duration::nanoseconds(if negative { -whole } else { whole }))
}
