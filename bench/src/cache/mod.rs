//! The cache, beside kube-runtime's reflector and Controller: same objects, same server, by turns.
//!
//! Each figure comes from a process of its own, so that neither memory nor CPU time of another is in it; the server
//! runs in this one.

mod objects;
mod ours;
mod peer;
mod reads;
mod server;
pub(crate) mod work;
mod worker;

use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use self::objects::Chance;
use self::server::{Objects, Server};
use self::work::{Side, What};
use self::worker::{Synced, Worker};
use crate::Failure;
use crate::harness::{self, Case, Limit, Suite};

/// What the suite can be told beyond what all can.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    harness: harness::Options,
    /// The objects follow from it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How many Pods
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pods: usize,
}

const fn case(name: &'static str, what: &'static str, unit: &'static str, limit: Limit) -> Case {
    Case {
        name,
        what,
        unit,
        limit,
        samples: 5,
    }
}

const RSS_PER_POD: Case = case(
    "rss-per-pod",
    "resident memory for each of 50 000 Pods of 4.67 KB; peer: kube-runtime's store",
    "bytes",
    Limit::Times(1.0 / 40.0),
);
const RSS_PER_POD_PLAIN: Case = case(
    "rss-per-pod-plain",
    "the same without compression",
    "bytes",
    Limit::Times(1.0 / 12.0),
);
const PEAK_FIRST_LIST: Case = case(
    "peak-first-list",
    "the most memory while 50 000 Pods are listed first; peer: ours once they are",
    "MB",
    Limit::Times(1.15),
);
const PEAK_RELIST: Case = case(
    "peak-relist",
    "the most memory while 50 000 Pods are listed anew; peer: ours before",
    "MB",
    Limit::Times(1.15),
);
const CPU_SYNCED: Case = case(
    "cpu-synced",
    "CPU time from the start until 50 000 Pods are cached",
    "s",
    Limit::Times(1.0 / 5.0),
);
const CPU_RECONCILED: Case = case(
    "cpu-reconciled-once",
    "CPU time from the start until each Pod was reconciled once by a controller that reads it",
    "s",
    Limit::Times(1.0 / 3.0),
);
const RSS_20K_CUSTOM: Case = case(
    "rss-20k-custom",
    "resident memory of the whole process with 20 000 custom resources of 1.5 KB",
    "MB",
    Limit::AtMost(30.0),
);
const RSS_PER_CUSTOM: Case = case(
    "rss-per-custom",
    "resident memory for each of 50 000 custom resources of 1.5 KB; peer: kube-runtime's store",
    "bytes",
    Limit::None,
);
const CPU_CUSTOM: Case = case(
    "cpu-synced-custom",
    "CPU time from the start until 50 000 custom resources are cached",
    "s",
    Limit::None,
);
const RSS_PER_SECRET: Case = case(
    "rss-per-secret",
    "resident memory for each of 10 000 Secrets of random data; peer: the length of its JSON",
    "bytes",
    Limit::Times(1.1),
);
const GET_HOT: Case = case(
    "get-hot",
    "a get of an object that is kept decoded; peer: a look-up in a std HashMap of as many keys",
    "ns",
    Limit::Times(2.0),
);
const GET_COLD: Case = case(
    "get-cold",
    "a get of an object that is not; peer: decoding its JSON",
    "ns",
    Limit::Times(1.3),
);
const LIST_BY_OWNER: Case = case(
    "list-by-owner",
    "the 10 of 50 000 Pods that have one owner; peer: a get of one of them",
    "ns",
    Limit::Times(12.0),
);
const EVENT: Case = case(
    "event-cpu",
    "CPU time of a status change among 50 000 Pods, which a controller's predicate drops; peer: kube-runtime",
    "µs",
    Limit::Times(1.0 / 4.0),
);
const EVENT_100K: Case = case(
    "event-cpu-100k",
    "the same among 100 000 Pods; peer: event-cpu of ours, by turns",
    "µs",
    Limit::Times(1.2),
);
const EVENT_20_CONTROLLERS: Case = case(
    "event-cpu-20-controllers",
    "the same with 20 controllers that hear of each",
    "µs",
    Limit::Times(1.2),
);
const EVENT_IN_FLIGHT: Case = case(
    "event-cpu-50k-in-flight",
    "the same while a reconcile of every Pod is in flight",
    "µs",
    Limit::Times(1.2),
);

