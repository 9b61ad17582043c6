use std::time::Duration;

/// Delays between attempts of one failing key: doubled after each failure, forgotten after a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first failure.
    pub min: Duration,
    /// No delay is longer.
    pub max: Duration,
}

impl Default for Backoff {
    /// 5 ms to 1000 s, as client-go's work queue has it.
    fn default() -> Self {
        Self {
            min: Duration::from_millis(5),
            max: Duration::from_secs(1000),
        }
    }
}

impl Backoff {
    /// Sets the delay after the first failure.
    #[must_use]
    pub fn min(mut self, delay: Duration) -> Self {
        self.min = delay;
        self
    }

    /// Sets the longest delay.
    #[must_use]
    pub fn max(mut self, delay: Duration) -> Self {
        self.max = delay;
        self
    }
}

/// A limit on how many reconciles of a controller start, over all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Reconciles per second in the long run.
    pub per_second: u32,
    /// How many may start at once after a quiet time.
    pub burst: u32,
}
