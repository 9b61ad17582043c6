//! The queue as its users see it.

use std::fmt;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Merge;
use super::config::{Class, Config};
use super::state::{Done, State, Take};
use crate::sync::{Mutex, MutexGuard, Notify, now, sleep_until};

/// The longest that one timer is set for; tokio's wheel ends at about two years.
const LONGEST_SLEEP: Duration = Duration::from_secs(24 * 3600);

/// A queue of keys. Clones share it. See the module's documentation for the order.
pub struct WorkQueue<K, T = ()>(Arc<Shared<K, T>>);

struct Shared<K, T> {
    config: Config<K>,
    state: Mutex<State<K, T>>,
    /// Wakes workers: something waits, or the queue was closed.
    work: Notify,
    /// Wakes the timer: the next deadline may have moved.
    timer: Notify,
}

/// A key on its way through a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<K, T = ()> {
    /// The key; no other worker has it.
    pub key: K,
    /// What the wake-ups brought.
    pub payload: T,
    /// 1, and one more for each failure since the last success.
    pub attempt: u32,
    /// How long it waited for a worker.
    pub waited: Duration,
}

/// What should become of a key that a worker is done with.
#[derive(Debug)]
pub enum Next<T> {
    /// Waits until it is added. Failures are forgotten.
    Settled,
    /// Runs again after that time, or when it is added. Failures are forgotten.
    After(Duration, T),
    /// Failed: runs again after its backoff, or when it is added.
    Backoff {
        /// How long the retry waits; [`WorkQueue::backoff`] tells.
        delay: Duration,
        /// What the retry brings.
        due: T,
    },
    /// What the key stands for is gone: nothing of it is kept.
    Forget,
}

/// What becomes of wake-ups that came while a key ran, where they may be its own doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// The key runs once more.
    Runs,
    /// They wait for the time that [`Next`] sets, and are told then; where it sets none, they are dropped.
    Waits,
    /// They are dropped: what they tell, the run knew.
    Drops,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys that wait for a worker.
    pub waiting: usize,
    /// Keys that wait for a time.
    pub delayed: usize,
    /// Keys with workers.
    pub running: usize,
    /// How long those have run, together.
    pub unfinished: Duration,
    /// How long the longest of those has run.
    pub longest_running: Duration,
}

impl<K, T> WorkQueue<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Merge + Default + Send + 'static,
{
    /// An empty queue. Delays pass only while [`run_timer`](Self::run_timer) is polled, or a worker takes a key.
    #[must_use]
    pub fn new(config: Config<K>) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(config.clone())),
            config,
            work: Notify::new(),
            timer: Notify::new(),
        }))
    }

    /// Wakes a key. Where it waits already, it rises to `class` and the payloads merge; where it runs, it runs again.
    pub fn add(&self, key: K, class: Class, payload: T) {
        let waits = self.state().add(key, class, payload, now());
        self.announce(usize::from(waits));
    }

    /// As [`add`](Self::add), but does not cut short a backoff: for wake-ups that the key caused itself.
    pub fn add_patiently(&self, key: K, class: Class, payload: T) {
        let waits = self.state().add_patiently(key, class, payload, now());
        self.announce(usize::from(waits));
    }

    /// As [`add`](Self::add), but not where the key runs: for wake-ups that its run knows of already.
    pub fn add_unless_running(&self, key: K, class: Class, payload: T) {
        let waits = self.state().add_unless_running(key, class, payload, now());
        self.announce(usize::from(waits));
    }

    /// Wakes a key after `delay` unless it runs before; the earlier of two delays holds. Any delay will do: zero is
    /// at once, and one beyond a century is as good as never.
    pub fn add_after(&self, key: K, delay: Duration, class: Class, payload: T) {
        if delay.is_zero() {
            self.add(key, class, payload);
            return;
        }
        self.state().add_after(key, delay, class, payload, now());
        self.0.timer.notify_one();
    }

    /// The next key, once there is one; `None` once the queue is closed. Give it back with [`done`](Self::done).
    ///
    /// # Cancel safety
    ///
    /// Safe: a key is taken only when the future is ready.
    pub async fn get(&self) -> Option<Item<K, T>> {
        loop {
            let mut changed = pin!(self.0.work.notified());
            let (take, woken, more) = {
                let now = now();
                let mut state = self.state();
                let woken = state.promote(now);
                let take = state.take(now);
                (take, woken, state.has_waiting())
            };
            for _ in 0..woken {
                self.0.config.hooks.added();
            }
            match take {
                Take::Item(item) => {
                    if more {
                        self.0.work.notify_one();
                    }
                    self.0.config.hooks.started(item.waited);
                    return Some(item);
                }
                Take::Closed => return None,
                Take::Empty => changed.await,
                Take::Limited(at) => {
                    tokio::select! {
                        biased;
                        () = &mut changed => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// How long a key that fails now should wait: longer with each failure since the last success, spread by jitter.
    /// Asked before [`done`](Self::done), so that a failure can be told before another worker may take the key.
    #[must_use]
    pub fn backoff(&self, key: &K) -> Duration {
        self.state().backoff(key)
    }

    /// Gives a key back. Woken meanwhile, it runs once more.
    pub fn done(&self, key: &K, next: Next<T>) {
        self.done_with(key, next, |_| Meanwhile::Runs);
    }

    /// As [`done`](Self::done); `judge` is asked about what was added while the key ran, if anything was, and may change
    /// it. It is called under the queue's lock and must not call the queue.
    pub fn done_with(&self, key: &K, next: Next<T>, judge: impl FnOnce(&mut T) -> Meanwhile) {
        let failed = matches!(next, Next::Backoff { .. });
        let Done { worked, waits } = self.state().done(key, next, judge, now());
        self.0.config.hooks.finished(worked);
        if failed {
            self.0.config.hooks.retried();
        }
        self.announce(usize::from(waits));
        self.0.timer.notify_one();
    }

    /// Wakes keys when their time comes, until the queue is closed. One such future per queue, beside its workers.
    ///
    /// # Cancel safety
    ///
    /// Safe: delays are kept, and pass late where nobody polls.
    pub async fn run_timer(&self) {
        loop {
            let mut moved = pin!(self.0.timer.notified());
            let now = now();
            let (woken, next, closed) = {
                let mut state = self.state();
                (state.promote(now), state.next_due(), state.closed)
            };
            self.announce(woken);
            if closed {
                return;
            }
            match next {
                None => moved.await,
                Some(next) => {
                    tokio::select! {
                        biased;
                        () = &mut moved => {}
                        () = sleep_until(next.min(now + LONGEST_SLEEP)) => {}
                    }
                }
            }
        }
    }

    /// Gives out no more keys. Keys with workers may still be given back.
    pub fn close(&self) {
        self.state().closed = true;
        self.0.work.notify_waiters();
        self.0.timer.notify_one();
    }

    /// How much there is to do.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.state().stats(now())
    }

    fn announce(&self, began_to_wait: usize) {
        for _ in 0..began_to_wait {
            self.0.config.hooks.added();
            self.0.work.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K, T>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, T> Clone for WorkQueue<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> fmt::Debug for WorkQueue<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}
