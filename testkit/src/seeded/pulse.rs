//! Whether a run gets anywhere: its time passes, or its story grows.
//!
//! Statics, since a run is a process of its own, and since who looks is not in the run's thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How far the run's time has come, in nanoseconds, and how many lines its story has.
static PASSED: AtomicU64 = AtomicU64::new(0);
static LINES: AtomicU64 = AtomicU64::new(0);

/// What was seen at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pulse {
    passed: u64,
    lines: u64,
}

impl Pulse {
    /// How it is now.
    pub(super) fn now() -> Self {
        Self {
            passed: PASSED.load(Ordering::Relaxed),
            lines: LINES.load(Ordering::Relaxed),
        }
    }

    /// How far the run's time has come.
    pub(super) fn passed(self) -> Duration {
        Duration::from_nanos(self.passed)
    }
}

/// The run has nothing to do at this moment of its time: the clock goes on.
pub(super) fn beat(passed: Duration) {
    PASSED.store(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// A line was added to a story.
pub(crate) fn line() {
    LINES.fetch_add(1, Ordering::Relaxed);
}
