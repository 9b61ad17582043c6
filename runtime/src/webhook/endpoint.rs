//! Webhooks that are called within the process: by the embedded server, in `dev` and in tests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::Notify;

use super::handler::Handler;
use crate::env::Env;

/// The place at which one replica's webhooks answer, without a socket. Given to the manager's options; open while the
/// manager serves. Clones share their state.
#[derive(Clone, Default)]
pub struct Endpoint(Arc<Inner>);

#[derive(Default)]
struct Inner {
    open: Mutex<Option<(Handler, Env)>>,
    opened: Notify,
}

impl Endpoint {
    /// Nobody answers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether somebody answers.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open().is_some()
    }

    /// Returns once somebody answers.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn opened(&self) {
        loop {
            let opened = self.0.opened.notified();
            if self.is_open() {
                return;
            }
            opened.await;
        }
    }

    /// Calls a webhook as a POST over a socket would. The work is a task of the replica.
    ///
    /// # Errors
    ///
    /// That nobody listens, in the words of a refused connection; that the replica is gone.
    ///
    /// # Cancel safety
    ///
    /// The replica finishes its answer all the same.
    pub async fn call(&self, path_and_query: &str, body: Bytes) -> Result<Response<Bytes>, String> {
        let open = self.open().clone();
        let Some((handler, env)) = open else {
            return Err("connect: connection refused".to_owned());
        };
        let request = Request::post(path_and_query)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| error.to_string())?;
        let answered = env.spawn("webhook", async move { handler.call(request).await }).await;
        answered.map_err(|_| "EOF".to_owned())
    }

    pub(crate) fn open_with(&self, handler: Handler, env: Env) {
        *self.open() = Some((handler, env));
        self.0.opened.notify_waiters();
    }

    pub(crate) fn close(&self) {
        *self.open() = None;
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Option<(Handler, Env)>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}
