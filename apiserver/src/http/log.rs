//! The request log: one record per request answered, for tests and for `dev` to count by.

use std::sync::{Arc, Mutex, PoisonError};

use futures::Stream;
use tokio::sync::mpsc;

/// One request and how it was answered. A watch is recorded when its answer starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The user on whose behalf it was made, after impersonation.
    pub user: String,
    /// Kubernetes verb (`get`, `list`, `watch`, `create`, …), or the lower-case method off the resource paths.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural; empty off the resource paths.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Object name, or empty.
    pub name: String,
    /// The request's path.
    pub path: String,
    /// HTTP status code of the answer.
    pub code: u16,
}

/// The records of requests answered since it was made, in order. Dropping it unsubscribes.
#[derive(Debug)]
pub struct RequestLog(mpsc::UnboundedReceiver<Arc<RequestRecord>>);

impl RequestLog {
    /// The next record if there is one already.
    pub fn try_next(&mut self) -> Option<Arc<RequestRecord>> {
        self.0.try_recv().ok()
    }
}

impl Stream for RequestLog {
    type Item = Arc<RequestRecord>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLogs(Mutex<Vec<mpsc::UnboundedSender<Arc<RequestRecord>>>>);

impl RequestLogs {
    pub(crate) fn subscribe(&self) -> RequestLog {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        RequestLog(receiver)
    }

    /// Tells every subscriber; the record is only made if there is one.
    pub(crate) fn tell(&self, record: impl FnOnce() -> RequestRecord) {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.is_empty() {
            return;
        }
        let record = Arc::new(record());
        senders.retain(|sender| sender.send(Arc::clone(&record)).is_ok());
    }
}
