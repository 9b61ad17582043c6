//! The patches that `cx.patch` takes.

use serde::Serialize;
use serde_json::{Value, json};

use crate::client::PatchType;
use crate::error::{Error, Result};

/// A change of an object that leaves the rest of it alone.
#[derive(Clone, Debug)]
pub struct Patch {
    kind: PatchType,
    body: Value,
}

impl Patch {
    /// A JSON merge patch (RFC 7386): fields given are set, `null` removes.
    ///
    /// # Errors
    ///
    /// `body` does not serialise as JSON.
    pub fn merge(body: impl Serialize) -> Result<Self> {
        Self::of(PatchType::Merge, body)
    }

    /// A JSON patch (RFC 6902): a list of operations; a failed `test` fails the whole.
    ///
    /// # Errors
    ///
    /// `operations` does not serialise as JSON.
    pub fn json(operations: impl Serialize) -> Result<Self> {
        Self::of(PatchType::Json, operations)
    }

    /// A strategic merge patch: lists merge by key. Built-in kinds only.
    ///
    /// # Errors
    ///
    /// `body` does not serialise as JSON.
    pub fn strategic(body: impl Serialize) -> Result<Self> {
        Self::of(PatchType::Strategic, body)
    }

    /// Makes the patch fail on an object whose `metadata.<field>` is not `value`.
    pub(super) fn bind(&mut self, field: &str, value: &str) {
        match (self.kind, &mut self.body) {
            (PatchType::Json, Value::Array(operations)) => {
                let path = format!("/metadata/{field}");
                operations.insert(0, json!({ "op": "test", "path": path, "value": value }));
            }
            (PatchType::Merge | PatchType::Strategic, Value::Object(body)) => {
                let metadata = body.entry("metadata").or_insert_with(|| json!({}));
                // Anything else than an object is refused by the server.
                if let Value::Object(metadata) = metadata {
                    metadata.insert(field.to_owned(), value.into());
                }
            }
            _ => {}
        }
    }

    pub(super) fn into_parts(self) -> Result<(PatchType, Vec<u8>)> {
        let body = serde_json::to_vec(&self.body).map_err(|e| Error::terminal(e.to_string()))?;
        Ok((self.kind, body))
    }

    fn of(kind: PatchType, body: impl Serialize) -> Result<Self> {
        let body = serde_json::to_value(body).map_err(|e| Error::terminal(format!("a patch must be JSON: {e}")))?;
        Ok(Self { kind, body })
    }
}
