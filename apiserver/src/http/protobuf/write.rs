use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::MAGIC;
use super::table::{Field, Kind, Many, TABLE, schema};

/// A value as `k8s\0` and a `runtime.Unknown`.
pub(super) fn body(object: &Value) -> Option<Vec<u8>> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let message = TABLE.of_kind(api_version, kind)?;
    let mut meta = Vec::new();
    bytes(&mut meta, 1, api_version.as_bytes());
    bytes(&mut meta, 2, kind.as_bytes());
    let mut body = MAGIC.to_vec();
    bytes(&mut body, 1, &meta);
    bytes(&mut body, 2, &fields(message, object));
    bytes(&mut body, 3, b"");
    bytes(&mut body, 4, b"");
    Some(body)
}

/// A `WatchEvent` around an encoded object.
pub(super) fn event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::new();
    bytes(&mut raw, 1, object);
    let mut event = Vec::new();
    bytes(&mut event, 1, kind.as_bytes());
    bytes(&mut event, 2, &raw);
    event
}

fn fields(message: &str, object: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for field in TABLE.fields(message) {
        if let Kind::Inline(inner) = &field.kind {
            let inner = fields(inner, object);
            if !inner.is_empty() {
                bytes(&mut out, field.number, &inner);
            }
            continue;
        }
        match object.get(&field.name) {
            None | Some(Value::Null) => {}
            Some(value) => put(field, value, &mut out),
        }
    }
    out
}

fn put(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match field.many {
        Many::Once => one(field.number, &field.kind, value, out),
        Many::List => {
            for item in value.as_array().into_iter().flatten() {
                one(field.number, &field.kind, item, out);
            }
        }
        Many::Map => {
            for (key, item) in value.as_object().into_iter().flatten() {
                let mut entry = Vec::new();
                bytes(&mut entry, 1, key.as_bytes());
                one(2, &field.kind, item, &mut entry);
                bytes(out, field.number, &entry);
            }
        }
    }
}

fn one(number: u64, kind: &Kind, value: &Value, out: &mut Vec<u8>) {
    let text = || value.as_str().unwrap_or_default();
    match kind {
        Kind::Text => bytes(out, number, text().as_bytes()),
        // What is stored as base64 was checked when it came in.
        Kind::Bytes => bytes(out, number, &STANDARD.decode(text()).unwrap_or_default()),
        Kind::Bool => varint_field(out, number, u64::from(value.as_bool().unwrap_or_default())),
        Kind::Integer => varint_field(out, number, value.as_i64().unwrap_or_default().cast_unsigned()),
        Kind::Double => {
            varint(out, number << 3 | 1);
            out.extend_from_slice(&value.as_f64().unwrap_or_default().to_bits().to_le_bytes());
        }
        Kind::Texts => {
            let mut inner = Vec::new();
            for item in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                bytes(&mut inner, 1, item.as_bytes());
            }
            bytes(out, number, &inner);
        }
        Kind::Time | Kind::MicroTime => {
            let mut inner = Vec::new();
            if let Ok(at) = text().parse::<Timestamp>() {
                varint_field(&mut inner, 1, at.as_second().cast_unsigned());
                let nanos = i64::from(at.subsec_nanosecond());
                varint_field(&mut inner, 2, nanos.cast_unsigned());
            }
            bytes(out, number, &inner);
        }
        Kind::Duration => {
            let nanos = text()
                .strip_suffix("ns")
                .and_then(|n| n.parse::<i64>().ok())
                .unwrap_or_default();
            let mut inner = Vec::new();
            varint_field(&mut inner, 1, nanos.cast_unsigned());
            bytes(out, number, &inner);
        }
        Kind::Quantity => {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let mut inner = Vec::new();
            bytes(&mut inner, 1, shown.as_bytes());
            bytes(out, number, &inner);
        }
        Kind::IntOrString => {
            let mut inner = Vec::new();
            let as_text = value.as_str();
            varint_field(&mut inner, 1, u64::from(as_text.is_some()));
            varint_field(&mut inner, 2, value.as_i64().unwrap_or_default().cast_unsigned());
            bytes(&mut inner, 3, as_text.unwrap_or_default().as_bytes());
            bytes(out, number, &inner);
        }
        Kind::Json => {
            let mut inner = Vec::new();
            bytes(&mut inner, 1, value.to_string().as_bytes());
            bytes(out, number, &inner);
        }
        Kind::SchemaOrBool => {
            let mut inner = Vec::new();
            varint_field(&mut inner, 1, u64::from(value.as_bool().unwrap_or(true)));
            if value.is_object() {
                one(2, &schema(), value, &mut inner);
            }
            bytes(out, number, &inner);
        }
        Kind::SchemaOrArray | Kind::SchemaOrNames => {
            let mut inner = Vec::new();
            match value {
                Value::Array(items) => {
                    for item in items {
                        match item.as_str() {
                            Some(name) => bytes(&mut inner, 2, name.as_bytes()),
                            None => one(2, &schema(), item, &mut inner),
                        }
                    }
                }
                other => one(1, &schema(), other, &mut inner),
            }
            bytes(out, number, &inner);
        }
        Kind::Message(message) | Kind::Inline(message) => bytes(out, number, &fields(message, value)),
    }
}

fn bytes(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

fn varint_field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
