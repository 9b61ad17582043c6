//! The engine, beside kube-runtime and, where Go is installed, controller-runtime: one controller, written for each, on
//! the embedded server.
//!
//! The server runs in this process and counts writes by User-Agent; each controller is a process of its own, whose CPU
//! time the system tells. Every measurement begins with a new server and an empty cache.

mod cases;
mod cluster;
mod golang;
mod object;
mod ours;
mod peer;
mod wake;
pub(crate) mod work;
mod worker;

use std::time::Duration;

use self::cases::{Converging, Storm};
use self::cluster::Cluster;
use self::work::{Side, What};
use self::worker::Programs;
use crate::Failure;
use crate::harness::{Case, Options, Suite};

/// How long it must be silent before it counts as converged.
const QUIET: Duration = Duration::from_millis(700);
/// How long a converged controller is watched.
const WATCHED: Duration = Duration::from_secs(3);
/// Events of one turn of a storm.
const EVENTS: usize = 10_000;
/// Events of one turn that are sent one after the other, and how far apart.
const PACED: usize = 1_500;
const PACE: Duration = Duration::from_millis(2);

/// Measures the engine; answers whether every limit held.
///
/// # Errors
/// When a process ends early or the server refuses something.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut suite = Suite::start("engine", options)?;
    let folder = tempfile::tempdir()?;
    let go = golang::build(folder.path()).await;
    if let Err(why) = &go {
        println!("SKIPPED: all cases ending in -go, since {why}");
    }
    let programs = Programs::new(go.ok())?;
    for case in cases::CONVERGING {
        converge(&mut suite, &programs, case).await?;
    }
    for storm in cases::STORMS {
        events(&mut suite, &programs, storm).await?;
    }
    latency(&mut suite, &programs).await?;
    turns(&mut suite, &programs).await?;
    wakes(&mut suite).await?;
    Ok(suite.finish())
}

/// The controllers that are measured, in the order of each turn.
fn sides(programs: &Programs) -> Vec<Side> {
    let mut sides = vec![Side::Ours, Side::Peer];
    if programs.go.is_some() {
        sides.push(Side::Go);
    }
    sides
}

/// What one side was measured at, turn by turn.
#[derive(Default)]
struct Taken([Vec<f64>; 3]);

impl Taken {
    fn add(&mut self, side: Side, value: f64) {
        self.0[side as usize].push(value);
    }

    fn of(&self, side: Side) -> &[f64] {
        &self.0[side as usize]
    }

    /// Records ours beside kube-runtime's, and again beside controller-runtime's where that was measured.
    fn record(&self, suite: &mut Suite, case: &Case, with_go: &Case) -> Result<(), Failure> {
        if suite.wants(case) {
            suite.record(case, self.of(Side::Ours), self.of(Side::Peer))?;
        }
        if suite.wants(with_go) && !self.of(Side::Go).is_empty() {
            suite.record(with_go, self.of(Side::Ours), self.of(Side::Go))?;
        }
        Ok(())
    }
}

/// From nothing to a ConfigMap and a status for each note, then silence, then a restart.
async fn converge(suite: &mut Suite, programs: &Programs, case: &Converging) -> Result<(), Failure> {
    if !case.all().iter().any(|case| suite.wants(case)) {
        return Ok(());
    }
    let (mut writes, mut later, mut again) = (Taken::default(), Taken::default(), Taken::default());
    let (mut cpu, mut reconciles) = (Taken::default(), Taken::default());
    for _ in 0..suite.samples(&case.cpu) {
        for side in sides(programs) {
            let cluster = Cluster::start(case.notes).await?;
            let all = of(case.notes);
            let mut worker = programs.start(&cluster, side, What::Converge, case.workers).await?;
            worker.until(all).await?;
            cluster.until_silent(QUIET).await;
            cpu.add(side, worker.used()? * 1e6 / all);
            reconciles.add(side, worker.reconciles().await? / all);
            let converged = cluster.writes();
            writes.add(side, number(converged) / all);
            if case.silence.is_some() {
                tokio::time::sleep(WATCHED).await;
                later.add(side, number(cluster.writes() - converged));
                worker.kill().await?;
                let before = cluster.writes();
                let mut worker = programs.start(&cluster, side, What::Converge, case.workers).await?;
                worker.until(all).await?;
                cluster.until_silent(QUIET).await;
                again.add(side, number(cluster.writes() - before));
            }
        }
    }
    cpu.record(suite, &case.cpu, &case.cpu_go)?;
    if let Some(silence) = &case.silence {
        for (case, taken) in [
            (&silence.writes, &writes),
            (&silence.reconciles, &reconciles),
            (&silence.later, &later),
            (&silence.restart, &again),
        ] {
            if suite.wants(case) {
                suite.record(case, taken.of(Side::Ours), taken.of(Side::Peer))?;
            }
        }
    }
    Ok(())
}

