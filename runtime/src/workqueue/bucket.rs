//! A token bucket, kept as the time at which it would be full again (the generic cell rate algorithm).

use std::time::Duration;

use crate::sync::Instant;

use super::config::RateLimit;

/// Lets `burst` pass at once and one more every interval.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    tolerance: Duration,
    full_at: Option<Instant>,
}

impl Bucket {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let interval = Duration::from_secs(1) / limit.per_second.max(1);
        Self {
            interval,
            tolerance: interval * (limit.burst.max(1) - 1),
            full_at: None,
        }
    }

    /// When the next token is there; `now` or earlier if one is there already.
    pub(crate) fn ready_at(&self, now: Instant) -> Instant {
        let full_at = self.full_at.unwrap_or(now).max(now);
        full_at.checked_sub(self.tolerance).map_or(now, |at| at.max(now))
    }

    /// Takes a token; call only when [`ready_at`](Self::ready_at) is not in the future.
    pub(crate) fn take(&mut self, now: Instant) {
        self.full_at = Some(self.full_at.unwrap_or(now).max(now) + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_then_the_rate_holds() {
        let mut bucket = Bucket::new(RateLimit {
            per_second: 10,
            burst: 3,
        });
        let start = Instant::now();
        let mut passed = Vec::new();
        let mut now = start;
        for _ in 0..6 {
            now = bucket.ready_at(now);
            bucket.take(now);
            passed.push((now - start).as_millis());
        }
        assert_eq!(passed, [0, 0, 0, 100, 200, 300]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_time_fills_the_bucket_no_further_than_its_burst() {
        let mut bucket = Bucket::new(RateLimit {
            per_second: 1,
            burst: 2,
        });
        let later = Instant::now() + Duration::from_secs(3600);
        for expected in [0, 0, 1, 2] {
            let at = bucket.ready_at(later + Duration::ZERO).max(later);
            assert_eq!((at - later).as_secs(), expected);
            bucket.take(at);
        }
    }
}
