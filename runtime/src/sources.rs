//! Sources of keys from outside the cluster: what else may wake a controller.
//!
//! A source is a stream of keys of the primary kind, which a function of the controller makes when it starts; the key
//! `source = f`, or [`Declaration::source`](crate::Declaration::source), names the function. Each key that the stream
//! yields is reconciled, with [`Reason::Source`](crate::diagnostics::Reason::Source); one that names no object is not. The
//! stream is polled where the controller runs, so under a Lease on the leader only. When it ends, nothing else does.
//!
//! ```
//! use kubewright::prelude::*;
//! use kubewright::sources::{self, Inbox, Waker};
//!
//! #[controller(for = ConfigMap, source = Synced::notices)]
//! struct Synced {
//!     inbox: Inbox,
//! }
//!
//! impl Synced {
//!     fn notices(&self) -> impl sources::Keys + use<> {
//!         self.inbox.keys()
//!     }
//! }
//!
//! impl Reconciler for Synced {
//!     async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> {
//!         Ok(Action::await_change())
//!     }
//! }
//!
//! let (waker, inbox) = sources::channel();
//! let manager = Manager::new("synced").controller(Synced { inbox });
//! # let _ = manager;
//! // Where the outside world calls, say in the handler of a webhook:
//! waker.wake(ObjectKey::new("default", "settings"));
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::key::ObjectKey;

/// A stream of keys, as a source answers it.
pub trait Keys: Stream<Item = ObjectKey> + Send + 'static {}

impl<S: Stream<Item = ObjectKey> + Send + 'static> Keys for S {}

/// A function from a controller to a stream of keys.
#[diagnostic::on_unimplemented(
    message = "this is no source of keys for `{C}`",
    label = "expected `fn(&{C}) -> impl sources::Keys + use<>`",
    note = "the stream owns what it needs: it lives longer than the borrow of the controller"
)]
pub trait SourceFn<C, M>: Send + Sync + 'static {
    /// Starts the stream.
    #[doc(hidden)]
    fn keys(&self, controller: &C) -> BoxStream<'static, ObjectKey>;
}

/// Marks functions whose stream owns what it needs.
#[derive(Debug)]
pub struct Owning<S>(std::marker::PhantomData<S>);

#[diagnostic::do_not_recommend]
impl<C, F, S> SourceFn<C, Owning<S>> for F
where
    F: Fn(&C) -> S + Send + Sync + 'static,
    S: Keys,
{
    fn keys(&self, controller: &C) -> BoxStream<'static, ObjectKey> {
        self(controller).boxed()
    }
}

/// A way to wake keys from anywhere in the process, and the inbox that a controller's source reads.
///
/// Nothing is lost while the controller does not run, and nothing is kept twice: a key that was woken several times
/// before it is reconciled is reconciled once.
#[must_use]
pub fn channel() -> (Waker, Inbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Waker(sender), Inbox(Arc::new(Mutex::new(receiver))))
}

/// Wakes keys. Cheap to clone.
#[derive(Clone)]
pub struct Waker(mpsc::UnboundedSender<ObjectKey>);

impl Waker {
    /// Wakes a key; it never waits. Once the controller is gone this does nothing.
    pub fn wake(&self, key: ObjectKey) {
        let _ = self.0.send(key);
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waker(..)")
    }
}

/// Where the keys of a [`Waker`] arrive. The controller holds it.
pub struct Inbox(Arc<Mutex<mpsc::UnboundedReceiver<ObjectKey>>>);

impl Inbox {
    /// The keys as they arrive; ends when the last [`Waker`] is gone. Streams of one inbox share its keys.
    pub fn keys(&self) -> impl Keys + use<> {
        let receiver = Arc::clone(&self.0);
        stream::poll_fn(move |cx| {
            let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.poll_recv(cx)
        })
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox(..)")
    }
}

/// Wakes `key` every `period`, the first time after one: for the one object that stands for something outside. For all
/// objects there is the key `resync`.
///
/// A tick that comes late is not made up for.
///
/// # Panics
///
/// When `period` is zero.
pub fn every(period: Duration, key: ObjectKey) -> impl Keys + use<> {
    assert!(!period.is_zero(), "a source cannot tick every zero seconds");
    let ticks = stream::unfold(None, move |interval| async move {
        let mut interval = interval.unwrap_or_else(|| {
            let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        });
        interval.tick().await;
        Some(((), Some(interval)))
    });
    ticks.map(move |()| key.clone())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_inbox_yields_what_was_woken_and_ends_with_its_last_waker() {
        let (waker, inbox) = channel();
        let mut keys = Box::pin(inbox.keys());
        assert!(keys.next().now_or_never().is_none());
        waker.wake(ObjectKey::new("a", "x"));
        assert_eq!(keys.next().await, Some(ObjectKey::new("a", "x")));
        drop(waker);
        assert_eq!(keys.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_ticks_after_each_period() {
        let begun = tokio::time::Instant::now();
        let mut keys = Box::pin(every(Duration::from_secs(60), ObjectKey::new("a", "x")));
        keys.next().await;
        keys.next().await;
        assert_eq!(begun.elapsed(), Duration::from_secs(120));
    }
}
