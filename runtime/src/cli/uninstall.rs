//! `uninstall`: the operator taken out of a cluster.

use super::args::{UninstallArgs, named};
use super::connect::connect;
use super::run::{election, stop_on_signals};
use super::{Failure, Logs};
use crate::manager::{Leftovers, Manager, Options, Shutdown, Uninstall, Uninstalled};

/// A person reads the result; what goes on meanwhile is of interest where it goes wrong.
const DEFAULT_FILTER: &str = "warn,kube_client=off";

/// Uninstalls, and prints what came of it.
pub(super) async fn uninstall(manager: Manager, args: UninstallArgs) -> Result<(), Failure> {
    Logs::new(args.logs, DEFAULT_FILTER).start()?;
    let client = connect(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;
    let mut options = Options {
        namespaces: named(args.cluster.watch_namespaces),
        client_rate: args.cluster.client_rate,
        ..Options::default()
    };
    options.leader_election = election(args.election, args.cluster.namespace, &manager, &client);
    let leftovers = if args.delete {
        Leftovers::Delete
    } else {
        Leftovers::Keep
    };
    let mut uninstall = Uninstall::new(leftovers);
    uninstall.within = args.within;
    let stop = Shutdown::new();
    tokio::spawn(stop_on_signals(stop.clone()));
    let name = manager.name().to_owned();
    let uninstalled = manager
        .uninstall(client, options, uninstall, stop)
        .await
        .map_err(Failure::other)?;
    report(&name, leftovers, &uninstalled)
}

fn report(name: &str, leftovers: Leftovers, uninstalled: &Uninstalled) -> Result<(), Failure> {
    let how = match leftovers {
        Leftovers::Keep => "let go",
        Leftovers::Delete => "cleaned up",
    };
    println!("{name}: {} {how}", objects(uninstalled.done));
    for stuck in &uninstalled.stuck {
        println!("stuck: {stuck}");
    }
    if uninstalled.stuck.is_empty() {
        println!("what is left is what `{name} manifests` prints: `kubectl delete -f` takes it");
        return Ok(());
    }
    let reason = uninstalled
        .waits_for
        .clone()
        .unwrap_or_else(|| "mend what is said of them and run this again; it goes on where it ended".to_owned());
    let (stuck, are) = match uninstalled.stuck.len() {
        1 => (1, "is"),
        more => (more, "are"),
    };
    Err(Failure::new(format!("{} {are} stuck: {reason}", objects(stuck))))
}

fn objects(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} object{plural}")
}