const CUSTOM: usize = 20_000;
const MANY_CUSTOM: usize = 50_000;
const SECRETS: usize = 10_000;
const EVENTS: usize = 10_000;
/// How long a process is left alone before its memory is looked at.
const SETTLED: Duration = Duration::from_millis(500);

/// Measures the cache; answers whether every limit held.
///
/// # Errors
/// When a measured process ends early.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut suite = Suite::start("cache", &options.harness)?;
    pods(&mut suite, options).await?;
    if suite.wants(&EVENT_100K) {
        let one = Server::start(Objects::Pods, options.pods, options.seed).await?;
        let two = Server::start(Objects::Pods, options.pods * 2, options.seed).await?;
        let mut many = Events::of(&two, Side::Ours, What::Reconcile, options).await?;
        let mut few = Events::of(&one, Side::Ours, What::Reconcile, options).await?;
        suite
            .compare(EVENT_100K, async || many.measure().await, async || few.measure().await)
            .await?;
    }
    if suite.wants(&RSS_20K_CUSTOM) {
        let server = Server::start(Objects::Custom, CUSTOM, options.seed).await?;
        let whole = async || Ok(settled(&server, Side::Ours).await?.worker.resident()? / 1024.0);
        suite.measure(RSS_20K_CUSTOM, whole).await?;
    }
    if suite.wants(&RSS_PER_CUSTOM) || suite.wants(&CPU_CUSTOM) {
        let server = Server::start(Objects::Custom, MANY_CUSTOM, options.seed).await?;
        let (mut ours, mut peer) = (Turns::default(), Turns::default());
        for _ in 0..suite.samples(&RSS_PER_CUSTOM) {
            ours.add(&server, Side::Ours).await?;
            peer.add(&server, Side::Peer).await?;
        }
        for (case, ours, peer) in [
            (RSS_PER_CUSTOM, &ours.each, &peer.each),
            (CPU_CUSTOM, &ours.cpu, &peer.cpu),
        ] {
            if suite.wants(&case) {
                suite.record(&case, ours, peer)?;
            }
        }
    }
    if suite.wants(&RSS_PER_SECRET) {
        let server = Server::start(Objects::Secrets, SECRETS, options.seed).await?;
        let ours = async || each(&server, &settled(&server, Side::Ours).await?);
        suite
            .compare(RSS_PER_SECRET, ours, async || Ok(server.mean_length()))
            .await?;
    }
    Ok(suite.finish())
}

/// The cases of one server of Pods.
async fn pods(suite: &mut Suite, options: &Options) -> Result<(), Failure> {
    let server = Server::start(Objects::Pods, options.pods, options.seed).await?;
    stores(suite, &server).await?;
    if suite.wants(&CPU_RECONCILED) {
        let cpu = async |side| Ok(synced(&server, side, What::Reconcile).await?.cpu);
        suite
            .compare(
                CPU_RECONCILED,
                async || cpu(Side::Ours).await,
                async || cpu(Side::Peer).await,
            )
            .await?;
    }
    if suite.wants(&GET_HOT) || suite.wants(&GET_COLD) || suite.wants(&LIST_BY_OWNER) {
        let mut worker = settled(&server, Side::Ours).await?.worker;
        let mut turns = Vec::new();
        for _ in 0..suite.samples(&GET_HOT) {
            turns.push(worker.ask("reads").await?);
        }
        let of = |at: usize| -> Vec<f64> { turns.iter().map(|turn| turn[at]).collect() };
        for (case, at) in [(GET_HOT, 0), (GET_COLD, 2), (LIST_BY_OWNER, 4)] {
            if suite.wants(&case) {
                suite.record(&case, &of(at), &of(at + 1))?;
            }
        }
    }
    if suite.wants(&EVENT) {
        let mut ours = Events::of(&server, Side::Ours, What::Reconcile, options).await?;
        let mut peer = Events::of(&server, Side::Peer, What::Reconcile, options).await?;
        suite
            .compare(EVENT, async || ours.measure().await, async || peer.measure().await)
            .await?;
    }
    for (case, what) in [(EVENT_20_CONTROLLERS, What::Twenty), (EVENT_IN_FLIGHT, What::Hold)] {
        if suite.wants(&case) {
            let mut more = Events::of(&server, Side::Ours, what, options).await?;
            let mut one = Events::of(&server, Side::Ours, What::Reconcile, options).await?;
            suite
                .compare(case, async || more.measure().await, async || one.measure().await)
                .await?;
        }
    }
    Ok(())
}