/// Changes that ask for nothing, as fast as they are taken.
async fn events(suite: &mut Suite, programs: &Programs, storm: &Storm) -> Result<(), Failure> {
    if !suite.wants(&storm.cpu) && !suite.wants(&storm.cpu_go) {
        return Ok(());
    }
    let mut taken = Taken::default();
    let mut running = Vec::new();
    for side in sides(programs) {
        let cluster = Cluster::start(storm.notes).await?;
        let mut worker = programs.start(&cluster, side, What::Noop, storm.workers).await?;
        worker.until(of(storm.notes)).await?;
        running.push((side, cluster, worker));
    }
    // One turn more than is measured, for the unmeasured first.
    for turn in 0..=suite.samples(&storm.cpu) {
        for (side, cluster, worker) in &mut running {
            let (before, seen) = (worker.used()?, worker.reconciles().await?);
            let mut sent = 0;
            while sent < EVENTS {
                // Never one note twice before it was looked at: what is coalesced costs nothing.
                let some = (EVENTS - sent).min(storm.notes);
                cluster.touch(some).await?;
                sent += some;
                worker.until(seen + of(sent)).await?;
            }
            if turn > 0 {
                taken.add(*side, (worker.used()? - before) * 1e6 / of(EVENTS));
            }
        }
    }
    taken.record(suite, &storm.cpu, &storm.cpu_go)
}

/// How long it takes from a change to its reconcile.
async fn latency(suite: &mut Suite, programs: &Programs) -> Result<(), Failure> {
    if !suite.wants(&cases::P99) && !suite.wants(&cases::P99_GO) {
        return Ok(());
    }
    let mut taken = Taken::default();
    let mut running = Vec::new();
    for side in sides(programs) {
        let cluster = Cluster::start(cases::NOTES).await?;
        let mut worker = programs.start(&cluster, side, What::Latency, cases::WORKERS).await?;
        worker.until(of(cases::NOTES)).await?;
        running.push((side, cluster, worker));
    }
    for turn in 0..=suite.samples(&cases::P99) {
        for (side, cluster, worker) in &mut running {
            let seen = worker.reconciles().await?;
            cluster.touch_slowly(PACED, PACE).await?;
            worker.until(seen + of(PACED)).await?;
            let p99 = worker.ask("p99").await?;
            if turn > 0 {
                taken.add(*side, p99);
            }
        }
    }
    taken.record(suite, &cases::P99, &cases::P99_GO)
}

/// Whether some are looked at twice before others are looked at once.
async fn turns(suite: &mut Suite, programs: &Programs) -> Result<(), Failure> {
    if !suite.wants(&cases::FIRST) && !suite.wants(&cases::FIRST_GO) {
        return Ok(());
    }
    let mut taken = Taken::default();
    for _ in 0..suite.samples(&cases::FIRST) {
        for side in sides(programs) {
            let cluster = Cluster::start(cases::NOTES).await?;
            let mut worker = programs.start(&cluster, side, What::Turns, cases::WORKERS).await?;
            worker.until(of(cases::NOTES)).await?;
            cluster.until_silent(QUIET).await;
            taken.add(side, worker.ask("left").await?);
        }
    }
    taken.record(suite, &cases::FIRST, &cases::FIRST_GO)
}

/// What a wake-up costs as more is in flight.
async fn wakes(suite: &mut Suite) -> Result<(), Failure> {
    suite
        .compare(
            cases::WAKE_0,
            async || wake::ours(0).await,
            async || wake::peer(0).await,
        )
        .await?;
    suite
        .compare(
            cases::WAKE_50K,
            async || wake::ours(cases::IN_FLIGHT).await,
            async || wake::ours(0).await,
        )
        .await?;
    let peer = async || wake::peer(cases::IN_FLIGHT).await;
    suite.measure(cases::WAKE_50K_PEER, peer).await
}

#[allow(clippy::cast_precision_loss, reason = "few notes")]
fn of(count: usize) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss, reason = "few writes")]
fn number(count: u64) -> f64 {
    count as f64
}
