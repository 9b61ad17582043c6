//! JSON bodies into values, with the keys that a body gives twice.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::schema::go;

/// A parsed body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    /// The value.
    pub(crate) value: Value,
    /// A sentence for each key that was given more than once, in the order of the body.
    pub(crate) duplicates: Vec<String>,
}

/// What becomes of the earlier value of a key that comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twice {
    /// Objects are merged, as decoding into a Go struct does: built-in kinds.
    Merge,
    /// The last one stays: custom resources.
    Replace,
}

/// How deep values may be nested in a body. What the server adds (managedFields mirror an object some levels down) must
/// stay within the 128 levels that parsers take without being asked.
pub(crate) const MOST_LEVELS: usize = 100;

/// Parses a whole body.
///
/// # Errors
/// In serde_json's words; nesting deeper than [`MOST_LEVELS`] is an error.
pub(crate) fn parse(body: &[u8], twice: Twice) -> Result<Parsed, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let parsed = collect::<Key, _>(&mut deserializer, twice)?;
    deserializer.end()?;
    Ok(parsed)
}

/// Reads any self-describing format into a JSON value.
pub(crate) fn collect<'de, K, D>(deserializer: D, twice: Twice) -> Result<Parsed, D::Error>
where
    K: EntryKey<'de>,
    D: Deserializer<'de>,
{
    let duplicates = RefCell::new(Vec::new());
    let seed = Node::<K> {
        path: &Path::Root,
        level: 0,
        duplicates: &duplicates,
        twice,
        keys: PhantomData,
    };
    let value = seed.deserialize(deserializer)?;
    Ok(Parsed {
        value,
        duplicates: duplicates.into_inner(),
    })
}

/// A key of an object as a format gives it.
pub(crate) trait EntryKey<'de>: Deserialize<'de> {
    /// What is said if the key was there already, and the key as text.
    fn split(self) -> (Complaint, String);
}

/// How a format speaks of a key that comes twice.
pub(crate) enum Complaint {
    /// By its path: JSON.
    Path,
    /// By its line and spelling: YAML.
    Line(u64, String),
}

impl Complaint {
    fn about(self, path: &str) -> String {
        match self {
            Self::Path => format!("duplicate field {path:?}"),
            Self::Line(line, key) => format!("line {line}: key {key} already set in map"),
        }
    }
}

/// Every path of a document, in its order: what sorts warnings as the client wrote the fields.
pub(crate) fn paths_in_order(body: &[u8]) -> Vec<String> {
    let order = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // A body that does not parse has no order; the caller has parsed it before.
    let _ = Order {
        path: &Path::Root,
        order: &order,
    }
    .deserialize(&mut deserializer);
    order.into_inner()
}

enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Path::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Node<'a, K> {
    path: &'a Path<'a>,
    level: usize,
    duplicates: &'a RefCell<Vec<String>>,
    twice: Twice,
    keys: PhantomData<K>,
}

impl<K> Node<'_, K> {
    fn check_level<E: Error>(&self) -> Result<(), E> {
        if self.level < MOST_LEVELS {
            Ok(())
        } else {
            Err(E::custom("exceeded max depth"))
        }
    }
}