/// Memory and CPU time of stores alone. One process gives all figures of a turn.
async fn stores(suite: &mut Suite, server: &Server) -> Result<(), Failure> {
    let cases = [RSS_PER_POD, RSS_PER_POD_PLAIN, PEAK_FIRST_LIST, PEAK_RELIST, CPU_SYNCED];
    if !cases.iter().any(|case| suite.wants(case)) {
        return Ok(());
    }
    let (mut ours, mut plain, mut peer) = (Turns::default(), Turns::default(), Turns::default());
    for _ in 0..suite.samples(&RSS_PER_POD) {
        ours.add(server, Side::Ours).await?;
        peer.add(server, Side::Peer).await?;
        plain.add(server, Side::Plain).await?;
    }
    for (case, ours, peer) in [
        (RSS_PER_POD, &ours.each, &peer.each),
        (RSS_PER_POD_PLAIN, &plain.each, &peer.each),
        (PEAK_FIRST_LIST, &ours.first_peak, &ours.steady),
        (PEAK_RELIST, &ours.relist_peak, &ours.before_relist),
        (CPU_SYNCED, &ours.cpu, &peer.cpu),
    ] {
        if suite.wants(&case) {
            suite.record(&case, ours, peer)?;
        }
    }
    Ok(())
}

/// What stores of one side took, turn by turn.
#[derive(Default)]
struct Turns {
    each: Vec<f64>,
    cpu: Vec<f64>,
    first_peak: Vec<f64>,
    steady: Vec<f64>,
    relist_peak: Vec<f64>,
    before_relist: Vec<f64>,
}

impl Turns {
    async fn add(&mut self, server: &Server, side: Side) -> Result<(), Failure> {
        let mut synced = settled(server, side).await?;
        self.each.push(each(server, &synced)?);
        self.cpu.push(synced.cpu);
        self.first_peak.push(synced.worker.peak()? / 1024.0);
        self.steady.push(synced.worker.grown()? / 1024.0);
        if side == Side::Ours {
            synced.worker.forget_peak()?;
            self.before_relist.push(synced.worker.grown()? / 1024.0);
            let reader = synced.worker.reader;
            synced.worker.witness("relist", || server.expire(reader)).await?;
            self.relist_peak.push(synced.worker.peak()? / 1024.0);
        }
        Ok(())
    }
}

async fn synced(server: &Server, side: Side, what: What) -> Result<Synced, Failure> {
    Worker::start(server, side, what).await?.sync().await
}

/// A store that has synced, and had time to give back what it does not need.
async fn settled(server: &Server, side: Side) -> Result<Synced, Failure> {
    let synced = synced(server, side, What::Store).await?;
    sleep(SETTLED).await;
    Ok(synced)
}

/// Resident bytes of each object.
#[allow(clippy::cast_precision_loss, reason = "a mean")]
fn each(server: &Server, synced: &Synced) -> Result<f64, Failure> {
    Ok(synced.worker.grown()? * 1024.0 / server.count() as f64)
}

/// A process that is sent events.
struct Events<'a> {
    server: &'a Server,
    worker: Worker,
    lines: Vec<Vec<Bytes>>,
}

impl<'a> Events<'a> {
    async fn of(server: &'a Server, side: Side, what: What, options: &Options) -> Result<Self, Failure> {
        let worker = synced(server, side, what).await?.worker;
        // One turn more than is measured, for the unmeasured first.
        let turns = 1 + options.harness.turns(&EVENT);
        let mut lines = Vec::new();
        for turn in 1..=turns {
            let mut chance = Chance::of(options.seed, "events", turn);
            let line = |number: usize, index: usize| {
                let version = 2_000_000 + (turn * EVENTS + number) as u64;
                let pod = objects::pod_at(options.seed, index, version, turn);
                server::line("MODIFIED", pod.as_bytes())
            };
            lines.push(
                (0..EVENTS)
                    .map(|number| line(number, chance.below(server.count())))
                    .collect(),
            );
        }
        lines.reverse();
        Ok(Self { server, worker, lines })
    }

    /// CPU microseconds of one event.
    async fn measure(&mut self) -> Result<f64, Failure> {
        let lines = self.lines.pop().ok_or("a turn for each sample")?;
        let (server, reader) = (self.server, self.worker.reader);
        let events = format!("events {}", lines.len());
        let told = self.worker.witness(&events, || server.send(reader, &lines)).await?;
        Ok(told.first().copied().ok_or("a worker tells its CPU time")?)
    }
}
