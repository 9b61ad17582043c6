//! Probes and the metrics endpoint over HTTP.

mod endpoints;
mod server;
mod state;

pub use endpoints::router;
pub use server::{Server, bind};
pub use state::Health;
