//! Why a manager did not start, or ended by itself.

use crate::client::ClientError;
use crate::declaration::InvalidDeclaration;
use crate::health::ListenError;
use crate::webhook::InvalidWebhooks;

/// Why a manager did not start, or ended without being asked to. Each message is one line with the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// Two controllers have one name.
    #[error("two controllers are named `{name}`: give one of them another `name = \"…\"`")]
    DuplicateController {
        /// The name.
        name: String,
    },
    /// A controller's declaration makes no sense.
    #[error(transparent)]
    InvalidDeclaration(#[from] InvalidDeclaration),
    /// The declaration of webhooks makes no sense, or a conversion loses something.
    #[error(transparent)]
    InvalidWebhooks(#[from] InvalidWebhooks),
    /// Two types with webhooks judge one kind.
    #[error("two types have webhooks for {kind}: let one of them do both")]
    DuplicateWebhooks {
        /// The kind, such as `apps.demo.dev`.
        kind: String,
    },
    /// There is nothing to run.
    #[error("the manager has no controllers and no runnables: add one with `.controller(…)`")]
    Nothing,
    /// A server cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Options that contradict each other.
    #[error("{0}")]
    Options(String),
    /// The Lease was lost.
    #[error("leadership of Lease {lease} was lost: {reason}; the process ends so that nothing is written without it")]
    LeadershipLost {
        /// `namespace/name` of the Lease.
        lease: String,
        /// What happened.
        reason: String,
    },
    /// The author's runnable failed.
    #[error("runnable `{name}` failed: {error}")]
    Runnable {
        /// Its name.
        name: String,
        /// Its error.
        error: String,
    },
    /// A part of the manager panicked; this is a fault of the framework.
    #[error("{part} panicked: {message}")]
    Panicked {
        /// Which part.
        part: String,
        /// The panic's message.
        message: String,
    },
    /// The API server refused something that the manager cannot do without.
    #[error(transparent)]
    Client(#[from] ClientError),
}
