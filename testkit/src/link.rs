//! The wire between a replica and the server, which a test can hold or cut.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame};
use kubewright::env::{Gate, Held, Run};
use kubewright::kube;
use tower::{Service, ServiceExt as _};

use crate::story::Story;

/// Where a replica dies. Writes are counted from 1; those to Leases and events do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The n-th write is not sent.
    BeforeWrite(u64),
    /// The n-th write takes effect, its answer never arrives.
    AfterWrite(u64),
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeWrite(number) => write!(f, "crash before write {number}"),
            Self::AfterWrite(number) => write!(f, "crash after write {number}"),
        }
    }
}

/// One replica's wire: its gate, which its tasks stand behind too, and the network.
#[derive(Debug)]
pub(crate) struct Wire {
    gate: Gate,
    /// Paused while the network loses every packet of the replica.
    network: Gate,
    writes: AtomicU64,
    crash: Option<Crash>,
    story: Story,
}

impl Wire {
    pub(crate) fn new(gate: Gate, crash: Option<Crash>, story: Story) -> Arc<Self> {
        Arc::new(Self {
            gate,
            network: Gate::new(),
            writes: AtomicU64::new(0),
            crash,
            story,
        })
    }

    /// The gate of the replica.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The gate of its packets.
    pub(crate) fn network(&self) -> &Gate {
        &self.network
    }

    pub(crate) fn is_partitioned(&self) -> bool {
        self.network.run() == Run::Paused
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Kills the replica if it crashes there.
    fn crash_at(&self, point: Crash, what: &str) {
        if self.crash == Some(point) {
            self.gate.kill();
            self.story.fault(&point.to_string(), what);
        }
    }

    /// Returns while packets pass and the replica can handle them.
    async fn passed(&self) {
        self.network.passed().await;
        self.gate.passed().await;
    }
}

/// A transport that stands still with its replica and ends with it: a request of a replica that is gone neither fails
/// nor is answered.
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
    S: Service<Request<kube::client::Body>, Response = Response<B>, Error = io::Error, Future: Send + 'static>
        + Clone
        + Send
        + 'static,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Gated<B>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (wire, inner) = (Arc::clone(&self.wire), self.inner.clone());
        Box::pin(async move {
            wire.passed().await;
            let number = if counts(&request) {
                wire.writes.fetch_add(1, Ordering::SeqCst) + 1
            } else {
                0
            };
            let what = format!("{} {}", request.method(), request.uri().path());
            if number > 0 {
                wire.crash_at(Crash::BeforeWrite(number), &what);
                wire.passed().await;
            }
            let answer = inner.oneshot(request).await;
            if number > 0 {
                wire.crash_at(Crash::AfterWrite(number), &what);
            }
            wire.passed().await;
            answer.map(|response| response.map(|body| Gated::new(body, &wire)))
        })
    }
}

/// Whether a request is a write that a crash is counted by.
fn counts(request: &Request<kube::client::Body>) -> bool {
    let path = request.uri().path();
    request.method() != http::Method::GET && !path.contains("/leases") && !path.contains("/events")
}

/// A body that stands still with its replica, and while the network does.
pub(crate) struct Gated<B> {
    body: Pin<Box<B>>,
    network: Turnstile,
    gate: Turnstile,
}

/// May be polled again and again; ready while its gate is open.
type Turnstile = Held<std::future::PollFn<fn(&mut Context<'_>) -> Poll<()>>>;

impl<B> Gated<B> {
    fn new(body: B, wire: &Wire) -> Self {
        let turnstile = |gate: &Gate| {
            let open: fn(&mut Context<'_>) -> Poll<()> = |_| Poll::Ready(());
            gate.hold(std::future::poll_fn(open))
        };
        Self {
            body: Box::pin(body),
            network: turnstile(&wire.network),
            gate: turnstile(&wire.gate),
        }
    }
}

impl<B: Body<Data = Bytes>> Body for Gated<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        ready!(Pin::new(&mut self.network).poll(cx));
        ready!(Pin::new(&mut self.gate).poll(cx));
        self.body.as_mut().poll_frame(cx)
    }
}
