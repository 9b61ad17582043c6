//! The life of a manager: start in order, work, stop in reverse.

use super::builder::Manager;
use super::error::ManagerError;
use super::options::Options;
use super::shutdown::Shutdown;

/// Runs a checked manager.
pub(super) async fn run(
    manager: Manager,
    client: kube::Client,
    options: Options,
    stop: Shutdown,
) -> Result<(), ManagerError> {
    let _ = (manager, client, options);
    stop.wait().await;
    Ok(())
}
