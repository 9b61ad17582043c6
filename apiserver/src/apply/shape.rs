//! How a value merges: as a scalar, a list or a map, granular or as a whole.
//!
//! A [`Shape`] is a schema's view of a place; an [`Atom`] is what it says of the value that stands there.

use std::sync::Arc;

use serde_json::Value;

use super::element::{Element, ItemKey};
use crate::schema::{Format, ListType, Node, NodeRef, Schema, Type};

/// What the schema says of one place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// A node of the schema.
    Node(&'a Node),
    /// No schema: maps are granular, lists atomic.
    Deduced,
    /// No schema: everything is atomic.
    Untyped,
}

/// What a value is at its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom<'a> {
    Scalar(Scalar),
    List(List<'a>),
    Map(Map<'a>),
    /// A free-form definition: whatever is there, as a whole.
    Whole,
}

/// What a scalar may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) kind: &'a ListType,
    pub(super) items: Shape<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Map<'a> {
    pub(super) node: Option<&'a Node>,
    pub(super) others: Option<Shape<'a>>,
    pub(super) atomic: bool,
}

impl<'a> Shape<'a> {
    pub(super) fn of(schema: &'a Schema) -> Self {
        Self::Node(schema.root())
    }

    /// What `value` is here. Null and absent values take the form that the schema names first.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom<'a> {
        match self {
            Self::Node(node) => of_node(node, value),
            Self::Deduced => free(value, Self::Deduced, false),
            Self::Untyped => free(value, Self::Untyped, true),
        }
    }
}

/// One step into a map.
pub(super) struct Step<'a> {
    pub(super) shape: Shape<'a>,
    /// Whether a property declares it.
    pub(super) declared: bool,
    pub(super) name: Arc<str>,
}

impl<'a> Map<'a> {
    /// The step to `key`; what the schema does not know has no fixed type.
    pub(super) fn step(&self, key: &str) -> Step<'a> {
        match self.node.and_then(|node| node.property(key)) {
            Some(property) => Step {
                shape: Shape::Node(&property.node),
                declared: true,
                name: Arc::clone(&property.name),
            },
            None => Step {
                shape: self.others.unwrap_or(Shape::Deduced),
                declared: false,
                name: key.into(),
            },
        }
    }

    /// The shape under `key`, and whether a property declares it; `None` for a key that the schema does not know.
    pub(super) fn field(&self, key: &str) -> Option<(Shape<'a>, bool)> {
        let declared = self.node.and_then(|node| node.property(key));
        declared
            .map(|p| (Shape::Node(&p.node), true))
            .or(self.others.map(|shape| (shape, false)))
    }
}

impl<'l> List<'l> {
    pub(super) fn is_atomic(&self) -> bool {
        matches!(self.kind, ListType::Atomic)
    }

    /// What tells `item` from the other items of an associative list, or why nothing does.
    pub(super) fn key<'v>(&self, item: &'v Value) -> Result<ItemKey<'v>, String>
    where
        'l: 'v,
    {
        match self.kind {
            ListType::Map(keys) => self.key_by_fields(keys, item),
            _ => match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                scalar => Ok(ItemKey::Value(scalar)),
            },
        }
    }

    /// As [`List::key`], as a step of a path.
    pub(super) fn element(&self, item: &Value) -> Result<Element, String> {
        self.key(item).map(|key| key.element())
    }

    fn key_by_fields<'v>(&self, keys: &'l [Arc<str>], item: &'v Value) -> Result<ItemKey<'v>, String>
    where
        'l: 'v,
    {
        let map = match item {
            Value::Object(map) => map,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let value_of = |key: &str| -> Option<&'v Value> { map.get(key).or_else(|| self.default_of(key)) };
        if let [key] = keys
            && let Some(value) = value_of(key)
        {
            return Ok(ItemKey::Field(key, value));
        }
        let mut found: Vec<(&'v Arc<str>, &'v Value)> =
            keys.iter().filter_map(|key| Some((key, value_of(key)?))).collect();
        if found.is_empty() {
            let keys: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        found.sort_by(|a, b| a.0.cmp(b.0));
        Ok(ItemKey::Fields(found))
    }

    fn default_of(&self, key: &str) -> Option<&'l Value> {
        let Shape::Node(node) = self.items else { return None };
        node.property(key)?.default.as_ref()
    }
}

const ATOMIC: &ListType = &ListType::Atomic;

fn of_node<'a>(node: &'a Node, value: Option<&Value>) -> Atom<'a> {
    if node.name == Some("RawExtension") {
        return free(value, Shape::Untyped, true);
    }
    let others = node
        .additional
        .as_deref_shape()
        .or(node.deduced.then_some(Shape::Deduced));
    match node.kind {
        Type::Object => Atom::Map(Map {
            node: Some(node),
            others,
            atomic: node.atomic_map,
        }),
        Type::Array => {
            let items = node.items.as_deref_shape().unwrap_or(Shape::Untyped);
            Atom::List(List {
                kind: &node.list,
                items,
            })
        }
        Type::Integer | Type::Number => Atom::Scalar(Scalar::Numeric),
        Type::Boolean => Atom::Scalar(Scalar::Boolean),
        Type::String => {
            let format = node
                .validations
                .as_ref()
                .and_then(|v| v.format.as_deref())
                .unwrap_or_default();
            let text = matches!(format, "" | "byte");
            Atom::Scalar(if text { Scalar::Text } else { Scalar::Any })
        }
        Type::Any if matches!(node.format, Format::Quantity) => Atom::Scalar(Scalar::Any),
        Type::Any => match value {
            Some(Value::Object(_)) => Atom::Map(Map {
                node: Some(node),
                others: others.or(Some(Shape::Deduced)),
                atomic: node.atomic_map,
            }),
            Some(Value::Array(_)) => Atom::List(List {
                kind: &node.list,
                items: node.items.as_deref_shape().unwrap_or(Shape::Untyped),
            }),
            Some(Value::Null) | None if matches!(node.format, Format::IntOrString) => Atom::Scalar(Scalar::Any),
            Some(Value::Null) | None => Atom::Map(Map {
                node: Some(node),
                others: others.or(Some(Shape::Deduced)),
                atomic: node.atomic_map,
            }),
            Some(_) => Atom::Scalar(Scalar::Any),
        },
    }
}

/// What a value without a schema is; `atomic` when maps are one field, too.
fn free<'a>(value: Option<&Value>, below: Shape<'a>, atomic: bool) -> Atom<'a> {
    match value {
        Some(Value::Array(_)) => Atom::List(List {
            kind: ATOMIC,
            items: Shape::Untyped,
        }),
        Some(Value::Object(_) | Value::Null) | None if !atomic => Atom::Map(Map {
            node: None,
            others: Some(below),
            atomic,
        }),
        Some(Value::Object(_) | Value::Null) | None => Atom::Whole,
        Some(_) => Atom::Scalar(Scalar::Any),
    }
}

trait AsShape {
    fn as_deref_shape(&self) -> Option<Shape<'_>>;
}

impl AsShape for Option<NodeRef> {
    fn as_deref_shape(&self) -> Option<Shape<'_>> {
        self.as_ref().map(|node| Shape::Node(node))
    }
}
