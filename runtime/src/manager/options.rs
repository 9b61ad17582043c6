//! How a manager runs in one process: what differs between deployments, not between programs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::error::ManagerError;
use crate::finalizer::Leftovers;
use crate::health::MetricsAccess;
use crate::leader::LeaderElection;
use crate::webhook::Serving;

/// What a deployment chooses. The command line fills it in; tests set fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Leader election; `None` leads at once, which is only right where one replica runs. Default: `None`.
    pub leader_election: Option<LeaderElection>,
    /// Where `/metrics` is served. Default: nowhere.
    pub metrics_addr: Option<SocketAddr>,
    /// Where `/healthz`, `/readyz` and `/statusz` are served. Default: nowhere. May equal `metrics_addr`.
    pub health_addr: Option<SocketAddr>,
    /// How webhooks are served; needed where there are any. Default: not at all.
    pub webhooks: Option<Serving>,
    /// Namespaces to watch; empty for all. Default: all.
    pub namespaces: Vec<String>,
    /// The most objects that the operator may delete within a minute, over all controllers; beyond it a deletion is an
    /// error that is retried. Default: no limit.
    pub deletes_per_minute: Option<u32>,
    /// Whether kinds of which the cache holds a megabyte or more are compressed. Without, a read of what is not decoded
    /// costs a few microseconds less, and the cache takes several times the memory. Default: true.
    pub cache_compression: bool,
    /// How long running reconciles may take to finish after a request to stop. Default: 30 s.
    pub stop_within: Duration,
    /// Concurrent reconciles of controllers, by their names, instead of what they declare. Default: as declared.
    pub workers: BTreeMap<String, usize>,
    /// Requests per second to the API server, Leases apart; as many again may be made at once after a quiet time.
    /// Default: no limit, since the server has its own (priority and fairness).
    pub client_rate: Option<u32>,
    /// Who may read `/metrics`. Default: everybody who reaches the address.
    pub metrics_access: MetricsAccess,
    /// Set while the operator is taken out of the cluster.
    pub(crate) leaving: Option<Leftovers>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            leader_election: None,
            metrics_addr: None,
            health_addr: None,
            webhooks: None,
            namespaces: Vec::new(),
            deletes_per_minute: None,
            cache_compression: true,
            stop_within: Duration::from_secs(30),
            workers: BTreeMap::new(),
            client_rate: None,
            metrics_access: MetricsAccess::Open,
            leaving: None,
        }
    }
}

impl Options {
    /// Finds durations that contradict each other and names that are missing.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Options`] with what to change.
    pub fn check(&self) -> Result<(), ManagerError> {
        if let Some((name, _)) = self.workers.iter().find(|(_, workers)| **workers == 0) {
            return Err(ManagerError::Options(format!(
                "controller `{name}` needs at least 1 worker"
            )));
        }
        let checked = self.leader_election.as_ref().map_or(Ok(()), LeaderElection::check);
        checked.map_err(|wrong| ManagerError::Options(wrong.to_owned()))
    }
}
