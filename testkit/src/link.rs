//! The wire between a replica and the server, which a test can cut.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame};
use kubewright::kube;
use tower::Service;

/// Where a replica dies. Writes are counted from 1; those to Leases and events do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The n-th write is not sent.
    BeforeWrite(u64),
    /// The n-th write takes effect, its answer never arrives.
    AfterWrite(u64),
}

/// What is known of one replica's wire.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    cut: AtomicBool,
    writes: AtomicU64,
    crash: Option<Crash>,
}

impl Wire {
    pub(crate) fn new(crash: Option<Crash>) -> Arc<Self> {
        Arc::new(Self {
            crash,
            ..Self::default()
        })
    }

    /// From now on nothing passes, in either direction.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }
}

/// A transport that ends where its wire is cut: a request neither fails nor is answered, as for a process that is gone.
#[derive(Clone, Debug)]
pub(crate) struct Link<S> {
    inner: S,
    wire: Arc<Wire>,
}

impl<S> Link<S> {
    pub(crate) fn new(inner: S, wire: Arc<Wire>) -> Self {
        Self { inner, wire }
    }
}

impl<S, B> Service<Request<kube::client::Body>> for Link<S>
where
    S: Service<Request<kube::client::Body>, Response = Response<B>, Error = Infallible, Future: Send + 'static>,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Gated<B>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let wire = Arc::clone(&self.wire);
        let number = if counts(&request) {
            wire.writes.fetch_add(1, Ordering::SeqCst) + 1
        } else {
            0
        };
        if number > 0 && wire.crash == Some(Crash::BeforeWrite(number)) {
            wire.cut();
        }
        if wire.is_cut() {
            return Box::pin(pending());
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if number > 0 && wire.crash == Some(Crash::AfterWrite(number)) {
                wire.cut();
            }
            if wire.is_cut() {
                return pending().await;
            }
            answer.map(|response| {
                response.map(|body| Gated {
                    body: Box::pin(body),
                    wire,
                })
            })
        })
    }
}

/// Whether a request is a write that a crash is counted by.
fn counts(request: &Request<kube::client::Body>) -> bool {
    let path = request.uri().path();
    request.method() != http::Method::GET && !path.contains("/leases") && !path.contains("/events")
}

/// A body that stops where the wire is cut.
pub(crate) struct Gated<B> {
    body: Pin<Box<B>>,
    wire: Arc<Wire>,
}

impl<B: Body<Data = Bytes>> Body for Gated<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.wire.is_cut() {
            return Poll::Pending;
        }
        self.body.as_mut().poll_frame(cx)
    }
}
