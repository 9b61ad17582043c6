//! All metrics of one manager.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::controller::ControllerMetrics;
use super::scrape::{Scrape, Source, Sources};

/// Label names and values, in the order in which they are shown.
pub(super) type Labels = Vec<(&'static str, String)>;

pub(super) type Counters = Family<Labels, Counter>;
pub(super) type Gauges = Family<Labels, Gauge>;
pub(super) type Histograms = Family<Labels, Histogram, Buckets>;

/// The metrics of one manager. Clones share them; nothing is global to the process.
#[derive(Clone)]
pub struct Metrics(pub(super) Arc<Inner>);

pub(super) struct Inner {
    registry: Mutex<Registry>,
    sources: Arc<Sources>,
    pub(super) reconciles: Counters,
    pub(super) errors: Counters,
    pub(super) terminal_errors: Counters,
    pub(super) panics: Counters,
    pub(super) timeouts: Counters,
    pub(super) seconds: Histograms,
    pub(super) workers: Gauges,
    pub(super) active_workers: Gauges,
    pub(super) reasons: Counters,
    pub(super) applies_skipped: Counters,
    pub(super) queue_adds: Counters,
    pub(super) queue_retries: Counters,
    pub(super) queue_waited: Histograms,
    pub(super) queue_worked: Histograms,
    pub(super) requests: Counters,
    leading: Gauges,
    events: Counters,
}

impl Metrics {
    /// Metrics that count from zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let sources = Arc::new(Sources::default());
        registry.register_collector(Box::new(Scrape::new(Arc::clone(&sources))));
        let mut add = Registration(&mut registry);
        let inner = Inner {
            reconciles: add.counters("controller_runtime_reconcile", "Reconciles by controller and result"),
            errors: add.counters("controller_runtime_reconcile_errors", "Reconciles that failed"),
            terminal_errors: add.counters(
                "controller_runtime_terminal_reconcile_errors",
                "Reconciles that failed and wait for a change",
            ),
            panics: add.counters("controller_runtime_reconcile_panics", "Reconciles that panicked"),
            timeouts: add.counters(
                "controller_runtime_reconcile_timeouts",
                "Reconciles that were cancelled at their timeout",
            ),
            seconds: add.histograms(
                "controller_runtime_reconcile_time_seconds",
                "Time that a reconcile took",
                Buckets(RECONCILE_SECONDS),
            ),
            workers: add.gauges(
                "controller_runtime_max_concurrent_reconciles",
                "Workers of a controller",
            ),
            active_workers: add.gauges("controller_runtime_active_workers", "Workers that reconcile now"),
            reasons: add.counters("kubewright_reconcile_reasons", "What woke keys, by cause"),
            applies_skipped: add.counters(
                "kubewright_applies_skipped",
                "Applies that would have changed nothing and were not sent",
            ),
            queue_adds: add.counters("workqueue_adds", "Keys that began to wait"),
            queue_retries: add.counters("workqueue_retries", "Keys that failed and are tried again"),
            queue_waited: add.histograms(
                "workqueue_queue_duration_seconds",
                "Time that a key waited for a worker",
                Buckets(QUEUE_SECONDS),
            ),
            queue_worked: add.histograms(
                "workqueue_work_duration_seconds",
                "Time that a worker had a key",
                Buckets(QUEUE_SECONDS),
            ),
            requests: add.counters(
                "rest_client_requests",
                "Requests to the API server, by code, method and host",
            ),
            leading: add.gauges("leader_election_master_status", "1 where this replica leads"),
            events: add.counters("kubewright_events", "Events by what became of them"),
            sources,
            registry: Mutex::new(registry),
        };
        Self(Arc::new(inner))
    }

    /// Adds metrics of the author's own. Their names must not be taken.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.0.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Asks `source` for its values at each scrape.
    pub fn source(&self, source: impl Source) {
        self.0.sources.add(Box::new(source));
    }

    /// The metrics of one controller.
    #[must_use]
    pub fn controller(&self, name: &str, workers: usize) -> ControllerMetrics {
        ControllerMetrics::new(self, name, workers)
    }

    /// Sets whether this replica holds a Lease.
    pub fn leading(&self, lease: &str, leads: bool) {
        let labels = vec![("name", lease.to_owned())];
        self.0.leading.get_or_create(&labels).set(i64::from(leads));
    }

    /// Counts an event: `sent`, `dropped` or `failed`.
    pub fn event(&self, result: &'static str) {
        self.0.events.get_or_create(&vec![("result", result.to_owned())]).inc();
    }

    /// All metrics as text: OpenMetrics 1.0, or the older Prometheus format 0.0.4.
    #[must_use]
    pub fn encode(&self, open_metrics: bool) -> String {
        let registry = self.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        let written = if open_metrics {
            text::encode(&mut out, &registry)
        } else {
            prometheus_text::encode(&mut out, &registry)
        };
        if let Err(error) = written {
            tracing::warn!(%error, "a metric could not be written");
        }
        out
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Upper bounds of a histogram, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// As controller-runtime has them for reconciles.
const RECONCILE_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];

/// As controller-runtime has them for its work queue: powers of ten from 10 ns.
const QUEUE_SECONDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

struct Registration<'a>(&'a mut Registry);

