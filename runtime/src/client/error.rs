//! Why a request failed.

use crate::key::ObjectKey;
use crate::kind::Kind;

/// A request to the API server that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error.
    #[error("{verb} {kind} {key}: {message} ({code} {reason})")]
    Status {
        /// HTTP verb or the API verb that was tried.
        verb: &'static str,
        /// Kind of the object.
        kind: Kind,
        /// The object.
        key: ObjectKey,
        /// HTTP code.
        code: u16,
        /// `metav1.StatusReason`, or empty.
        reason: String,
        /// The server's message.
        message: String,
    },
}
