//! What scrapes and `/statusz` tell of the parts that all controllers share.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cache::Informers;
use crate::client::{DeleteCap, RequestRecord, WriteFence};
use crate::env::Env;
use crate::health::Health;
use crate::kind::Kind;
use crate::metrics::{Metrics, Sample};
use crate::watch::WatchStatus;

/// Counts requests to the API server.
pub(super) struct CountRequests {
    pub(super) metrics: Metrics,
    pub(super) host: String,
}

impl crate::client::Recorder for CountRequests {
    fn request(&self, record: &RequestRecord) {
        let host = record.uri.host().unwrap_or(&self.host);
        self.metrics.request(record.code, record.method.as_str(), host);
    }
}

/// Shows how the watches are doing.
pub(super) fn informers(informers: &Informers, metrics: &Metrics, health: &Health, env: &Env) {
    let shown = informers.clone();
    health.section("watches", move || shown.status().iter().map(watch).collect());
    let (scraped, env) = (informers.clone(), env.clone());
    metrics.source(move |add: &mut dyn FnMut(Sample)| {
        for (kind, sums) in by_kind(&scraped.status(), env.now()) {
            let labels = || {
                vec![
                    ("group", kind.group().to_owned()),
                    ("version", kind.version().to_owned()),
                    ("kind", kind.kind().to_owned()),
                ]
            };
            add(Sample::gauge(
                "kubewright_cache_objects",
                "Objects in the cache",
                labels(),
                sums.objects,
            ));
            add(Sample::gauge(
                "kubewright_cache_bytes",
                "What their bodies take",
                labels(),
                sums.bytes,
            ));
            add(Sample::gauge(
                "kubewright_watch_synced",
                "1 where all watches of the kind have been listed",
                labels(),
                f64::from(u8::from(sums.synced)),
            ));
            add(Sample::gauge(
                "kubewright_watch_staleness_seconds",
                "For how long the worst watch of the kind has been broken; 0 where all are well",
                labels(),
                sums.stale,
            ));
            add(Sample::counter(
                "kubewright_watch_restarts",
                "Watches opened",
                labels(),
                sums.restarts,
            ));
            add(Sample::counter(
                "kubewright_watch_errors",
                "Watches and lists that failed",
                labels(),
                sums.errors,
            ));
        }
    });
}

/// Shows what the write fence held back.
pub(super) fn fence(fence: &WriteFence, metrics: &Metrics) {
    let fence = fence.clone();
    metrics.source(move |add: &mut dyn FnMut(Sample)| {
        add(Sample::counter(
            "kubewright_fence_refusals",
            "Writes that were not sent because the Lease was not held",
            Vec::new(),
            fence.refused(),
        ));
        add(Sample::counter(
            "kubewright_fence_abandoned",
            "Writes that had been sent when the Lease ran out",
            Vec::new(),
            fence.abandoned(),
        ));
    });
}

/// Shows what the cap on deletions held back.
pub(super) fn deletes(cap: &DeleteCap, metrics: &Metrics) {
    let cap = cap.clone();
    metrics.source(move |add: &mut dyn FnMut(Sample)| {
        add(Sample::counter(
            "kubewright_deletes_held_back",
            "Deletions that were not sent because too many had been within a minute",
            Vec::new(),
            cap.held_back(),
        ));
    });
}

struct Sums {
    objects: f64,
    bytes: f64,
    synced: bool,
    stale: f64,
    restarts: u64,
    errors: u64,
}

#[allow(clippy::cast_precision_loss, reason = "below 2^53 in any memory")]
fn by_kind(watches: &[WatchStatus], now: Timestamp) -> BTreeMap<Kind, Sums> {
    let mut kinds: BTreeMap<Kind, Sums> = BTreeMap::new();
    for watch in watches {
        let sums = kinds.entry(watch.kind.clone()).or_insert(Sums {
            objects: 0.0,
            bytes: 0.0,
            synced: true,
            stale: 0.0,
            restarts: 0,
            errors: 0,
        });
        sums.objects += watch.objects as f64;
        sums.bytes += watch.bytes as f64;
        sums.synced &= watch.synced;
        if !watch.healthy {
            sums.stale = sums.stale.max(now.duration_since(watch.since).as_secs_f64());
        }
        sums.restarts += watch.restarts;
        sums.errors += watch.errors;
    }
    kinds
}

fn watch(watch: &WatchStatus) -> Value {
    json!({
        "watch": watch.spec,
        "synced": watch.synced,
        "healthy": watch.healthy,
        "since": watch.since.to_string(),
        "lastError": watch.last_error,
        "objects": watch.objects,
        "bytes": watch.bytes,
        "lists": watch.lists,
        "restarts": watch.restarts,
    })
}

/// A recorder for the transport.
pub(super) fn request_counter(metrics: &Metrics, host: &str) -> Arc<CountRequests> {
    Arc::new(CountRequests {
        metrics: metrics.clone(),
        host: host.to_owned(),
    })
}
