//! Holds writes to the lease.

use std::fmt;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService, target_of};
use crate::client::fence::WriteFence;

/// The layer: a write that carries a [`WriteFence`] is sent only while it is open, and given up when it closes.
#[derive(Clone)]
pub(super) struct Fenced {
    inner: LayeredService,
}

impl Fenced {
    pub(super) fn new(inner: LayeredService) -> Self {
        Self { inner }
    }
}

impl Service<Request<Body>> for Fenced {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let Some(fence) = request.extensions().get::<WriteFence>().cloned() else {
            return Box::pin(inner.oneshot(request));
        };
        if *request.method() == http::Method::GET || target_of(&request).is_some_and(|target| !target.is_write()) {
            return Box::pin(inner.oneshot(request));
        }
        Box::pin(async move {
            if !fence.is_open() {
                fence.count_refused();
                return Err(FenceRefusal { sent: false }.into());
            }
            tokio::select! {
                biased;
                answer = inner.oneshot(request) => answer,
                () = fence.closed_now() => {
                    fence.count_abandoned();
                    Err(FenceRefusal { sent: true }.into())
                }
            }
        })
    }
}

/// A write that the fence held back or gave up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FenceRefusal {
    pub(crate) sent: bool,
}

impl fmt::Display for FenceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sent {
            "given up when the lease ran out"
        } else {
            "not sent: this replica does not hold the lease"
        })
    }
}

impl std::error::Error for FenceRefusal {}
