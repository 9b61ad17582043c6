//! The embedded API server: cost of requests, memory, time to start, watches.

mod client;
mod growth;
pub(crate) mod hello;
mod object;
mod requests;
mod sockets;
mod start;
mod thread;
pub(crate) mod tls;

use crate::Failure;
use crate::harness::{Options, Suite};

/// Runs the suite; answers whether every limit held.
///
/// # Errors
/// When something could not be measured.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut suite = Suite::start("apiserver", options)?;
    requests::run(&mut suite).await?;
    sockets::run(&mut suite).await?;
    start::run(&mut suite).await?;
    growth::run(&mut suite).await?;
    Ok(suite.finish())
}
