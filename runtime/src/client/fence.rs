//! The write fence: no leader-bound write starts, or goes on, outside the lease.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::env::Env;

/// Open until a deadline on [`Env::boot_time`], or closed. Clones share their state.
///
/// The elector opens it after each successful renewal and closes it when it stops; the client asks it before each
/// write and gives a write up when the deadline passes. Reads are never held back.
#[derive(Clone)]
pub struct WriteFence(Arc<Inner>);

struct Inner {
    env: Env,
    deadline: Mutex<Option<Duration>>,
    changed: Notify,
    refused: AtomicU64,
    abandoned: AtomicU64,
}

impl WriteFence {
    /// A closed fence.
    #[must_use]
    pub fn closed(env: Env) -> Self {
        Self(Arc::new(Inner {
            env,
            deadline: Mutex::new(None),
            changed: Notify::new(),
            refused: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
        }))
    }

    /// A fence that is open for good: for what needs no leader.
    #[must_use]
    pub fn open(env: Env) -> Self {
        let fence = Self::closed(env);
        fence.open_until(Duration::MAX);
        fence
    }

    /// Lets writes pass until `deadline`, counted as [`Env::boot_time`] counts. Replaces the deadline before.
    pub fn open_until(&self, deadline: Duration) {
        *self.deadline() = Some(deadline);
        self.0.changed.notify_waiters();
    }

    /// Lets no write pass, and gives up those in flight.
    pub fn close(&self) {
        *self.deadline() = None;
        self.0.changed.notify_waiters();
    }

    /// Whether a write may start now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.remaining().is_some()
    }

    /// How long writes may still pass; `None` when closed.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = (*self.deadline())?;
        let left = deadline.checked_sub(self.0.env.boot_time())?;
        (!left.is_zero()).then_some(left)
    }

    /// Returns when the fence is closed or its deadline has passed.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn closed_now(&self) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that a change in between is not missed.
            changed.as_mut().enable();
            let Some(left) = self.remaining() else { return };
            // tokio's timer does not run while the machine sleeps; the boot clock is asked again after it.
            let left = left.min(Duration::from_secs(3600));
            tokio::select! {
                biased;
                () = &mut changed => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    /// Writes that were not sent.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Writes that had been sent when the deadline passed.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.0.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn count_refused(&self) {
        self.0.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_abandoned(&self) {
        self.0.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    fn deadline(&self) -> std::sync::MutexGuard<'_, Option<Duration>> {
        self.0.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for WriteFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteFence")
            .field("remaining", &self.remaining())
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_fence_closes_at_its_deadline_and_not_before() {
        let fence = WriteFence::closed(env());
        assert!(!fence.is_open());
        fence.open_until(Duration::from_secs(10));
        let closed = tokio::time::Instant::now();
        fence.closed_now().await;
        assert_eq!(closed.elapsed().as_secs(), 10);
        assert!(!fence.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_moves_the_deadline_of_writes_in_flight() {
        let fence = WriteFence::closed(env());
        fence.open_until(Duration::from_secs(10));
        let renewing = fence.clone();
        let renewal = async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            renewing.open_until(Duration::from_secs(20));
        };
        let start = tokio::time::Instant::now();
        tokio::join!(fence.closed_now(), renewal);
        assert_eq!(start.elapsed().as_secs(), 20);
    }
}
