//! The HTTP servers of a manager.

use crate::client::Transport;
use crate::health::{self, Health, MetricsAccess, Reviewer, Server, router};
use crate::metrics::Metrics;

use super::error::ManagerError;
use super::options::Options;

/// Listens where the options say; one server where both addresses are the same.
///
/// # Errors
///
/// An address that cannot be had.
pub(super) async fn listen(
    options: &Options,
    health: &Health,
    metrics: &Metrics,
    transport: &Transport,
) -> Result<Vec<Server>, ManagerError> {
    let health = health.clone();
    let reviewer = (options.metrics_access == MetricsAccess::Reviewed).then(|| Reviewer::new(transport.clone()));
    let metrics = (metrics.clone(), reviewer);
    let mut servers = Vec::new();
    if options.metrics_addr == options.health_addr
        && let Some(addr) = options.metrics_addr.filter(|addr| addr.port() != 0)
    {
        let both = router(Some(health), Some(metrics));
        servers.push(health::bind(addr, both, "metrics and health probes", "--metrics").await?);
        return Ok(servers);
    }
    if let Some(addr) = options.metrics_addr {
        servers.push(health::bind(addr, router(None, Some(metrics)), "metrics", "--metrics").await?);
    }
    if let Some(addr) = options.health_addr {
        servers.push(health::bind(addr, router(Some(health), None), "health probes", "--health").await?);
    }
    Ok(servers)
}
