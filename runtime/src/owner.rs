//! Ownership: controller references, and the refusal to touch what belongs to someone else.

use std::fmt;

use crate::key::ObjectKey;
use crate::kind::Kind;

/// An object that the reconcile wanted to write exists and is not the primary's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOwned {
    /// Kind of the object.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// Who controls it, as `Kind/name`; `None` when nobody does.
    pub owner: Option<String>,
}

impl fmt::Display for NotOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} exists and is not ours: ", self.kind.kind(), self.key)?;
        match &self.owner {
            Some(owner) => write!(f, "{owner} controls it; ")?,
            None => f.write_str("nobody controls it; ")?,
        }
        f.write_str("rename the child, delete the object, or declare `adopt`")
    }
}

impl std::error::Error for NotOwned {}
