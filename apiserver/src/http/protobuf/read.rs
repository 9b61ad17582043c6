use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use super::MAGIC;
use super::table::{Field, Kind, Many, TABLE, schema};

/// How deep messages may nest.
const MAX_DEPTH: usize = 100;

type Read<T> = Result<T, String>;

/// Reads a protobuf body into a JSON value with apiVersion and kind.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode(body: &[u8]) -> Read<Value> {
    let Some(unknown) = body.strip_prefix(MAGIC) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned(),
        );
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for part in parts(unknown) {
        match part? {
            (1, Wire::Bytes(meta)) => {
                for part in parts(meta) {
                    match part? {
                        (1, Wire::Bytes(text)) => api_version = utf8(text)?,
                        (2, Wire::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let Some(message) = TABLE.of_kind(&api_version, &kind) else {
        return Err(format!("no kind {kind:?} is registered for version {api_version:?}"));
    };
    let mut fields = Map::new();
    read(message, raw, &mut fields, 0)?;
    fields.insert("apiVersion".to_owned(), api_version.into());
    fields.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(fields))
}

enum Wire<'a> {
    Varint(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

fn read(message: &str, bytes: &[u8], into: &mut Map<String, Value>, depth: usize) -> Read<()> {
    if depth > MAX_DEPTH {
        return Err("messages are nested too deeply".to_owned());
    }
    for part in parts(bytes) {
        let (number, wire) = part?;
        // Fields of a later version are skipped, as protobuf demands.
        let Some(field) = TABLE.fields(message).iter().find(|field| field.number == number) else {
            continue;
        };
        put(field, wire, into, depth)?;
    }
    Ok(())
}

fn put(field: &Field, wire: Wire<'_>, into: &mut Map<String, Value>, depth: usize) -> Read<()> {
    let name = &field.name;
    match field.many {
        Many::Map => {
            let Wire::Bytes(entry) = wire else {
                return Err(mismatch(name));
            };
            let (mut key, mut item) = (String::new(), None);
            for part in parts(entry) {
                match part? {
                    (1, Wire::Bytes(text)) => key = utf8(text)?,
                    (2, wire) => item = Some(value(&field.kind, name, wire, depth)?),
                    _ => {}
                }
            }
            let item = match item {
                Some(item) => item,
                None => value(&field.kind, name, Wire::Bytes(&[]), depth).unwrap_or(Value::Null),
            };
            let map = into.entry(name.clone()).or_insert_with(|| json!({}));
            map[key] = item;
        }
        Many::List => {
            let item = value(&field.kind, name, wire, depth)?;
            let list = into.entry(name.clone()).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(item);
            }
        }
        Many::Once => {
            if let Kind::Inline(message) = &field.kind {
                let Wire::Bytes(bytes) = wire else {
                    return Err(mismatch(name));
                };
                return read(message, bytes, into, depth + 1);
            }
            into.insert(name.clone(), value(&field.kind, name, wire, depth)?);
        }
    }
    Ok(())
}

fn value(kind: &Kind, name: &str, wire: Wire<'_>, depth: usize) -> Read<Value> {
    Ok(match (kind, wire) {
        (Kind::Text, Wire::Bytes(bytes)) => utf8(bytes)?.into(),
        (Kind::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Kind::Bool, Wire::Varint(number)) => (number != 0).into(),
        (Kind::Integer, Wire::Varint(number)) => number.cast_signed().into(),
        (Kind::Double, Wire::Fixed(bits)) => Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number),
        (Kind::Texts, Wire::Bytes(bytes)) => texts(bytes)?.into(),
        (Kind::Time, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        (Kind::MicroTime, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ")?,
        (Kind::Duration, Wire::Bytes(bytes)) => {
            let nanos = parts(bytes).find_map(|part| match part {
                Ok((1, Wire::Varint(number))) => Some(number.cast_signed()),
                _ => None,
            });
            format!("{}ns", nanos.unwrap_or_default()).into()
        }
        (Kind::Quantity, Wire::Bytes(bytes)) => first_text(bytes)?.into(),
        (Kind::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (Kind::Json, Wire::Bytes(bytes)) => json_in(bytes)?,
        (Kind::SchemaOrBool, Wire::Bytes(bytes)) => {
            let mut shown = Value::Bool(false);
            for part in parts(bytes) {
                match part? {
                    (1, Wire::Varint(allows)) => shown = (allows != 0).into(),
                    (2, wire) => return value(&schema(), name, wire, depth),
                    _ => {}
                }
            }
            shown
        }
        (Kind::SchemaOrArray | Kind::SchemaOrNames, Wire::Bytes(bytes)) => {
            let names = matches!(kind, Kind::SchemaOrNames);
            let mut list = Vec::new();
            for part in parts(bytes) {
                match part? {
                    (1, wire) => return value(&schema(), name, wire, depth),
                    (2, Wire::Bytes(text)) if names => list.push(utf8(text)?.into()),
                    (2, wire) => list.push(value(&schema(), name, wire, depth)?),
                    _ => {}
                }
            }
            Value::Array(list)
        }
        (Kind::Message(message) | Kind::Inline(message), Wire::Bytes(bytes)) => {
            let mut fields = Map::new();
            read(message, bytes, &mut fields, depth + 1)?;
            Value::Object(fields)
        }
        _ => return Err(mismatch(name)),
    })
}

fn time(bytes: &[u8], format: &str) -> Read<Value> {
    let (mut seconds, mut nanos) = (0, 0);
    for part in parts(bytes) {
        match part? {
            (1, Wire::Varint(number)) => seconds = number.cast_signed(),
            (2, Wire::Varint(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(nanos).map_err(|_| "a time has too many nanoseconds".to_owned())?;
    let at = Timestamp::new(seconds, nanos).map_err(|error| error.to_string())?;
    Ok(at.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Read<Value> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for part in parts(bytes) {
        match part? {
            (1, Wire::Varint(kind)) => is_text = kind == 1,
            (2, Wire::Varint(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(value)) => text = utf8(value)?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

fn json_in(bytes: &[u8]) -> Read<Value> {
    for part in parts(bytes) {
        if let (1, Wire::Bytes(json)) = part? {
            return serde_json::from_slice(json).map_err(|error| error.to_string());
        }
    }
    Ok(Value::Null)
}

fn first_text(bytes: &[u8]) -> Read<String> {
    Ok(texts(bytes)?.into_iter().next().unwrap_or_default())
}

fn texts(bytes: &[u8]) -> Read<Vec<String>> {
    let mut all = Vec::new();
    for part in parts(bytes) {
        if let (1, Wire::Bytes(text)) = part? {
            all.push(utf8(text)?);
        }
    }
    Ok(all)
}

/// The fields of a message as they lie in its bytes.
fn parts(bytes: &[u8]) -> impl Iterator<Item = Read<(u64, Wire<'_>)>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let part = part(&mut rest);
        if part.is_err() {
            rest = &[];
        }
        Some(part)
    })
}

fn part<'a>(rest: &mut &'a [u8]) -> Read<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let wire = match tag & 7 {
        0 => Wire::Varint(varint(rest)?),
        1 => Wire::Fixed(u64::from_le_bytes(fixed(rest)?)),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| ended())?;
            if length > rest.len() {
                return Err(ended());
            }
            let (bytes, after) = rest.split_at(length);
            *rest = after;
            Wire::Bytes(bytes)
        }
        5 => Wire::Fixed(u64::from(u32::from_le_bytes(fixed(rest)?))),
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok((tag >> 3, wire))
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Read<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>().ok_or_else(ended)?;
    *rest = after;
    Ok(*bytes)
}

fn varint(rest: &mut &[u8]) -> Read<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or_else(ended)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("proto: integer overflow".to_owned())
}

fn utf8(bytes: &[u8]) -> Read<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
}

fn ended() -> String {
    "unexpected EOF".to_owned()
}

fn mismatch(field: &str) -> String {
    format!("proto: wrong wireType for field {field}")
}
