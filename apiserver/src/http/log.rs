//! The request log: one record per request answered, for tests and for `dev` to count by; and who is told of every
//! request, write and watch event as it happens.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::Stream;
use tokio::sync::mpsc;

use crate::resource::Resource;
use crate::storage::{Key, Stored};

/// Who makes a request, where several clients share one user: the name that an in-process client gives itself.
///
/// It travels as an extension of the `http::Request`, so nobody outside the process can set it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller(Arc<str>);

impl Caller {
    /// A caller of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.0
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One request and how it was answered. A watch is recorded when its answer starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Number of the request, counted from 1 in the order in which they came in.
    pub id: u64,
    /// Who made it, where the client said so.
    pub caller: Option<Caller>,
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
    /// The request's query, as it was sent, without its question mark.
    pub query: String,
    /// HTTP status code of the answer; 0 where the request was carried out and no answer came.
    pub code: u16,
}

/// One change of what is stored, made by a request.
#[derive(Clone, Debug)]
pub struct WriteRecord {
    /// [`RequestRecord::id`] of the request; 0 for the server's own controllers.
    pub request: u64,
    /// The client that writes, by the part of its User-Agent before the slash; for the server's own controllers, which
    /// one. It is the field manager unless the request names another.
    pub agent: String,
    /// The revision of the change.
    pub revision: u64,
    /// The object before; absent where the write created it.
    pub old: Option<Arc<Stored>>,
    /// The object after; absent where the write removed it.
    pub new: Option<Arc<Stored>>,
}

/// One watch event, as its reader takes it.
#[derive(Clone, Copy, Debug)]
pub struct EventRecord<'a> {
    /// Who watches, where the client said so.
    pub caller: Option<&'a Caller>,
    /// Name of the user who watches.
    pub user: &'a str,
    /// `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
    pub kind: &'static str,
    /// The resource that is watched.
    pub resource: &'a Resource,
    /// The object; none for bookmarks.
    pub key: Option<&'a Key>,
    /// The revision that the event names.
    pub revision: u64,
}

/// Told of what the server does, in order, in the task that does it; must not block.
pub trait Observer: Send + Sync {
    /// A request changed what is stored.
    fn wrote(&self, write: &WriteRecord) {
        let _ = write;
    }

    /// A request was answered, or its watch began.
    fn answered(&self, request: &RequestRecord) {
        let _ = request;
    }

    /// A watch event was taken by its reader.
    fn delivered(&self, event: &EventRecord<'_>) {
        let _ = event;
    }
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

#[derive(Default)]
pub(crate) struct RequestLogs {
    senders: Mutex<Vec<mpsc::UnboundedSender<Arc<RequestRecord>>>>,
    observers: RwLock<Vec<Arc<dyn Observer>>>,
}

impl RequestLogs {
    pub(crate) fn subscribe(&self) -> RequestLog {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        RequestLog(receiver)
    }

    pub(crate) fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(observer);
    }

    /// Tells every subscriber; the record is only made if there is one.
    pub(crate) fn tell(&self, record: impl FnOnce() -> RequestRecord) {
        let observers = self.observers.read().unwrap_or_else(PoisonError::into_inner);
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.is_empty() && observers.is_empty() {
            return;
        }
        let record = Arc::new(record());
        for observer in &*observers {
            observer.answered(&record);
        }
        senders.retain(|sender| sender.send(Arc::clone(&record)).is_ok());
    }

    pub(crate) fn wrote(&self, write: impl FnOnce() -> WriteRecord) {
        let observers = self.observers.read().unwrap_or_else(PoisonError::into_inner);
        if observers.is_empty() {
            return;
        }
        let write = write();
        for observer in &*observers {
            observer.wrote(&write);
        }
    }

    pub(crate) fn delivered(&self, event: &EventRecord<'_>) {
        for observer in &*self.observers.read().unwrap_or_else(PoisonError::into_inner) {
            observer.delivered(event);
        }
    }
}
