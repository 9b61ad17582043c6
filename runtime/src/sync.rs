//! The one door of the work queue to locks, wake-ups and time, so that a model checker can put its own in their place
//! (`tests/interleavings`).

pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
pub(crate) use tokio::time::{Instant, sleep_until};

/// The time now.
pub(crate) fn now() -> Instant {
    Instant::now()
}
