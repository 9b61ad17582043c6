//! Probes and the metrics endpoint over HTTP.

mod access;
mod endpoints;
mod server;
mod state;

pub use access::{MetricsAccess, Reviewer};
pub use endpoints::router;
pub use server::{ListenError, Server, bind};
pub use state::Health;
