//! A cap on deletions: a faulty release, or a wrong selector, takes away little before somebody looks.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Counts deletions over the last minute. Clones share the count.
#[derive(Clone)]
pub struct DeleteCap(Arc<Inner>);

struct Inner {
    per_minute: u32,
    sent: Mutex<VecDeque<Instant>>,
    held_back: AtomicU64,
}

const MINUTE: Duration = Duration::from_secs(60);

impl DeleteCap {
    /// Lets so many pass within any minute; none, if it is 0.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self(Arc::new(Inner {
            per_minute,
            sent: Mutex::default(),
            held_back: AtomicU64::new(0),
        }))
    }

    /// The most within a minute.
    #[must_use]
    pub fn per_minute(&self) -> u32 {
        self.0.per_minute
    }

    /// Deletions that were not sent.
    #[must_use]
    pub fn held_back(&self) -> u64 {
        self.0.held_back.load(Ordering::Relaxed)
    }

    /// Counts a deletion that is about to be sent; false if it must not be.
    pub(crate) fn admits(&self) -> bool {
        let now = Instant::now();
        let mut sent = self.0.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
            sent.pop_front();
        }
        if sent.len() >= self.0.per_minute as usize {
            self.0.held_back.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        sent.push_back(now);
        true
    }
}

impl fmt::Debug for DeleteCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeleteCap")
            .field("per_minute", &self.0.per_minute)
            .field("held_back", &self.held_back())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_deletions_than_the_cap() {
        let cap = DeleteCap::new(3);
        let mut admitted = Vec::new();
        for second in 0..150_u64 {
            if cap.admits() {
                admitted.push(second);
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(admitted, [0, 1, 2, 60, 61, 62, 120, 121, 122]);
        assert_eq!(cap.held_back(), 141);
        assert!(!DeleteCap::new(0).admits());
    }
}
