//! The promises, one function each.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::cluster::{Binary, Cluster, Embedded};
use super::figures::Figures;
use crate::Failure;
use crate::process::{Process, until};

/// Apps converge while the operator runs; then it is silent; its memory stays small.
pub(crate) async fn silence(figures: &mut Figures, operator: &Path, apps: usize) -> Result<(), Failure> {
    println!("\n{apps} Apps against an API server that counts requests");
    let folder = tempfile::tempdir()?;
    let embedded = Embedded::start(folder.path(), operator).await?;
    let log = folder.path().join("operator.log");
    let mut process = operator_process("operator", operator, &embedded.cluster, &log, "a")?;
    let mut requests = embedded.server.request_log();
    until_leads(&embedded.cluster, "a").await?;

    let began = Instant::now();
    embedded.cluster.create_apps(0, apps).await?;
    embedded.cluster.until_ready(apps).await?;
    process.must_run(&log)?;
    figures.note("time until all are ready", began.elapsed().as_secs_f64(), "s");
    sleep(Duration::from_secs(2)).await;
    let mut writes = 0;
    while let Some(request) = requests.try_next() {
        let write = !matches!(&*request.verb, "get" | "list" | "watch");
        writes += usize::from(request.user == OPERATOR && write && !matches!(&*request.resource, "leases" | "events"));
    }
    figures.note(
        "writes for each App, Lease and events apart",
        per(writes, apps),
        "requests",
    );
    figures.note(
        "CPU of the operator for each App",
        process.cpu_seconds() * 1e3 / count(apps),
        "ms",
    );
    figures.at_most("resident memory of the operator", process.resident_mb(), 40.0, "MB");
    figures.note("peak of it", process.peak_mb(), "MB");

    sleep(Duration::from_secs(10)).await;
    let mut late = 0;
    while let Some(request) = requests.try_next() {
        if request.user == OPERATOR && request.verb != "watch" && request.resource != "leases" {
            println!("        {} {} {}", request.verb, request.path, request.code);
            late += 1;
        }
    }
    figures.at_most(
        "requests in the 10 s after, watches and Lease apart",
        count(late),
        0.0,
        "requests",
    );
    let stopped = process.stop().await?;
    figures.at_most("time to stop", stopped.as_secs_f64(), 3.0, "s");
    Ok(())
}

/// The operator dies by SIGKILL while the Apps converge; a second one ends what it began.
pub(crate) async fn kill(figures: &mut Figures, operator: &Path, apiserver: &Path, apps: usize) -> Result<(), Failure> {
    println!("\nkill -9 while {apps} Apps converge, then a restart");
    let folder = tempfile::tempdir()?;
    let binary = Binary::start(folder.path(), apiserver, operator).await?;
    let cluster = &binary.cluster;
    let first = operator_process("operator", operator, cluster, &folder.path().join("first.log"), "first")?;
    until_leads(cluster, "first").await?;
    let (created, reached) = tokio::join!(cluster.create_apps(0, apps), async {
        let what = "a part of the Apps is ready";
        until(what, Duration::from_secs(120), || async {
            Ok(cluster.ready().await? >= apps / 4)
        })
        .await
    });
    created?;
    reached?;
    first.kill().await?;
    let half_way = cluster.ready().await?;
    figures.note("Apps ready when it was killed", count(half_way), "Apps");

    let began = Instant::now();
    let log = folder.path().join("second.log");
    let mut second = operator_process("operator", operator, cluster, &log, "second")?;
    cluster.until_ready(apps).await?;
    second.must_run(&log)?;
    figures.note(
        "time until all are ready after the restart, Lease included",
        began.elapsed().as_secs_f64(),
        "s",
    );
    sleep(Duration::from_secs(2)).await;
    for path in [
        "/api/v1/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/replicasets",
        "/api/v1/pods",
        "/api/v1/services",
    ] {
        let there = cluster.children(path).await?;
        let kind = path.rsplit('/').next().unwrap_or(path);
        figures.must(&format!("one of {kind} for each App, {there} in all"), there == apps);
    }
    second.stop().await?;
    Ok(())
}

