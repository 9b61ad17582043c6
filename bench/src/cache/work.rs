//! What a measured process does.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kubewright::kube;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::objects::PLURAL;
use super::{ours, peer};
use crate::Failure;

/// Whose code a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Side {
    /// Kubewright
    Ours,
    /// Kubewright without compression
    Plain,
    /// kube-runtime
    Peer,
}

/// What a process does with the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Cache them
    Store,
    /// Reconcile each once
    Reconcile,
    /// Twenty controllers hear of each
    Twenty,
    /// Begin to reconcile each and never finish
    Hold,
}

/// What a measured process is told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Where the objects are served
    #[arg(long)]
    pub(crate) url: String,
    /// Which objects
    #[arg(long)]
    pub(crate) plural: String,
    /// How many there are
    #[arg(long)]
    pub(crate) count: u64,
    /// Whose code
    #[arg(long)]
    pub(crate) side: Side,
    /// What to do with them
    #[arg(long)]
    pub(crate) what: What,
}

/// Events that came through, counted by whoever is the first to hear of them.
pub(crate) static EVENTS: AtomicU64 = AtomicU64::new(0);
/// Reconciles that have begun.
pub(crate) static RECONCILES: AtomicU64 = AtomicU64::new(0);

/// A cache under measurement.
pub(crate) trait Cache {
    /// Returns when every object has been listed, and been given to the controllers there are.
    async fn synced(&self);
    /// How many lists were done.
    fn lists(&self) -> u64;
    /// Measures reads; what each number means is up to who asks.
    async fn reads(&self) -> Result<Vec<f64>, Failure>;
}

/// Runs a measured process until its standard input ends.
///
/// # Errors
/// When the server cannot be reached.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut lines = input();
    let client = kube::Client::try_from(kube::Config::new(options.url.parse()?))?;
    say("ready", &[]);
    lines.recv().await.ok_or("a worker is told to go")?;
    match options.side {
        Side::Peer if options.plural == PLURAL => serve(peer::store_of_custom(client), lines).await,
        Side::Peer => serve(peer::start(client, options.what), lines).await,
        Side::Ours | Side::Plain => serve(ours::start(client, options), lines).await,
    }
}

async fn serve(cache: impl Cache, mut lines: mpsc::UnboundedReceiver<String>) -> Result<bool, Failure> {
    cache.synced().await;
    say("synced", &[cpu_seconds()]);
    while let Some(line) = lines.recv().await {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("events", count) => events(count.parse()?).await,
            ("relist", _) => {
                let before = cache.lists();
                say("ready", &[]);
                while cache.lists() == before {
                    sleep(Duration::from_millis(5)).await;
                }
                say("done", &[]);
            }
            ("reads", _) => say("done", &cache.reads().await?),
            _ => return Err(format!("a worker knows no `{line}`").into()),
        }
    }
    Ok(true)
}

/// Tells the CPU microseconds of each of so many events.
#[allow(clippy::cast_precision_loss, reason = "few events")]
async fn events(count: u64) {
    let wanted = EVENTS.load(Ordering::Relaxed) + count;
    let before = cpu_seconds();
    say("ready", &[]);
    while EVENTS.load(Ordering::Relaxed) < wanted {
        sleep(Duration::from_millis(20)).await;
    }
    // What the last event still leads to.
    sleep(Duration::from_millis(100)).await;
    say("done", &[(cpu_seconds() - before) * 1e6 / count as f64]);
}

/// CPU time of this process.
#[allow(clippy::cast_precision_loss, reason = "seconds to the microsecond")]
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn say(word: &str, numbers: &[f64]) {
    let numbers: String = numbers.iter().map(|number| format!(" {number}")).collect();
    println!("{word}{numbers}");
}

/// Lines of standard input, read by a thread of its own: it costs the measured ones nothing.
fn input() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
