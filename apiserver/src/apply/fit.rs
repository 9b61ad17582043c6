//! Whether an object fits its schema well enough for its fields to be owned, in the words of the real server.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::element::Element;
use super::shape::{Atom, Map, Scalar, Shape};
use crate::schema::go;

/// What is wrong with `value`, one sentence or, under `errors:`, several; `None` when it fits. Duplicate items of
/// associative lists are wrong unless `duplicates` are allowed, as they are in stored objects.
pub(super) fn misfit(shape: Shape<'_>, value: &Value, duplicates: bool) -> Option<String> {
    let mut walk = Walk {
        path: String::new(),
        duplicates,
        errors: Vec::new(),
    };
    walk.visit(shape, value);
    match walk.errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(
            many.iter()
                .fold("errors:".to_owned(), |text, error| text + "\n  " + error),
        ),
    }
}

struct Walk {
    path: String,
    duplicates: bool,
    errors: Vec<String>,
}

impl Walk {
    fn visit(&mut self, shape: Shape<'_>, value: &Value) {
        match shape.atom(Some(value)) {
            Atom::Whole => {}
            Atom::Scalar(scalar) => {
                if let Some(error) = wrong_scalar(scalar, value) {
                    self.error(&error);
                }
            }
            Atom::List(list) => match value {
                Value::Null => {}
                Value::Array(items) if list.is_atomic() => {
                    for (index, item) in items.iter().enumerate() {
                        self.below(&format!("[{index}]"), list.items, item);
                    }
                }
                Value::Array(items) => {
                    let mut seen = BTreeSet::new();
                    for (index, item) in items.iter().enumerate() {
                        let element = match list.element(item) {
                            Ok(element) => element,
                            Err(why) => {
                                self.error(&format!("element {index}: {why}"));
                                return;
                            }
                        };
                        let step = element.to_string();
                        if !seen.insert(element) && !self.duplicates {
                            self.error(&format!("duplicate entries for key {step}"));
                        }
                        self.below(&step, list.items, item);
                    }
                }
                other => self.error(&format!("expected list, got &{{{}}}", go::value(other))),
            },
            Atom::Map(map) => match value {
                Value::Null => {}
                Value::Object(fields) => self.fields(&map, fields),
                other => self.error(&format!("expected map, got &{{{}}}", go::value(other))),
            },
        }
    }

    fn fields(&mut self, map: &Map<'_>, fields: &serde_json::Map<String, Value>) {
        for (key, value) in fields {
            match map.field(key) {
                Some((shape, _)) => {
                    let length = self.path.len();
                    self.path.push('.');
                    self.path.push_str(key);
                    self.visit(shape, value);
                    self.path.truncate(length);
                }
                None => {
                    let length = self.path.len();
                    let _ = write!(self.path, "{}", Element::Field(key.as_str().into()));
                    self.error("field not declared in schema");
                    self.path.truncate(length);
                    return;
                }
            }
        }
    }

    fn below(&mut self, step: &str, shape: Shape<'_>, value: &Value) {
        let length = self.path.len();
        self.path.push_str(step);
        self.visit(shape, value);
        self.path.truncate(length);
    }

    fn error(&mut self, what: &str) {
        self.errors.push(if self.path.is_empty() {
            what.to_owned()
        } else {
            format!("{}: {what}", self.path)
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
