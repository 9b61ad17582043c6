//! One step of a path to a field: its name, the keys or the value of a list item, or an index.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// One step of a path. The order is that of the real server's field sets: names, then keys, values, indexes.
#[derive(Clone, Debug)]
pub enum Element {
    /// A key of an object: `f:name`.
    Field(Arc<str>),
    /// An item of an associative list, by its key fields in the order of their names: `k:{"name":"x"}`.
    Key(Arc<[(Arc<str>, Value)]>),
    /// An item of a set, by its value: `v:"x"`.
    Value(Value),
    /// An item of a list, by position: `i:0`.
    Index(i64),
}

impl Element {
    /// Reads an element as `fieldsV1` writes it; `None` for text that is no element.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.into())),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            "k" => {
                let Ok(Value::Object(keys)) = serde_json::from_str(rest) else {
                    return None;
                };
                Some(Self::Key(
                    keys.into_iter().map(|(name, value)| (name.into(), value)).collect(),
                ))
            }
            _ => None,
        }
    }

    /// Writes the element as `fieldsV1` does.
    #[must_use]
    pub fn to_fields_v1(&self) -> String {
        let mut text = String::new();
        self.write_fields_v1(&mut text);
        text
    }

    /// Appends the element as `fieldsV1` writes it.
    pub(super) fn write_fields_v1(&self, text: &mut String) {
        match self {
            Self::Field(name) => {
                text.reserve_exact(2 + name.len());
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Value(value) => {
                text.push_str("v:");
                write_value(value, text);
            }
            Self::Index(index) => {
                text.push_str("i:");
                text.push_str(&index.to_string());
            }
            Self::Key(keys) => {
                text.push_str("k:{");
                for (index, (name, value)) in keys.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    write_text(name, text);
                    text.push(':');
                    write_value(value, text);
                }
                text.push('}');
            }
        }
    }
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::String(word) => write_text(word, text),
        other => text.push_str(&other.to_string()),
    }
}

/// A word as JSON; most have nothing to be escaped.
fn write_text(word: &str, text: &mut String) {
    if word.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(word);
        text.push('"');
    } else {
        text.push_str(&Value::from(word).to_string());
    }
}

/// As messages and causes show it: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// What tells an item of an associative list from the others, where it stands.
#[derive(Clone, Debug)]
pub(super) enum ItemKey<'v> {
    /// Itself: a set.
    Value(&'v Value),
    /// One field.
    Field(&'v Arc<str>, &'v Value),
    /// Several fields, in the order of their names.
    Fields(Vec<(&'v Arc<str>, &'v Value)>),
}

impl ItemKey<'_> {
    /// As a step of a path.
    pub(super) fn element(&self) -> Element {
        match self {
            Self::Value(value) => Element::Value((*value).clone()),
            Self::Field(name, value) => Element::Key(Arc::new([(Arc::clone(name), (*value).clone())])),
            Self::Fields(fields) => {
                let owned = fields.iter().map(|(name, value)| (Arc::clone(name), (*value).clone()));
                Element::Key(owned.collect())
            }
        }
    }

    fn fields(&self) -> &[(&Arc<str>, &Value)] {
        match self {
            Self::Fields(fields) => fields,
            Self::Value(_) | Self::Field(..) => &[],
        }
    }
}

/// In the order of the elements that they are. Keys of one list are compared, which are of one kind.
impl Ord for ItemKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Field(name_a, a), Self::Field(name_b, b)) => name_a.cmp(name_b).then_with(|| compare(a, b)),
            // Of several fields, some may be missing.
            _ => {
                let pairs = self.fields().iter().zip(other.fields());
                let mut orders = pairs.map(|((name_a, a), (name_b, b))| name_a.cmp(name_b).then_with(|| compare(a, b)));
                let first = orders.find(|order| *order != Ordering::Equal);
                first.unwrap_or_else(|| self.fields().len().cmp(&other.fields().len()))
            }
        }
    }
}

impl PartialOrd for ItemKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ItemKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ItemKey<'_> {}

fn compare_keys(a: &[(Arc<str>, Value)], b: &[(Arc<str>, Value)]) -> Ordering {
    for ((name_a, value_a), (name_b, value_b)) in a.iter().zip(b) {
        let order = name_a.cmp(name_b).then_with(|| compare(value_a, value_b));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order over values in which 1 and 1.0 are one value: numbers, strings, booleans, lists, objects, null.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a
                .as_f64()
                .unwrap_or(f64::MAX)
                .total_cmp(&b.as_f64().unwrap_or(f64::MAX)),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
            pairs
                .find(|o| *o != Ordering::Equal)
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut pairs = a
                .iter()
                .zip(b)
                .map(|((key_a, a), (key_b, b))| key_a.cmp(key_b).then_with(|| compare(a, b)));
            pairs
                .find(|o| *o != Ordering::Equal)
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same to the ownership of fields.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    a == b || compare(a, b) == Ordering::Equal
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
