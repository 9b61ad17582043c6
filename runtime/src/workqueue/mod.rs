//! A queue of keys for workers. Knows nothing of Kubernetes.
//!
//! - A key waits at most once, however often it is added; what the wake-ups bring is merged ([`Merge`]).
//! - A key is with one worker at a time. Added while it runs, it runs once more afterwards.
//! - Delays of any length, zero included, live in one ordered set under one timer.
//! - A key that failed waits for an exponentially growing, jittered time of its own; success forgets that.
//! - Order: [`Class`], then round-robin over groups, then first come, first served; within a group, keys that never
//!   ran go before keys that did. A key that waited long rises a class, so none starves.
//!
//! A key leaves the queue by [`WorkQueue::get`] and must come back by [`WorkQueue::done`].

mod backoff;
mod bucket;
mod config;
mod delays;
mod lanes;
mod queue;
mod state;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub(crate) use bucket::Bucket;
pub use config::{Class, Config, Group, Hooks, RateLimit};
pub use queue::{Item, Meanwhile, Next, Stats, WorkQueue};

/// What several wake-ups of one key come to.
pub trait Merge {
    /// Takes in what a later wake-up brought.
    fn merge(&mut self, later: Self);
}

impl Merge for () {
    fn merge(&mut self, (): Self) {}
}
