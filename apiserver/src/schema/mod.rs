//! What is known of a kind's fields: built-in kinds from recorded OpenAPI documents, custom ones from the structural
//! schema of their definition.
//!
//! Both become the same [`Node`]s, so that apply, patches, pruning and defaulting need no second path.

pub mod data;
mod decode;
mod default;
pub(crate) mod format;
pub(crate) mod go;
mod go_types;
mod node;
mod parse;
mod prune;
pub(crate) mod quantity;
mod rule;
mod validate;

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use crate::error::{ApiError, Cause};

pub use node::{Contents, Format, ListType, Node, NodeRef, Property, Type, Validations};
pub use rule::Rule;

/// The schema of one version of one kind.
#[derive(Clone, Debug)]
pub struct Schema {
    root: NodeRef,
    builtin: bool,
}

impl Schema {
    /// The recorded schema of a built-in kind; `None` for a kind that was not recorded.
    #[must_use]
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Arc<Self>> {
        let root = data::definition_of(group, version, kind)?;
        Some(Arc::new(Self {
            root: NodeRef::Builtin(root),
            builtin: true,
        }))
    }

    /// The schema that a definition gives for its kind: `spec.versions[*].schema.openAPIV3Schema`.
    #[must_use]
    pub fn structural(open_api_v3_schema: &Value) -> Self {
        Self::own(parse::structural_root(open_api_v3_schema))
    }

    /// The schema of a part of an object: no field is taken to be there that the schema does not name.
    #[must_use]
    pub fn part(open_api_v3_schema: &Value) -> Self {
        Self::own(parse::part(open_api_v3_schema))
    }

    /// A schema that accepts and keeps everything.
    #[must_use]
    pub fn any() -> Self {
        Self::own(Node::default())
    }

    fn own(root: Node) -> Self {
        Self {
            root: NodeRef::Own(Arc::new(root)),
            builtin: false,
        }
    }

    /// What a structural schema has somewhere in it; nothing for built-in kinds.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.root.contents
    }

    /// The node of the whole object.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Whether the schema is that of a built-in kind.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.builtin
    }

    /// Drops the fields that a structural schema does not know; returns their paths as warnings name them.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(self.root(), object, false).paths()
    }

    /// Brings a custom object that a client sent into the form in which the server holds it: unknown fields are dropped
    /// (and returned), and so are nulls where null is no value; metadata is typed as for built-in kinds.
    ///
    /// # Errors
    /// 400 for metadata of the wrong type; the caller puts `<Kind> in version "<version>" cannot be handled as a
    /// <Kind>: ` in front.
    pub fn decode_custom(&self, object: &mut Value) -> Result<Vec<String>, ApiError> {
        prune::whole_numbers(object);
        prune::prune(self.root(), object, true)
            .checked()
            .map_err(ApiError::bad_request)
    }

    /// Fills in the defaults of a structural schema.
    pub fn apply_defaults(&self, object: &mut Value) {
        default::apply(self.root(), object);
    }

    /// Whether a default of a structural schema is left to be filled in.
    #[must_use]
    pub fn lacks_defaults(&self, object: &Value) -> bool {
        default::is_missing(self.root(), object)
    }

    /// What the schema has against `new`. With `old`, unchanged parts are not checked again.
    #[must_use]
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        validate::validate(self.root(), new, old, "")
    }

    /// What the schema has against the value of one top-level field. As on the real server, messages name paths from
    /// that field on, causes in full.
    #[must_use]
    pub fn validate_field(&self, field: &str, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let (Some(node), Some(value)) = (self.root().child(field), new.get(field)) else {
            return Vec::new();
        };
        let mut causes = validate::validate(node, value, old.and_then(|old| old.get(field)), "");
        for cause in &mut causes {
            cause.field = match &*cause.field {
                "<nil>" | "" => field.to_owned(),
                below if below.starts_with('[') => format!("{field}{below}"),
                below => format!("{field}.{below}"),
            };
        }
        causes
    }

    /// Brings an object of a built-in kind into the form in which the server holds it: unknown fields are dropped (and
    /// returned), empty optional values vanish, quantities and times are respelled.
    ///
    /// # Errors
    /// 400 for values of the wrong type, in the words of Go's JSON decoder; the caller puts `<Kind> in version
    /// "<version>" cannot be handled as a <Kind>: ` in front.
    pub fn decode_builtin(&self, object: &mut Value) -> Result<Vec<String>, ApiError> {
        decode::decode(self.root(), object).map_err(ApiError::bad_request)
    }
}

/// Whether two values are equal, 1 and 1.0 being one number.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((k, x), (l, y))| k == l && same(x, y))
        }
        _ => a == b,
    }
}

/// A value in the order in which 1 and 1.0 are one value, as for [`same`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByValue<'a>(pub(crate) &'a Value);

impl Ord for ByValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        crate::apply::compare_values(self.0, other.0)
    }
}

impl PartialOrd for ByValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByValue<'_> {}

#[cfg(test)]
mod tests;
