//! One controller: which changes wake which keys, and the workers that reconcile them.
//!
//! Informers → `sources` (predicates, handlers) → work queue → `workers` → `run` (one key once) → outcome →
//! queue. A controller waits for the caches of its own watches and for no others, so a kind that cannot be watched
//! holds back only what depends on it.

mod any;
mod catch_up;
mod echo;
mod guard;
mod loops;
mod parts;
mod pausing;
mod primary;
mod resync;
mod run;
mod sources;
mod status;
mod wake;
mod workers;

pub(crate) use any::AnyController;
pub use any::Controller;
pub(crate) use catch_up::CatchUps;
pub(crate) use parts::Services;
pub(crate) use sources::planned;
