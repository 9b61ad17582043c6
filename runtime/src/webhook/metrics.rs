//! What is counted of each webhook, under controller-runtime's names.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::metrics::Metrics;

type Labels = Vec<(&'static str, String)>;

/// Upper bounds in seconds, as controller-runtime has them.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Clone, Copy, Debug)]
struct Buckets;

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

/// The metrics of all webhooks of one manager.
#[derive(Clone, Debug)]
pub(super) struct WebhookMetrics {
    requests: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, Buckets>,
    in_flight: Family<Labels, Gauge>,
}

impl WebhookMetrics {
    /// Registers them.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let all = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(Buckets),
            in_flight: Family::default(),
        };
        let registered = all.clone();
        metrics.register(|registry| {
            registry.register(
                "controller_runtime_webhook_requests",
                "Reviews by webhook and HTTP status code",
                registered.requests,
            );
            registry.register(
                "controller_runtime_webhook_latency_seconds",
                "Time that a review took",
                registered.seconds,
            );
            registry.register(
                "controller_runtime_webhook_requests_in_flight",
                "Reviews that are answered now",
                registered.in_flight,
            );
        });
        all
    }

    /// Those of one webhook.
    pub(super) fn of(&self, path: &str) -> RouteMetrics {
        let labels: Labels = vec![("webhook", path.to_owned())];
        RouteMetrics {
            seconds: self.seconds.get_or_create_owned(&labels),
            in_flight: self.in_flight.get_or_create_owned(&labels),
            // Those that most reviews end with; others come with the first of them.
            ok: self.requests.get_or_create_owned(&coded(path, 200)),
            path: path.to_owned(),
            requests: self.requests.clone(),
        }
    }
}

fn coded(path: &str, code: u16) -> Labels {
    vec![("webhook", path.to_owned()), ("code", code.to_string())]
}

/// The metrics of one webhook.
#[derive(Clone, Debug)]
pub(super) struct RouteMetrics {
    path: String,
    requests: Family<Labels, Counter>,
    ok: Counter,
    seconds: Histogram,
    in_flight: Gauge,
}

impl RouteMetrics {
    /// Counts a review as in flight until the answer is dropped.
    pub(super) fn begin(&self) -> impl Drop + Send + use<> {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(super) fn end(&self, code: u16, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        if code == 200 {
            self.ok.inc();
        } else {
            self.requests.get_or_create(&coded(&self.path, code)).inc();
        }
    }
}

struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
