//! What an operator's author writes: [`Reconciler`], [`Cleanup`], and the [`Action`] they answer.

use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::error::Result;
use crate::grants::{Declare, Finalized};
use crate::key::ObjectKey;

/// Brings the world in line with one object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `impl Reconciler`",
    label = "write `impl Reconciler for {Self} {{ async fn reconcile(…) -> Result<Action> {{ … }} }}`"
)]
// No bound of kube's on the primary kind: `Declaration::for_` has it, so that a wrong kind is told once, where it is
// named.
// Nor `'static`: that a controller cannot borrow is told by the attribute, on the lifetime.
pub trait Reconciler: Declare + Send + Sync {
    /// Called with the newest known version of the object; never with `deletionTimestamp` set, and never twice at
    /// once for one key.
    ///
    /// # Errors
    ///
    /// An error is retried with backoff; [`Error::terminal`](crate::Error::terminal) waits for a change.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when `timeout` passes or the operator stops; the next run must be able to start anew.
    fn reconcile(&self, object: Arc<Self::Primary>, cx: &Context<Self>) -> impl Future<Output = Result<Action>> + Send;

    /// Releases what the process holds for an object that is gone. Must not talk to the cluster. Does nothing by default.
    fn gone(&self, key: &ObjectKey) {
        let _ = key;
    }
}

/// Cleans up outside effects before an object goes; requires the key `finalizer`.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` declares a finalizer but has no `impl Cleanup`",
    label = "write `impl Cleanup for {Self} {{ async fn cleanup(…) -> Result<Action> {{ … }} }}`, or remove `finalizer`"
)]
pub trait Cleanup: Reconciler + Finalized {
    /// Called when the object has a `deletionTimestamp` and still our finalizer. On success with
    /// [`Action::await_change`] the finalizer is removed; [`Action::requeue`] keeps it and asks again.
    ///
    /// # Errors
    ///
    /// An error keeps the finalizer and is retried with backoff.
    fn cleanup(&self, object: Arc<Self::Primary>, cx: &Context<Self>) -> impl Future<Output = Result<Action>> + Send;
}

/// What should happen after a successful run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
}

impl Action {
    /// Runs again when the object or something it watches changes.
    #[must_use]
    pub fn await_change() -> Self {
        Self { requeue_after: None }
    }

    /// Runs again after `delay` at the latest, and on any change before that.
    #[must_use]
    pub fn requeue(delay: Duration) -> Self {
        Self {
            requeue_after: Some(delay),
        }
    }

    /// The delay asked for, if any.
    #[must_use]
    pub fn requeue_after(&self) -> Option<Duration> {
        self.requeue_after
    }
}
