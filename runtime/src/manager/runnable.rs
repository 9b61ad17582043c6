//! What runs beside the controllers: the author's own long-running work.

use std::fmt;

use futures::future::BoxFuture;

use crate::env::Env;
use crate::error::Result;
use crate::shutdown::Shutdown;

/// What a runnable is given.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunContext {
    /// The API server.
    pub client: kube::Client,
    /// Time and randomness.
    pub env: Env,
    /// Triggered when the runnable must end: the manager stops, or leadership is lost.
    pub stop: Shutdown,
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("env", &self.env)
            .finish_non_exhaustive()
    }
}

/// Long-running work of the author's. Starts and stops with the controllers: on every replica, or on the leader.
pub trait Runnable: Send + Sync + 'static {
    /// Names it in logs and `/statusz`.
    fn name(&self) -> &str;

    /// Whether it runs on the leader only. Default: true.
    fn needs_leader(&self) -> bool {
        true
    }

    /// Works until `context.stop` is triggered. Returning earlier without an error is fine.
    ///
    /// # Errors
    ///
    /// An error stops the manager, which returns it.
    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<()>>;
}
