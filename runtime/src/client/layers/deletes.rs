//! Holds deletions to a cap.

use std::fmt;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService};
use crate::client::deletes::DeleteCap;

/// The layer: a deletion beyond the cap is not sent.
#[derive(Clone)]
pub(super) struct Capped {
    cap: DeleteCap,
    inner: LayeredService,
}

impl Capped {
    pub(super) fn new(cap: DeleteCap, inner: LayeredService) -> Self {
        Self { cap, inner }
    }
}

impl Service<Request<Body>> for Capped {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if *request.method() == Method::DELETE && !self.cap.admits() {
            let per_minute = self.cap.per_minute();
            return Box::pin(std::future::ready(Err(HeldBack { per_minute }.into())));
        }
        Box::pin(self.inner.clone().oneshot(request))
    }
}

/// A deletion that was not sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldBack {
    pub(crate) per_minute: u32,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not sent: {} deletions within a minute are the most",
            self.per_minute
        )
    }
}

impl std::error::Error for HeldBack {}
