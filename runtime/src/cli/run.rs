//! `run`: the operator against a real cluster.

use super::args::{ElectionArgs, RunArgs, named};
use super::connect::connect;
use super::{Failure, Logs};
use crate::env::Env;
use crate::manager::{LeaderElection, Manager, Options, Shutdown};
use crate::webhook::certificates::Certificates;
use crate::webhook::{self, Serving, TlsOptions};

/// kube logs each request that fails; the framework does so itself, with what it was for.
const DEFAULT_FILTER: &str = "info,kube_client=off";

/// Runs until a signal stops it or it cannot go on.
pub(super) async fn run(manager: Manager, args: RunArgs) -> Result<(), Failure> {
    Logs::new(args.logs, DEFAULT_FILTER).start()?;
    let client = connect(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;

    let mut options = Options {
        metrics_addr: args.metrics.0,
        metrics_access: args.metrics_access.into(),
        health_addr: args.health.0,
        namespaces: named(args.cluster.watch_namespaces),
        workers: args.workers.into_iter().map(|w| (w.controller, w.count)).collect(),
        client_rate: args.cluster.client_rate,
        deletes_per_minute: args.deletes_per_minute,
        stop_within: args.stop_within,
        ..Options::default()
    };
    if !manager.webhooks().is_empty() {
        let namespace = args.cluster.namespace.as_deref();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace());
        options.webhooks = Some(match args.webhooks.0 {
            // Nobody can call them.
            None => Serving::InProcess(webhook::Endpoint::new()),
            Some(address) => {
                let mut tls = TlsOptions::new(namespace);
                tls.address = address;
                if let Some(directory) = args.webhook_certs {
                    tls.certificates = Certificates::Files(directory);
                }
                Serving::Tls(tls)
            }
        });
    }
    options.leader_election = election(args.election, args.cluster.namespace, &manager, &client);
    let stop = Shutdown::new();
    tokio::spawn(stop_on_signals(stop.clone()));
    manager.run(client, options, stop).await.map_err(Failure::other)
}

/// The Lease that the flags mean, unless they mean none.
pub(super) fn election(
    args: ElectionArgs,
    namespace: Option<String>,
    manager: &Manager,
    client: &kube::Client,
) -> Option<LeaderElection> {
    args.leader_election.then(|| {
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let lease = args.lease_name.unwrap_or_else(|| manager.name().to_owned());
        LeaderElection::new(lease, namespace, args.identity.unwrap_or_else(identity))
    })
}

/// Triggers `stop` at the first signal; ends the process at the second.
pub(crate) async fn stop_on_signals(stop: Shutdown) {
    let signal = Shutdown::signal().await;
    tracing::info!(signal, "stopping: running reconciles end, then the Lease is given back");
    stop.trigger();
    Shutdown::signal().await;
    // 128 + SIGINT: as a shell reports a process that the signal ended.
    std::process::exit(130);
}

/// Host name, process id and a random part: two pods on the network of one host share the former two, and two replicas
/// with one identity would both take the Lease for theirs.
fn identity() -> String {
    let host = std::env::var("HOSTNAME")
        .ok()
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned());
    format!("{host}_{}_{:08x}", std::process::id(), Env::system().next_u64() >> 32)
}
