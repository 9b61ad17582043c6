//! Probes and the metrics endpoint over HTTP.

mod endpoints;
mod server;
mod state;

pub use endpoints::router;
pub use server::{ListenError, Server, bind};
pub use state::Health;
