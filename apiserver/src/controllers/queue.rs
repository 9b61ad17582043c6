//! The work queue of one controller: first come first served, a key at most once, delays, backoff.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Delay after the first failure; doubled with every further one.
const FIRST_BACKOFF: Duration = Duration::from_millis(5);
/// The longest delay.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// Keys waiting for one worker.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    added: Notify,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    queued: BTreeSet<K>,
    delayed: BTreeMap<(Instant, u64), K>,
    due: BTreeMap<K, (Instant, u64)>,
    failures: BTreeMap<K, u32>,
    resting: BTreeMap<K, Instant>,
    sequence: u64,
}

impl<K: Ord + Clone> Default for Queue<K> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                queued: BTreeSet::new(),
                delayed: BTreeMap::new(),
                due: BTreeMap::new(),
                failures: BTreeMap::new(),
                resting: BTreeMap::new(),
                sequence: 0,
            }),
            added: Notify::new(),
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Adds a key at the end, unless it waits already. One that rests is added when it has rested.
    pub fn add(&self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Adds a key once `delay` has passed. Of several delays of one key the earliest counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        let mut state = self.lock();
        let now = Instant::now();
        let rested = state.resting.get(&key).copied().unwrap_or(now);
        let at = rested.max(now + delay);
        if at <= now {
            state.make_ready(key);
            drop(state);
            return self.added.notify_one();
        }
        if state.due.get(&key).is_some_and(|(earlier, _)| *earlier <= at) {
            return;
        }
        state.sequence += 1;
        let slot = (at, state.sequence);
        if let Some(old) = state.due.insert(key.clone(), slot) {
            state.delayed.remove(&old);
        }
        state.delayed.insert(slot, key);
        drop(state);
        self.added.notify_one();
    }

    /// Adds a key after a pause that doubles with every call since the last [`forget`](Self::forget).
    pub fn add_failed(&self, key: K) {
        let failures = {
            let mut state = self.lock();
            let failures = state.failures.entry(key.clone()).or_insert(0);
            *failures += 1;
            *failures
        };
        let delay = FIRST_BACKOFF
            .saturating_mul(1 << (failures - 1).min(20))
            .min(LONGEST_BACKOFF);
        self.add_after(key, delay);
    }

    /// Lets a key rest: it is not given out again before this long from now.
    pub fn rest(&self, key: &K, pause: Duration) {
        let mut state = self.lock();
        let now = Instant::now();
        state.resting.retain(|_, until| *until > now);
        if !pause.is_zero() {
            state.resting.insert(key.clone(), now + pause);
            if state.queued.remove(key) {
                state.ready.retain(|k| k != key);
                drop(state);
                self.add(key.clone());
            }
        }
    }

    /// Takes every key that is ready, in order.
    pub fn drain(&self) -> Vec<K> {
        let mut state = self.lock();
        state.queued.clear();
        state.ready.drain(..).collect()
    }

    /// Ends the backoff of a key.
    pub fn forget(&self, key: &K) {
        self.lock().failures.remove(key);
    }

    /// The next key; waits for one. Sets no timer unless a delayed key waits.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped while it waits.
    pub async fn next(&self) -> K {
        loop {
            let due = {
                let mut state = self.lock();
                state.promote();
                if let Some(key) = state.ready.pop_front() {
                    state.queued.remove(&key);
                    return key;
                }
                state.delayed.keys().next().map(|(at, _)| *at)
            };
            let timer = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.added.notified() => {}
                () = timer => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone> State<K> {
    fn make_ready(&mut self, key: K) {
        if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn promote(&mut self) {
        let now = Instant::now();
        while let Some(entry) = self.delayed.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.make_ready(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_only_once_and_keeps_its_place() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        assert_eq!(queue.next().await, "b");
        queue.add_after("c", Duration::from_secs(1));
        queue.add("d");
        assert_eq!(queue.next().await, "d");
        assert_eq!(queue.next().await, "c");
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_delays_the_earliest_counts() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add_after("a", Duration::from_secs(9));
        queue.add_after("a", Duration::from_secs(2));
        queue.add_after("a", Duration::from_secs(5));
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        let more = tokio::time::timeout(Duration::from_secs(60), queue.next()).await;
        assert!(more.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_rests_is_not_given_out_before_its_time() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add("a");
        queue.add("b");
        queue.rest(&"a", Duration::from_millis(7));
        queue.add("a");
        assert_eq!(queue.next().await, "b");
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), Duration::from_millis(7));
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), Duration::from_millis(7));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off_until_forgotten() {
        let queue = Queue::default();
        let start = Instant::now();
        for _ in 0..3 {
            queue.add_failed("a");
            queue.next().await;
        }
        assert_eq!(start.elapsed(), Duration::from_millis(5 + 10 + 20));
        queue.forget(&"a");
        queue.add_failed("a");
        queue.next().await;
        assert_eq!(start.elapsed(), Duration::from_millis(40));
    }
}
