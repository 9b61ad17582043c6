//! One field of a schema and what is known of it.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::data::Definition;
use super::rule::Rule;

/// The JSON type that a field declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// None: any value.
    #[default]
    Any,
    /// An object, with properties or with free keys.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
}

/// What a scalar of a built-in kind holds beyond its JSON type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Nothing special.
    #[default]
    None,
    /// Fits 32 bits.
    Int32,
    /// Fits 64 bits.
    Int64,
    /// RFC 3339 with whole seconds.
    Time,
    /// RFC 3339 with exactly six decimals.
    MicroTime,
    /// A resource quantity: string or number.
    Quantity,
    /// An integer or a string.
    IntOrString,
    /// Base64 of bytes.
    Bytes,
}

/// How a list merges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// As a whole.
    #[default]
    Atomic,
    /// Item by item; items are scalars.
    Set,
    /// Item by item; items are objects told apart by these keys.
    Map(Box<[Arc<str>]>),
}

/// What a structural schema has at some place or below it: walks pass over what has nothing for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// `x-kubernetes-validations`.
    pub rules: bool,
    /// Embedded objects, or lists whose items are told apart.
    pub places: bool,
    /// Defaults of properties.
    pub defaults: bool,
}

impl Contents {
    /// What the node has and what is below it. Built-in definitions, which may refer to themselves, have nothing.
    pub(super) fn of(node: &Node) -> Self {
        let below = Self::of_root(node);
        Self {
            places: below.places || node.embedded || node.list != ListType::Atomic,
            ..below
        }
    }

    /// As [`Contents::of`], for the root: it is an object, but embedded in none.
    pub(super) fn of_root(node: &Node) -> Self {
        let own = Self {
            rules: node.validations.as_ref().is_some_and(|v| !v.rules.is_empty()),
            places: false,
            defaults: node.properties.iter().any(|property| property.default.is_some()),
        };
        let properties = node.properties.iter().map(|property| &property.node);
        let below = properties.chain(&node.items).chain(&node.additional);
        below.fold(own, |all, node| match node {
            NodeRef::Builtin(_) => all,
            NodeRef::Own(node) => Self {
                rules: all.rules || node.contents.rules,
                places: all.places || node.contents.places,
                defaults: all.defaults || node.contents.defaults,
            },
        })
    }
}

/// What a schema says of one value.
#[derive(Debug, Default)]
pub struct Node {
    /// Name of the recorded definition's type, such as `DeploymentSpec`; built-in kinds only.
    pub name: Option<&'static str>,
    /// The declared type.
    pub kind: Type,
    /// What the scalar holds.
    pub format: Format,
    /// Fields by name, sorted.
    pub properties: Box<[Property]>,
    /// What free keys hold.
    pub additional: Option<NodeRef>,
    /// What list items are.
    pub items: Option<NodeRef>,
    /// How the list merges.
    pub list: ListType,
    /// Whether the object merges as a whole.
    pub atomic_map: bool,
    /// Whether a strategic patch merges the list.
    pub patch_merge: bool,
    /// The key by which a strategic patch tells list items apart.
    pub merge_key: Option<Arc<str>>,
    /// Fields that must be there.
    pub required: Box<[Arc<str>]>,
    /// Whether null is a value.
    pub nullable: bool,
    /// Whether unknown fields stay.
    pub preserve_unknown: bool,
    /// Whether keys that no property declares are granular fields of any type, for the ownership of fields. Unlike
    /// `preserve_unknown`, everything below a preserving node inherits it.
    pub deduced: bool,
    /// Whether the value is a whole Kubernetes object.
    pub embedded: bool,
    /// What a whole object's schema says of its name beyond the general rules.
    pub metadata: Option<NodeRef>,
    /// The default, of a node that is no property.
    pub default: Option<Value>,
    /// Rules on values; custom kinds and enums of built-in ones.
    pub validations: Option<Box<Validations>>,
    /// What there is at this node and below it; nothing for built-in kinds.
    pub contents: Contents,
}

/// One named field.
#[derive(Debug)]
pub struct Property {
    /// The field's name.
    pub name: Arc<str>,
    /// The field's schema.
    pub node: NodeRef,
    /// The value of an absent field.
    pub default: Option<Value>,
    /// Whether a strategic patch drops siblings that it does not name.
    pub retain_keys: bool,
}

/// Rules on values, as OpenAPI and `x-kubernetes-validations` state them.
#[derive(Debug, Default)]
pub struct Validations {
    /// Allowed values.
    pub enumeration: Option<Vec<Value>>,
    /// Named format, such as `date-time`.
    pub format: Option<String>,
    /// Regular expression that strings match somewhere; the second is `None` when it does not compile.
    pub pattern: Option<(String, Option<Regex>)>,
    /// Fewest characters.
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// Lower bound, and whether it is excluded.
    pub minimum: Option<(f64, bool)>,
    /// Upper bound, and whether it is excluded.
    pub maximum: Option<(f64, bool)>,
    /// Numbers are a multiple of this.
    pub multiple_of: Option<f64>,
    /// Fewest items.
    pub min_items: Option<u64>,
    /// Most items.
    pub max_items: Option<u64>,
    /// Fewest keys.
    pub min_properties: Option<u64>,
    /// Most keys.
    pub max_properties: Option<u64>,
    /// Every one must hold.
    pub all_of: Vec<Node>,
    /// At least one must hold.
    pub any_of: Vec<Node>,
    /// Exactly one must hold.
    pub one_of: Vec<Node>,
    /// Must not hold.
    pub not: Option<Box<Node>>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

/// A link to a node: owned by a custom kind's schema, or in the shared table of built-in definitions.
#[derive(Clone)]
pub enum NodeRef {
    /// Part of a schema.
    Own(Arc<Node>),
    /// A recorded definition, read when first looked at (definitions may refer to themselves).
    Builtin(&'static Definition),
}

impl Deref for NodeRef {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            Self::Own(node) => node,
            Self::Builtin(definition) => definition.node(),
        }
    }
}

impl fmt::Debug for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(node) => node.fmt(f),
            Self::Builtin(definition) => f.write_str(definition.name),
        }
    }
}

impl Node {
    /// The property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties
            .binary_search_by(|p| (*p.name).cmp(name))
            .ok()
            .map(|i| &self.properties[i])
    }

    /// The schema of the value under `key`: the property's, or that of free keys.
    #[must_use]
    pub fn child(&self, key: &str) -> Option<&NodeRef> {
        self.property(key).map(|p| &p.node).or(self.additional.as_ref())
    }

    /// Walks the properties beside keys that come in order.
    pub(super) fn in_order(&self) -> InOrder<'_> {
        InOrder(&self.properties)
    }

    /// A node that accepts and keeps everything.
    pub fn anything() -> &'static Node {
        static ANY: OnceLock<Node> = OnceLock::new();
        ANY.get_or_init(|| Node {
            preserve_unknown: true,
            ..Node::default()
        })
    }
}

/// The properties of a node, looked up by keys that only go up, as those of a map do.
pub(super) struct InOrder<'n>(&'n [Property]);

impl<'n> InOrder<'n> {
    /// The property of that name, which no earlier one was greater than.
    pub(super) fn find(&mut self, name: &str) -> Option<&'n Property> {
        while let Some((first, rest)) = self.0.split_first() {
            match (*first.name).cmp(name) {
                Ordering::Less => self.0 = rest,
                Ordering::Equal => {
                    self.0 = rest;
                    return Some(first);
                }
                Ordering::Greater => break,
            }
        }
        None
    }
}
