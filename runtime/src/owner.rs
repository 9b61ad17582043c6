//! Ownership: controller references, and the refusal to touch what belongs to someone else.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::delta::{Header, OwnerRef};
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

/// The reference that makes `key` the controller of what carries it.
///
/// It blocks the owner's foreground deletion, as controllers' references do everywhere.
pub(crate) fn controller_reference(kind: &Kind, key: &ObjectKey, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: kind.api_version(),
        kind: kind.kind().to_owned(),
        name: key.name.to_string(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whose an object is, seen from the primary with a uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The primary controls it.
    Ours,
    /// Nobody controls it.
    Free,
    /// Someone else does, as `Kind/name`.
    Foreign(String),
}

impl Ownership {
    /// Reads the controller reference of `header`.
    pub(crate) fn of(header: &Header, primary_uid: &str) -> Self {
        match header.controller() {
            None => Self::Free,
            Some(owner) if &*owner.uid == primary_uid => Self::Ours,
            Some(owner) => Self::Foreign(named(owner)),
        }
    }
}

fn named(owner: &OwnerRef) -> String {
    format!("{}/{}", owner.kind, owner.name)
}
