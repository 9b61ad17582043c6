//! The one place where somebody else may have a say in a request: before it is carried out, before it is answered, and
//! in what a watch delivers.
//!
//! What tests need for faults: an error instead of the write, an error although the write took effect, a slow answer,
//! an answer that never comes, a connection that breaks, a watch that lags.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::log::{EventRecord, RequestRecord};
use crate::error::ApiError;
use crate::storage::Horizon;

/// What becomes of a request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Verdict {
    /// It goes on.
    #[default]
    Pass,
    /// It is answered so instead.
    Answer(Box<ApiError>),
    /// Its connection breaks: the client gets an error of kind `ConnectionReset`, over HTTP/1.1 the end of the
    /// connection, over HTTP/2 of the stream.
    Cut,
    /// As if no server listened: an error of kind `ConnectionRefused`. Only before the request is carried out; over a
    /// socket, where the connection stands already, it is the same as [`Verdict::Cut`].
    Refuse,
    /// Neither an answer comes nor does the connection break.
    Lose,
}

/// The answer of an [`Interceptor`]; awaiting something before it is given delays the request.
pub type Verdicts<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Has a say in every request. Its methods run in the request's own task, so a slow one delays that request only.
pub trait Interceptor: Send + Sync {
    /// Called once the request may be carried out, before it has any effect. The record's code is 0.
    ///
    /// A request that is cut, refused or lost here is not in the request log: the server never had it.
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let _ = request;
        Box::pin(std::future::ready(Verdict::Pass))
    }

    /// Called once the request has had its effect, with the code that it is about to be answered with.
    ///
    /// A request that is cut or lost here is in the log with code 0.
    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let _ = request;
        Box::pin(std::future::ready(Verdict::Pass))
    }

    /// Called for each list before it is read: how much of what was written its connection is shown, where it does not
    /// ask for the newest state. `None` shows everything.
    fn list(&self, request: &RequestRecord) -> Option<Horizon> {
        let _ = request;
        None
    }

    /// Called for each watch before it begins: who has a say in what it delivers.
    fn watch(&self, request: &RequestRecord) -> Option<Arc<dyn WatchInterceptor>> {
        let _ = request;
        None
    }
}

/// Has a say in what one watch delivers.
pub trait WatchInterceptor: Send + Sync {
    /// How much of what was written the watch is shown; it may move and be cut while the watch goes on.
    fn horizon(&self) -> Horizon;

    /// Called for each event as its reader takes it, bookmarks included.
    fn event(&self, event: &EventRecord<'_>) -> Delivery {
        let _ = event;
        Delivery::Pass
    }
}

/// What becomes of a watch event.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Delivery {
    /// It is delivered.
    #[default]
    Pass,
    /// It is delivered twice.
    Twice,
    /// The connection breaks before it is delivered.
    CutBefore,
    /// It is delivered, then the connection breaks.
    CutAfter,
    /// An ERROR event comes instead, and the watch ends.
    Fail(Box<ApiError>),
}
