//! A place for tests to answer, delay or cut requests.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService, whole};

/// Decides what befalls a request.
pub trait FaultHook: Send + Sync + 'static {
    /// Called once per request, before it is sent. The extensions hold its [`Origin`](crate::client::Origin) and
    /// [`Target`](crate::client::Target).
    fn decide(&self, request: &Parts) -> Fault;

    /// The body of an answer that passed, before the caller sees it; watches may be cut or held here.
    fn answer(&self, request: &Parts, response: Response<AnswerBody>) -> Response<AnswerBody> {
        let _ = request;
        response
    }
}

/// What befalls a request.
#[derive(Clone, Debug, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    Pass,
    /// This answer comes instead of the server's.
    Answer(http::StatusCode, Bytes),
    /// The request is sent after the first delay, and its answer comes after the second.
    Delay(Duration, Duration),
    /// The connection breaks before the request is sent.
    CutBefore,
    /// The connection breaks after the server has carried the request out.
    CutAfter,
    /// The server carries the request out and no answer ever comes.
    HangAfter,
}

/// The layer.
#[derive(Clone)]
pub(super) struct Faults {
    hook: Arc<dyn FaultHook>,
    inner: LayeredService,
}

impl Faults {
    pub(super) fn new(hook: Arc<dyn FaultHook>, inner: LayeredService) -> Self {
        Self { hook, inner }
    }
}

impl Service<Request<Body>> for Faults {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let hook = Arc::clone(&self.hook);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let fault = hook.decide(&parts);
            let seen = parts.clone();
            let request = Request::from_parts(parts, body);
            let response = match fault {
                Fault::Pass => inner.oneshot(request).await?,
                Fault::Answer(code, body) => {
                    let mut response = Response::new(whole(body));
                    *response.status_mut() = code;
                    return Ok(response);
                }
                Fault::Delay(before, after) => {
                    tokio::time::sleep(before).await;
                    let response = inner.oneshot(request).await?;
                    tokio::time::sleep(after).await;
                    response
                }
                Fault::CutBefore => return Err(FaultError { sent: false }.into()),
                Fault::CutAfter => {
                    inner.oneshot(request).await?;
                    return Err(FaultError { sent: true }.into());
                }
                Fault::HangAfter => {
                    inner.oneshot(request).await?;
                    return std::future::pending().await;
                }
            };
            Ok(hook.answer(&seen, response))
        })
    }
}

/// A connection that a [`FaultHook`] broke.
#[derive(Clone, Copy, Debug)]
pub struct FaultError {
    /// Whether the server had the request.
    pub sent: bool,
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sent {
            "connection reset by peer"
        } else {
            "connection refused"
        })
    }
}

impl std::error::Error for FaultError {}
