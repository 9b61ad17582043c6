//! What `/statusz` and a scrape tell of a controller.

use std::sync::Arc;

use serde_json::{Value, json};

use super::loops::{HotLoop, HotLoops};
use super::parts::Services;
use super::sources::{Queue, Sources};
use crate::cache::{Informer, WeakInformer};
use crate::declaration::Declared;
use crate::diagnostics::{History, Report};
use crate::key::ObjectKey;
use crate::metrics::Sample;

/// How many of the last runs are shown.
const SHOWN: usize = 20;

/// Adds the controller to `/statusz` and to scrapes.
pub(super) fn publish(
    declared: &Arc<Declared>,
    queue: &Queue,
    sources: &Sources,
    history: &Arc<History>,
    loops: &Arc<HotLoops>,
    services: &Services,
) {
    let name = declared.name.clone();
    let (scraped, scraped_loops) = (queue.clone(), Arc::clone(loops));
    let (scraped_paused, kind) = (services.paused.clone(), declared.primary.clone());
    services.metrics.source(move |add: &mut dyn FnMut(Sample)| {
        let stats = scraped.stats();
        let labels = || vec![("name", name.clone()), ("controller", name.clone())];
        add(Sample::gauge(
            "workqueue_depth",
            "Keys that wait for a worker",
            labels(),
            count(stats.waiting),
        ));
        add(Sample::gauge(
            "kubewright_workqueue_delayed",
            "Keys that wait for a time",
            labels(),
            count(stats.delayed),
        ));
        add(Sample::gauge(
            "workqueue_unfinished_work_seconds",
            "Time that keys with workers have run, together",
            labels(),
            stats.unfinished.as_secs_f64(),
        ));
        add(Sample::gauge(
            "workqueue_longest_running_processor_seconds",
            "Time that the longest of them has run",
            labels(),
            stats.longest_running.as_secs_f64(),
        ));
        add(Sample::gauge(
            "kubewright_hot_loops",
            "Keys that run and write for no other reason than that they wrote",
            vec![("controller", name.clone())],
            count(scraped_loops.count()),
        ));
        add(Sample::gauge(
            "kubewright_paused",
            "1 where the kind is paused by the annotation on the Lease",
            vec![("controller", name.clone())],
            f64::from(u8::from(scraped_paused.covers(&kind))),
        ));
    });
    let (declared, queue, history) = (Arc::clone(declared), queue.clone(), Arc::clone(history));
    let (loops, paused) = (Arc::clone(loops), services.paused.clone());
    let informers: Vec<WeakInformer> = sources.informers.iter().map(Informer::downgrade).collect();
    services
        .health
        .section(format!("controller {}", declared.name), move || {
            let stats = queue.stats();
            let informers: Vec<Informer> = informers.iter().filter_map(WeakInformer::upgrade).collect();
            json!({
                "kind": declared.primary.kind(),
                "workers": declared.workers,
                "paused": paused.covers(&declared.primary),
                "synced": informers.iter().all(Informer::has_synced),
                "waitsFor": waits_for(&informers),
                "queue": { "waiting": stats.waiting, "delayed": stats.delayed, "running": stats.running },
                "hotLoops": loops.current().iter().map(hot_loop).collect::<Vec<_>>(),
                "lastRuns": history.latest(SHOWN).iter().map(run).collect::<Vec<_>>(),
            })
        });
}

fn waits_for(informers: &[Informer]) -> Vec<Value> {
    let missing = informers.iter().filter(|informer| !informer.has_synced());
    missing
        .map(|informer| json!({ "watch": informer.spec().to_string(), "reason": informer.status().last_error }))
        .collect()
}

fn hot_loop((key, found): &(ObjectKey, HotLoop)) -> Value {
    json!({ "object": key.to_string(), "since": found.since.to_string(), "changes": found.changes })
}

fn run(report: &Report) -> Value {
    json!({
        "object": report.key.to_string(),
        "phase": report.phase.to_string(),
        "reasons": report.reasons.to_string(),
        "writes": report.writes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "outcome": report.outcome.to_string(),
        "seconds": report.duration.as_secs_f64(),
        "attempt": report.attempt,
    })
}

#[allow(clippy::cast_precision_loss, reason = "nobody has that many keys")]
fn count(keys: usize) -> f64 {
    keys as f64
}
