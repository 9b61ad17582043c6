//! Whether an object fits its schema well enough for its fields to be owned, in the words of the real server.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::element::ItemKey;
use super::shape::{Atom, List, Map, Scalar, Shape};
use crate::schema::go;

/// What is wrong with `value`, one sentence or, under `errors:`, several; `None` when it fits. Duplicate items of
/// associative lists are wrong unless `duplicates` are allowed, as they are in stored objects.
pub(super) fn misfit(shape: Shape<'_>, value: &Value, duplicates: bool) -> Option<String> {
    let mut walk = Walk {
        duplicates,
        errors: Vec::new(),
    };
    walk.visit(shape, value, &Place::Root);
    match walk.errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(
            many.iter()
                .fold("errors:".to_owned(), |text, error| text + "\n  " + error),
        ),
    }
}

/// Where a value stands; written only when something is wrong there.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, &'a ItemKey<'a>),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, key) => write!(f, "{parent}{}", key.element()),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Walk {
    duplicates: bool,
    errors: Vec<String>,
}

impl Walk {
    fn visit(&mut self, shape: Shape<'_>, value: &Value, place: &Place<'_>) {
        match shape.atom(Some(value)) {
            Atom::Whole => {}
            Atom::Scalar(scalar) => {
                if let Some(error) = wrong_scalar(scalar, value) {
                    self.error(place, &error);
                }
            }
            Atom::List(list) => match value {
                Value::Null => {}
                Value::Array(items) if list.is_atomic() => {
                    for (index, item) in items.iter().enumerate() {
                        self.visit(list.items, item, &Place::Index(place, index));
                    }
                }
                Value::Array(items) => self.items(&list, items, place),
                other => self.error(place, &format!("expected list, got &{{{}}}", go::value(other))),
            },
            Atom::Map(map) => match value {
                Value::Null => {}
                Value::Object(fields) => self.fields(&map, fields, place),
                other => self.error(place, &format!("expected map, got &{{{}}}", go::value(other))),
            },
        }
    }

    fn items(&mut self, list: &List<'_>, items: &[Value], place: &Place<'_>) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let key = match list.key(item) {
                Ok(key) => key,
                Err(why) => return self.error(place, &format!("element {index}: {why}")),
            };
            let again = seen.contains(&key);
            if again && !self.duplicates {
                self.error(place, &format!("duplicate entries for key {}", key.element()));
            }
            self.visit(list.items, item, &Place::Item(place, &key));
            seen.insert(key);
        }
    }

    fn fields(&mut self, map: &Map<'_>, fields: &serde_json::Map<String, Value>, place: &Place<'_>) {
        for (key, value) in fields {
            let place = Place::Field(place, key);
            let Some((shape, _)) = map.field(key) else {
                return self.error(&place, "field not declared in schema");
            };
            self.visit(shape, value, &place);
        }
    }

    fn error(&mut self, place: &Place<'_>, what: &str) {
        self.errors.push(match place {
            Place::Root => what.to_owned(),
            _ => format!("{place}: {what}"),
        });
    }
}

fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, _) => Some(format!("expected numeric (int or float), got {}", go::type_name(value))),
        (Scalar::Text, _) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go::syntax(value)
        )),
        (Scalar::Boolean, _) => Some(format!("expected boolean, got &{{{}}}", go::value(value))),
        (Scalar::Any, _) => Some(format!("expected any scalar, got &{{{}}}", go::value(value))),
    }
}
