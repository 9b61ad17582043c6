//! The time that requests, answers and events are on their way.
//!
//! It lies right around the server's transport, so that whatever a test puts between (faults, a wire that is cut)
//! sees messages as they leave and arrive.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use kubewright::kube;
use tokio::time::{Instant, Sleep, sleep};
use tower::Service;

use crate::random::Random;

/// Frames of a watch that may be on their way at once.
const IN_FLIGHT: usize = 64;

/// How long each message between a client and the server is on its way: requests, answers, and each event of a watch
/// after the one before it. Drawn from the seed for each. Default: 1 to 5 ms.
///
/// Zero would make a cluster in which a write's event is everywhere before the write's answer is read, and with it a
/// class of bugs that no test finds. [`Latency::none`] is for tests that count on exact times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    least: Duration,
    most: Duration,
}

impl Default for Latency {
    fn default() -> Self {
        Self::between(Duration::from_millis(1), Duration::from_millis(5))
    }
}

impl Latency {
    /// Drawn evenly from a range. tokio's timers count in milliseconds: what lies between takes effect at the next.
    ///
    /// # Panics
    ///
    /// When `least` is more than `most`, or `most` more than an hour.
    #[must_use]
    pub fn between(least: Duration, most: Duration) -> Self {
        assert!(
            least <= most,
            "the latency's range is upside down: {least:?} to {most:?}"
        );
        assert!(
            most <= Duration::from_secs(3600),
            "a latency of {most:?} is none that messages have: `Fault::slow` delays single requests for as long as you like"
        );
        Self { least, most }
    }

    /// Messages arrive at once.
    #[must_use]
    pub fn none() -> Self {
        Self::between(Duration::ZERO, Duration::ZERO)
    }

    fn is_none(self) -> bool {
        self.most.is_zero()
    }

    fn range(self) -> RangeInclusive<Duration> {
        self.least..=self.most
    }
}

/// What lies between the server and the clients of one cluster.
#[derive(Debug)]
pub(crate) struct Network {
    seed: u64,
    latency: Latency,
    /// How many links there are. Each draws from a sequence of its own.
    links: AtomicU64,
}

impl Network {
    pub(crate) fn new(seed: u64, latency: Latency) -> Self {
        Self {
            seed,
            latency,
            links: AtomicU64::new(0),
        }
    }

    /// One more link, over the server's transport.
    pub(crate) fn around<S>(&self, transport: S) -> Delaying<S> {
        let number = self.links.fetch_add(1, Ordering::Relaxed);
        let random = Random::new(self.seed, &format!("link {number}"));
        Delaying::new(transport, self.latency, random)
    }
}

/// A transport whose messages take time.
#[derive(Clone, Debug)]
pub(crate) struct Delaying<S> {
    inner: S,
    latency: Latency,
    random: Arc<Mutex<Random>>,
}

impl<S> Delaying<S> {
    fn new(inner: S, latency: Latency, random: Random) -> Self {
        Self {
            inner,
            latency,
            random: Arc::new(Mutex::new(random)),
        }
    }

    fn draw(&self) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.duration(&self.latency.range())
    }
}

impl<S, B> Service<Request<kube::client::Body>> for Delaying<S>
where
    S: Service<Request<kube::client::Body>, Response = Response<B>, Error: Send, Future: Send> + Clone + Send + 'static,
    B: Body<Data = Bytes, Error: Send + Unpin> + Send + 'static,
{
    type Response = Response<Delayed<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        // The one that was asked whether it is ready is the one to be called.
        let waiting = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, waiting);
        if self.latency.is_none() {
            let answer = inner.call(request);
            return Box::pin(async move { Ok(answer.await?.map(Delayed::not)) });
        }
        let (there, back) = (self.draw(), self.draw());
        let events = is_watch(&request).then(|| Events {
            latency: self.latency,
            random: Arc::clone(&self.random),
        });
        // What is on its way arrives, whatever becomes of the client: a request is not unsent by dropping it.
        let sent = tokio::spawn(async move {
            sleep(there).await;
            inner.call(request).await
        });
        Box::pin(async move {
            let answer = match sent.await {
                Ok(answer) => answer?,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime is ending, and this task with it.
                    Err(_) => std::future::pending().await,
                },
            };
            sleep(back).await;
            Ok(answer.map(|body| Delayed::new(body, events)))
        })
    }
}

fn is_watch(request: &Request<kube::client::Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

#[derive(Debug)]
struct Events {
    latency: Latency,
    random: Arc<Mutex<Random>>,
}

/// A body whose frames arrive later than they are sent, in their order.
pub(crate) struct Delayed<B: Body> {
    body: Pin<Box<B>>,
    way: Option<Way<B>>,
}

/// What a body gave: a frame, or what ended it.
type Sent<B> = Result<Frame<Bytes>, <B as Body>::Error>;

/// Frames on their way.
struct Way<B: Body> {
    events: Events,
    /// Each with the time at which it arrives; `None` is the end.
    frames: VecDeque<(Instant, Option<Sent<B>>)>,
    ended: bool,
    timer: Pin<Box<Sleep>>,
}

impl<B: Body<Data = Bytes>> Delayed<B> {
    fn not(body: B) -> Self {
        Self::new(body, None)
    }

    fn new(body: B, events: Option<Events>) -> Self {
        let way = |events| Way {
            events,
            frames: VecDeque::new(),
            ended: false,
            timer: Box::pin(sleep(Duration::ZERO)),
        };
        Self {
            body: Box::pin(body),
            way: events.map(way),
        }
    }
}

impl<B: Body<Data = Bytes>> Way<B> {
    /// Takes what the server has sent.
    fn fill(&mut self, body: &mut Pin<Box<B>>, cx: &mut Context<'_>) {
        while !self.ended && self.frames.len() < IN_FLIGHT {
            let Poll::Ready(frame) = body.as_mut().poll_frame(cx) else {
                return;
            };
            let before = self.frames.back().map(|(at, _)| *at);
            let mut random = self.events.random.lock().unwrap_or_else(PoisonError::into_inner);
            let at = Instant::now() + random.duration(&self.events.latency.range());
            self.ended = !matches!(frame, Some(Ok(_)));
            self.frames
                .push_back((before.map_or(at, |before| before.max(at)), frame));
        }
    }
}

impl<B: Body<Data = Bytes, Error: Unpin>> Body for Delayed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Self { body, way } = &mut *self;
        let Some(way) = way else {
            return body.as_mut().poll_frame(cx);
        };
        way.fill(body, cx);
        let Some((at, _)) = way.frames.front() else {
            return if way.ended { Poll::Ready(None) } else { Poll::Pending };
        };
        if way.timer.deadline() != *at {
            way.timer.as_mut().reset(*at);
        }
        ready!(pin!(&mut way.timer).poll(cx));
        let frame = way.frames.pop_front().and_then(|(_, frame)| frame);
        // There is room for one more, and nobody else would ask for it.
        way.fill(body, cx);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.way {
            Some(way) => way.ended && way.frames.is_empty(),
            None => self.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.way {
            Some(_) => SizeHint::default(),
            None => self.body.size_hint(),
        }
    }
}
