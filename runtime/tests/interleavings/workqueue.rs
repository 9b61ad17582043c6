//! The queue, without its tests.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "what the library uses of it, these tests need not"
)]

#[path = "../../src/workqueue/backoff.rs"]
mod backoff;
#[path = "../../src/workqueue/bucket.rs"]
mod bucket;
#[path = "../../src/workqueue/config.rs"]
mod config;
#[path = "../../src/workqueue/delays.rs"]
mod delays;
#[path = "../../src/workqueue/lanes.rs"]
mod lanes;
#[path = "../../src/workqueue/queue.rs"]
mod queue;
#[path = "../../src/workqueue/state.rs"]
mod state;

pub use config::{Class, Config, Group, Hooks, RateLimit};
pub use queue::{Item, Meanwhile, Next, Stats, WorkQueue};

/// As in the library.
pub trait Merge {
    /// Takes in what a later wake-up brought.
    fn merge(&mut self, later: Self);
}

impl Merge for () {
    fn merge(&mut self, (): Self) {}
}
