//! Owns and starts everything in order, and stops it in reverse.
//!
//! Start: HTTP servers (a port in use ends it here) → webhooks, which wait for nothing → informers, each as soon as a
//! controller asks for it → controllers and runnables that need no leader → the election → controllers and runnables
//! that do. Each controller waits for the caches of its own watches only.
//!
//! Caches of what needs the leader begin under the Lease, or before it where a controller says `warmup` or one that needs
//! no leader watches the same. What was there before the Lease catches up first: a consistent list of names and
//! versions, taken once it is held, must be in the cache before the first reconcile.
//!
//! Stop: no new reconciles, the running ones finish (at most [`Options::stop_within`]) while the Lease is still
//! renewed → events are sent → the Lease is given back → informers and servers end. Webhooks answer until then.

mod builder;
mod error;
mod group;
mod listen;
mod migrate;
mod options;
mod publish;
mod run;
mod runnable;
mod uninstall;
mod webhooks;

pub use builder::Manager;
pub use error::ManagerError;
pub use options::Options;
pub use runnable::{RunContext, Runnable};
pub use uninstall::{Stuck, Uninstall, Uninstalled};

pub use crate::finalizer::Leftovers;
pub use crate::health::MetricsAccess;
pub use crate::leader::LeaderElection;
pub use crate::shutdown::Shutdown;
