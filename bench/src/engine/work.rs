//! What a measured process does, and what it keeps of its reconciles.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kubewright::kube::Config;
use kubewright::kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::mpsc;

use super::cluster::wall_nanoseconds;
use super::object::SENT;
use super::{ours, peer};
use crate::Failure;

/// Whose code a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Side {
    /// Kubewright
    Ours,
    /// kube-runtime
    Peer,
    /// controller-runtime, which is a program of its own
    #[value(skip)]
    Go,
}

/// What a process does with the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Apply a ConfigMap and a status for each
    Converge,
    /// The same, and note who was looked at how often
    Turns,
    /// Nothing
    Noop,
    /// Nothing, and note how long ago the note was changed
    Latency,
}

/// What a measured process is told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// How to reach the server
    #[arg(long)]
    pub(crate) kubeconfig: PathBuf,
    /// Whose code
    #[arg(long)]
    pub(crate) side: Side,
    /// What to do
    #[arg(long)]
    pub(crate) what: What,
    /// How many notes may be reconciled at once
    #[arg(long)]
    pub(crate) workers: usize,
    /// How many notes there are
    #[arg(long)]
    pub(crate) count: usize,
}

/// What a process keeps of its reconciles.
pub(crate) struct Ledger {
    what: What,
    count: usize,
    reconciles: AtomicU64,
    turns: Mutex<Turns>,
    latencies: Mutex<Vec<i64>>,
}

/// Who was looked at how often.
#[derive(Default)]
struct Turns {
    of: BTreeMap<String, u32>,
    twice: usize,
    /// How many had not been looked at when half had been looked at twice.
    left: usize,
}

impl Ledger {
    fn new(options: &Options) -> Self {
        Self {
            what: options.what,
            count: options.count,
            reconciles: AtomicU64::new(0),
            turns: Mutex::default(),
            latencies: Mutex::default(),
        }
    }

    /// Whether reconciles write.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.what, What::Converge | What::Turns)
    }

    /// Called when a reconcile begins.
    pub(crate) fn begins(&self, name: &str, annotations: Option<&BTreeMap<String, String>>) {
        self.reconciles.fetch_add(1, Ordering::Relaxed);
        match self.what {
            What::Converge | What::Noop => {}
            What::Turns => self.turn(name),
            What::Latency => {
                let sent = annotations.and_then(|all| all.get(SENT)?.parse::<i64>().ok());
                if let Some(sent) = sent {
                    let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
                    latencies.push(wall_nanoseconds() - sent);
                }
            }
        }
    }

    fn turn(&self, name: &str) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let times = turns.of.entry(name.to_owned()).or_default();
        *times += 1;
        if *times != 2 {
            return;
        }
        turns.twice += 1;
        if turns.twice == self.count / 2 {
            turns.left = self.count - turns.of.len();
        }
    }

    /// The 99th percentile of the latencies since the last call, in microseconds.
    #[allow(clippy::cast_precision_loss, reason = "microseconds need no more")]
    fn slowest(&self) -> f64 {
        let mut latencies = std::mem::take(&mut *self.latencies.lock().unwrap_or_else(PoisonError::into_inner));
        latencies.sort_unstable();
        let at = (latencies.len() * 99).div_ceil(100).saturating_sub(1);
        latencies
            .get(at)
            .map_or(f64::NAN, |nanoseconds| *nanoseconds as f64 / 1e3)
    }
}

/// Runs a measured process until its standard input ends.
///
/// # Errors
/// When the server cannot be reached.
#[allow(clippy::cast_precision_loss, reason = "few reconciles")]
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut lines = input();
    let file = Kubeconfig::read_from(&options.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    // It lives as long as the process.
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new(options)));
    say("ready", 0.0);
    lines.recv().await.ok_or("a worker is told to go")?;
    match options.side {
        Side::Ours => ours::start(config, options.workers, ledger)?,
        Side::Peer => peer::start(config, options.workers, ledger)?,
        Side::Go => return Err("the program in bench/go is its own worker".into()),
    }
    while let Some(line) = lines.recv().await {
        match &*line {
            "count" => say("done", ledger.reconciles.load(Ordering::Relaxed) as f64),
            "left" => say(
                "done",
                ledger.turns.lock().unwrap_or_else(PoisonError::into_inner).left as f64,
            ),
            "p99" => say("done", ledger.slowest()),
            _ => return Err(format!("a worker knows no `{line}`").into()),
        }
    }
    Ok(true)
}

fn say(word: &str, number: f64) {
    println!("{word} {number}");
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