impl<'de, K: EntryKey<'de>> DeserializeSeed<'de> for Node<'_, K> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: EntryKey<'de>> Visitor<'de> for Node<'_, K> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.check_level()?;
        let mut items = Vec::new();
        loop {
            let path = Path::Index(self.path, items.len());
            let seed = Node::<K> {
                path: &path,
                level: self.level + 1,
                duplicates: self.duplicates,
                twice: self.twice,
                keys: PhantomData,
            };
            match seq.next_element_seed(seed)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.check_level()?;
        let mut map = Map::new();
        while let Some(entry) = entries.next_key::<K>()? {
            let (complain, key) = entry.split();
            let path = Path::Key(self.path, &key);
            let seed = Node::<K> {
                path: &path,
                level: self.level + 1,
                duplicates: self.duplicates,
                twice: self.twice,
                keys: PhantomData,
            };
            let value = entries.next_value_seed(seed)?;
            if key == NULL_KEY {
                return Err(A::Error::custom(format!(
                    "{NULL_KEY}{}{NULL_KEY_END}",
                    go::syntax(&value)
                )));
            }
            match map.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(value);
                }
                Entry::Occupied(mut taken) => {
                    let path = Path::Key(self.path, taken.key()).to_string();
                    self.duplicates.borrow_mut().push(complain.about(&path));
                    match (taken.get_mut(), value) {
                        (Value::Object(earlier), Value::Object(later)) if self.twice == Twice::Merge => {
                            earlier.extend(later);
                        }
                        (earlier, later) => *earlier = later,
                    }
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// A key; YAML's bare booleans and numbers become their JSON spelling.
pub(crate) struct Key {
    pub(crate) text: String,
    /// Whether it was a boolean or a number.
    pub(crate) bare: bool,
}

impl EntryKey<'_> for Key {
    fn split(self) -> (Complaint, String) {
        (Complaint::Path, self.text)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyKey;
        fn bare<E>(text: &impl ToString) -> Result<Key, E> {
            Ok(Key {
                text: text.to_string(),
                bare: true,
            })
        }
        impl Visitor<'_> for AnyKey {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<Key, E> {
                Ok(Key {
                    text: key.to_owned(),
                    bare: false,
                })
            }

            fn visit_string<E>(self, text: String) -> Result<Key, E> {
                Ok(Key { text, bare: false })
            }

            fn visit_bool<E>(self, key: bool) -> Result<Key, E> {
                bare(&key)
            }

            fn visit_i64<E>(self, key: i64) -> Result<Key, E> {
                bare(&key)
            }

            fn visit_u64<E>(self, key: u64) -> Result<Key, E> {
                bare(&key)
            }

            fn visit_f64<E>(self, key: f64) -> Result<Key, E> {
                bare(&key)
            }

            fn visit_unit<E>(self) -> Result<Key, E> {
                Ok(Key {
                    text: NULL_KEY.to_owned(),
                    bare: true,
                })
            }
        }
        deserializer.deserialize_any(AnyKey)
    }
}

/// Stands for a key that is null, which no object has: the refusal, up to the value, which ends with [`NULL_KEY_END`].
pub(crate) const NULL_KEY: &str = "unsupported map key of type: %!s(<nil>), key: <nil>, value: ";
/// Where that refusal ends in what the parser makes of it.
pub(crate) const NULL_KEY_END: char = '\u{2404}';

struct Order<'a> {
    path: &'a Path<'a>,
    order: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Order<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Order<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            let path = Path::Index(self.path, index);
            if seq
                .next_element_seed(Order {
                    path: &path,
                    order: self.order,
                })?
                .is_none()
            {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(Key { text: key, .. }) = entries.next_key()? {
            let path = Path::Key(self.path, &key);
            self.order.borrow_mut().push(path.to_string());
            entries.next_value_seed(Order {
                path: &path,
                order: self.order,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TWICE: &[u8] = br#"{"data":{"k":"v","k":"w"},"list":[{"a":1,"a":2}],"data":{"x":"y"}}"#;

    #[test]
    fn keys_given_twice_are_named_in_order() {
        let parsed = parse(TWICE, Twice::Merge).unwrap();
        assert_eq!(
            parsed.duplicates,
            [
                "duplicate field \"data.k\"",
                "duplicate field \"list[0].a\"",
                "duplicate field \"data\""
            ]
        );
        assert_eq!(
            parsed.value,
            json!({ "data": { "k": "w", "x": "y" }, "list": [{ "a": 2 }] })
        );
        assert_eq!(parse(TWICE, Twice::Replace).unwrap().value["data"], json!({ "x": "y" }));
    }

    #[test]
    fn deep_nesting_and_trailing_text_are_errors() {
        assert!(parse("[".repeat(10_000).as_bytes(), Twice::Merge).is_err());
        assert!(parse(b"{} {}", Twice::Merge).is_err());
        assert!(parse(b"\"\xff\"", Twice::Merge).is_err());
    }

    #[test]
    fn paths_come_in_the_order_of_the_document() {
        assert_eq!(
            paths_in_order(br#"{"z":[{"b":1}],"a":{"c":2}}"#),
            ["z", "z[0].b", "a", "a.c"]
        );
    }
}
