//! What one run of a reconciler did.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::reason::Reasons;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// One run: what woke it, what it wrote, how it ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Name of the controller.
    pub controller: Arc<str>,
    /// Kind of the primary object.
    pub kind: Kind,
    /// The primary object.
    pub key: ObjectKey,
    /// What the run called.
    pub phase: Phase,
    /// What woke the key.
    pub reasons: Reasons,
    /// Requests that write, in order, skipped ones included.
    pub writes: Vec<WriteRecord>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
    /// 1 for a first try; one more for each failed run since the last success.
    pub attempt: u32,
}

impl Report {
    /// A report without writes; fill in what else is known.
    #[must_use]
    pub fn new(controller: Arc<str>, kind: Kind, key: ObjectKey, phase: Phase, outcome: Outcome) -> Self {
        Self {
            controller,
            kind,
            key,
            phase,
            reasons: Reasons::default(),
            writes: Vec::new(),
            outcome,
            duration: Duration::ZERO,
            attempt: 1,
        }
    }
}

/// Which of the author's functions a run called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `Reconciler::reconcile`.
    Reconcile,
    /// `Cleanup::cleanup`.
    Cleanup,
    /// `Reconciler::gone`.
    Gone,
    /// None: the object is being deleted and does not carry our finalizer, or the operator is being uninstalled.
    Idle,
    /// None: the object carries the annotation that pauses it.
    Paused,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reconcile => "reconcile",
            Self::Cleanup => "cleanup",
            Self::Gone => "gone",
            Self::Idle => "idle",
            Self::Paused => "paused",
        })
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Waits for a change.
    Done,
    /// Runs again after the time given.
    Requeue(Duration),
    /// Failed; retried.
    Error {
        /// The error's text.
        message: String,
        /// Time until the retry.
        retry_in: Duration,
    },
    /// Failed for good; waits for a change.
    Terminal {
        /// The error's text.
        message: String,
    },
    /// The author's code panicked; retried.
    Panicked {
        /// The panic's message.
        message: String,
        /// Time until the retry.
        retry_in: Duration,
    },
    /// Took longer than the declared `timeout` and was cancelled; retried.
    TimedOut {
        /// The declared limit.
        after: Duration,
        /// Time until the retry.
        retry_in: Duration,
    },
}

impl Outcome {
    /// Whether the run did what it set out to do.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Done | Self::Requeue(_))
    }

    /// Label `result` of `controller_runtime_reconcile_total`: `success`, `requeue_after` or `error`.
    #[must_use]
    pub fn result_label(&self) -> &'static str {
        match self {
            Self::Done => "success",
            Self::Requeue(_) => "requeue_after",
            _ => "error",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("ok"),
            Self::Requeue(after) => write!(f, "ok, again in {after:?}"),
            Self::Error { message, retry_in } => write!(f, "error: {message} (retry in {retry_in:?})"),
            Self::Terminal { message } => write!(f, "error: {message} (waits for a change)"),
            Self::Panicked { message, retry_in } => write!(f, "panic: {message} (retry in {retry_in:?})"),
            Self::TimedOut { after, retry_in } => {
                write!(f, "cancelled after {after:?}, its timeout (retry in {retry_in:?})")
            }
        }
    }
}

/// One write that a run asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRecord {
    /// `apply`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Kind of the object.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// The subresource, such as `status`.
    pub subresource: Option<&'static str>,
    /// What became of it.
    pub outcome: WriteOutcome,
}

impl fmt::Display for WriteRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.kind.kind())?;
        if let Some(subresource) = self.subresource {
            write!(f, "/{subresource}")?;
        }
        write!(f, " {}", self.key.name)?;
        match &self.outcome {
            WriteOutcome::Sent { .. } => Ok(()),
            WriteOutcome::Skipped => f.write_str(" (unchanged, not sent)"),
            WriteOutcome::Failed { message } => write!(f, " failed: {message}"),
        }
    }
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The server took it.
    Sent {
        /// uid of the object after the write, where the answer holds one.
        uid: Option<Arc<str>>,
        /// resourceVersion of the object after the write, where the answer holds one.
        version: Option<Arc<str>>,
        /// What the server was made to check that it was made on.
        based_on: Base,
    },
    /// It would have changed nothing and was not sent.
    Skipped,
    /// The server refused it, or its outcome is unknown.
    Failed {
        /// The error's text.
        message: String,
    },
}

/// What a write is known to have been made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Not known: the request did not ask for a version, so others may have written in between, and the answer may
    /// be a version of theirs.
    Unknown,
    /// There was no such object.
    Nothing,
    /// This resourceVersion, and no other.
    Version(Arc<str>),
}

impl WriteOutcome {
    /// Whether the server took it.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        matches!(self, Self::Sent { .. })
    }
}
