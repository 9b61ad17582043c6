//! What each verb does to an object, for every kind alike.

pub(crate) mod loopback;

/// How a patch body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' strategic merge patch.
    Strategic,
    /// Server-side apply.
    Apply,
}