impl Registration<'_> {
    /// `_total` is added when it is written.
    fn counters(&mut self, name: &str, help: &str) -> Counters {
        let family = Counters::default();
        self.0.register(name, help, family.clone());
        family
    }

    fn gauges(&mut self, name: &str, help: &str) -> Gauges {
        let family = Gauges::default();
        self.0.register(name, help, family.clone());
        family
    }

    fn histograms(&mut self, name: &str, help: &str, buckets: Buckets) -> Histograms {
        let family = Histograms::new_with_constructor(buckets);
        self.0.register(name, help, family.clone());
        family
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{Outcome, Phase, Report};
    use crate::key::ObjectKey;
    use crate::kind::Kind;
    use crate::metrics::Sample;
    use crate::workqueue::Hooks;
    use std::time::Duration;

    #[test]
    fn names_and_labels_are_those_of_controller_runtime() {
        let metrics = Metrics::new();
        let controller = metrics.controller("app", 4);
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        let mut report = Report::new(
            "app".into(),
            kind,
            ObjectKey::new("a", "b"),
            Phase::Reconcile,
            Outcome::Done,
        );
        report.duration = Duration::from_millis(7);
        controller.record(&report);
        controller.added();
        metrics.leading("app-operator", true);
        for open_metrics in [true, false] {
            let text = metrics.encode(open_metrics);
            for line in [
                "controller_runtime_reconcile_total{controller=\"app\",result=\"success\"} 1",
                "controller_runtime_reconcile_errors_total{controller=\"app\"} 0",
                "controller_runtime_max_concurrent_reconciles{controller=\"app\"} 4",
                "controller_runtime_reconcile_time_seconds_count{controller=\"app\"} 1",
                "workqueue_adds_total{name=\"app\",controller=\"app\"} 1",
                "leader_election_master_status{name=\"app-operator\"} 1",
            ] {
                assert!(text.contains(line), "{line} is missing in:\n{text}");
            }
        }
    }

    #[test]
    fn sources_are_asked_at_each_scrape_and_the_authors_metrics_are_shown() {
        let metrics = Metrics::new();
        metrics.source(|add: &mut dyn FnMut(Sample)| {
            add(Sample::gauge(
                "workqueue_depth",
                "Keys that wait",
                vec![("name", "app".into())],
                3.0,
            ));
            add(Sample::gauge(
                "workqueue_depth",
                "Keys that wait",
                vec![("name", "db".into())],
                5.0,
            ));
        });
        let own: Counter = Counter::default();
        metrics.register(|registry| registry.register("mine", "Mine", own.clone()));
        own.inc();
        let text = metrics.encode(false);
        assert!(
            text.contains("workqueue_depth{name=\"app\"} 3.0\nworkqueue_depth{name=\"db\"} 5.0"),
            "{text}"
        );
        assert_eq!(text.matches("# TYPE workqueue_depth gauge").count(), 1);
        assert!(text.contains("mine_total 1"), "{text}");
    }
}