/// One leads, the other waits; leadership moves when the leader dies and, faster, when it stops.
pub(crate) async fn handover(figures: &mut Figures, operator: &Path, apiserver: &Path) -> Result<(), Failure> {
    println!("\ntwo operators against one API server");
    let folder = tempfile::tempdir()?;
    let binary = Binary::start(folder.path(), apiserver, operator).await?;
    let cluster = &binary.cluster;
    let start = |name: &str| {
        let log = folder.path().join(format!("{name}.log"));
        operator_process(name, operator, cluster, &log, name)
    };
    let first = start("a")?;
    until_leads(cluster, "a").await?;
    let second = start("b")?;
    sleep(Duration::from_secs(4)).await;
    figures.must("the second waits while the first leads", cluster.leader().await? == "a");

    first.kill().await?;
    let took = until_leads(cluster, "b").await?;
    figures.at_most(
        "time until the other leads after kill -9",
        took.as_secs_f64(),
        20.0,
        "s",
    );
    cluster.create_apps(0, 1).await?;
    cluster.until_ready(1).await?;

    let third = start("c")?;
    sleep(Duration::from_secs(4)).await;
    second.ask_to_stop().await?;
    let took = until_leads(cluster, "c").await?;
    figures.at_most("time until the other leads after SIGTERM", took.as_secs_f64(), 3.0, "s");
    cluster.create_apps(1, 2).await?;
    cluster.until_ready(2).await?;
    third.stop().await?;
    Ok(())
}

/// The leader is stopped by SIGSTOP in the middle of its work and continued once the other has ended it: it sends no
/// write. What it had handed to the kernel before is carried out meanwhile, and counted apart.
pub(crate) async fn frozen(figures: &mut Figures, operator: &Path, apps: usize) -> Result<(), Failure> {
    println!("\na leader under SIGSTOP while {apps} Apps converge, continued after the takeover");
    let folder = tempfile::tempdir()?;
    let embedded = Embedded::start(folder.path(), operator).await?;
    let cluster = &embedded.cluster;
    let start = |name: &str| {
        let log = folder.path().join(format!("{name}.log"));
        operator_process(name, operator, cluster, &log, name)
    };
    let first = start("a")?;
    until_leads(cluster, "a").await?;
    let second = start("b")?;
    let mut requests = embedded.server.request_log();
    let mut writes = || {
        let mut count = 0;
        while let Some(request) = requests.try_next() {
            let write = !matches!(&*request.verb, "get" | "list" | "watch");
            let bookkeeping = matches!(&*request.resource, "leases" | "events");
            count += usize::from(request.user == OPERATOR && write && !bookkeeping);
        }
        count
    };
    let (created, reached) = tokio::join!(cluster.create_apps(0, apps), async {
        let what = "a part of the Apps is ready";
        until(what, Duration::from_secs(120), || async {
            Ok(cluster.ready().await? >= apps / 4)
        })
        .await
    });
    created?;
    reached?;
    first.freeze().await?;
    writes();
    sleep(Duration::from_secs(5)).await;
    figures.note("writes carried out after it was frozen", count(writes()), "requests");
    let took = until_leads(cluster, "b").await?;
    figures.note("time until the other leads, from 5 s on", took.as_secs_f64(), "s");
    cluster.until_ready(apps).await?;
    sleep(Duration::from_secs(3)).await;
    writes();
    first.go_on().await?;
    let success = first.ended(Duration::from_secs(30)).await?;
    figures.must("the old leader ends with an error", !success);
    sleep(Duration::from_secs(1)).await;
    figures.at_most("writes once the old leader went on", count(writes()), 0.0, "requests");
    second.stop().await?;
    Ok(())
}

/// The operator's user.
const OPERATOR: &str = "system:serviceaccount:default:app-operator";

fn operator_process(
    name: &str,
    operator: &Path,
    cluster: &Cluster,
    log: &Path,
    identity: &str,
) -> Result<Process, Failure> {
    let kubeconfig = cluster.kubeconfig.display().to_string();
    let args = [
        "run",
        "--kubeconfig",
        &kubeconfig,
        "--identity",
        identity,
        "--metrics",
        "off",
        "--health",
        "off",
    ];
    Process::start(name, operator, &args, log)
}

async fn until_leads(cluster: &Cluster, identity: &str) -> Result<Duration, Failure> {
    let what = format!("{identity} holds the Lease");
    until(&what, Duration::from_secs(60), || async {
        Ok(cluster.leader().await? == identity)
    })
    .await
}

#[allow(clippy::cast_precision_loss, reason = "counts of this size are exact")]
fn count(n: usize) -> f64 {
    n as f64
}

fn per(n: usize, of: usize) -> f64 {
    count(n) / count(of.max(1))
}
