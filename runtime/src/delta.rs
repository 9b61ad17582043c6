//! What changed between two versions of an object.

use crate::key::ObjectKey;
use crate::kind::Kind;

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Delta {
    /// Kind of the object.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
}
