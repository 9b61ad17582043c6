//! The metrics of one controller and its queue.

use std::fmt;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::registry::{Labels, Metrics};
use crate::diagnostics::{Outcome, Report, WriteOutcome};
use crate::workqueue::Hooks;

/// The metrics of one controller. Cheap to clone; counting takes no lock.
#[derive(Clone)]
pub struct ControllerMetrics {
    name: String,
    metrics: Metrics,
    success: Counter,
    requeue_after: Counter,
    failure: Counter,
    errors: Counter,
    terminal_errors: Counter,
    panics: Counter,
    timeouts: Counter,
    applies_skipped: Counter,
    seconds: Histogram,
    active_workers: Gauge,
    queue_adds: Counter,
    queue_retries: Counter,
    queue_waited: Histogram,
    queue_worked: Histogram,
}

impl ControllerMetrics {
    pub(super) fn new(metrics: &Metrics, name: &str, workers: usize) -> Self {
        let all = &metrics.0;
        let own: Labels = vec![("controller", name.to_owned())];
        let queue: Labels = vec![("name", name.to_owned()), ("controller", name.to_owned())];
        let result = |result: &str| {
            let labels = vec![("controller", name.to_owned()), ("result", result.to_owned())];
            all.reconciles.get_or_create_owned(&labels)
        };
        all.workers
            .get_or_create(&own)
            .set(i64::try_from(workers).unwrap_or(i64::MAX));
        Self {
            name: name.to_owned(),
            metrics: metrics.clone(),
            success: result("success"),
            requeue_after: result("requeue_after"),
            failure: result("error"),
            errors: all.errors.get_or_create_owned(&own),
            terminal_errors: all.terminal_errors.get_or_create_owned(&own),
            panics: all.panics.get_or_create_owned(&own),
            timeouts: all.timeouts.get_or_create_owned(&own),
            applies_skipped: all.applies_skipped.get_or_create_owned(&own),
            seconds: all.seconds.get_or_create_owned(&own),
            active_workers: all.active_workers.get_or_create_owned(&own),
            queue_adds: all.queue_adds.get_or_create_owned(&queue),
            queue_retries: all.queue_retries.get_or_create_owned(&queue),
            queue_waited: all.queue_waited.get_or_create_owned(&queue),
            queue_worked: all.queue_worked.get_or_create_owned(&queue),
        }
    }

    /// Counts a run that ended.
    pub fn record(&self, report: &Report) {
        match &report.outcome {
            Outcome::Done => self.success.inc(),
            Outcome::Requeue(_) => self.requeue_after.inc(),
            _ => self.failure.inc(),
        };
        if !report.outcome.is_success() {
            self.errors.inc();
        }
        match &report.outcome {
            Outcome::Terminal { .. } => self.terminal_errors.inc(),
            Outcome::Panicked { .. } => self.panics.inc(),
            Outcome::TimedOut { .. } => self.timeouts.inc(),
            _ => 0,
        };
        self.seconds.observe(report.duration.as_secs_f64());
        let skipped = report.writes.iter().filter(|w| w.outcome == WriteOutcome::Skipped);
        self.applies_skipped.inc_by(skipped.count() as u64);
        for reason in report.reasons.as_slice() {
            let labels = vec![("controller", self.name.clone()), ("reason", reason.name().to_owned())];
            self.metrics.0.reasons.get_or_create(&labels).inc();
        }
    }

    /// Counts a worker as active until the answer is dropped.
    #[must_use]
    pub fn active(&self) -> impl Drop + Send + use<> {
        self.active_workers.inc();
        Active(self.active_workers.clone())
    }
}

struct Active(Gauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Hooks for ControllerMetrics {
    fn added(&self) {
        self.queue_adds.inc();
    }

    fn retried(&self) {
        self.queue_retries.inc();
    }

    fn started(&self, waited: Duration) {
        self.queue_waited.observe(waited.as_secs_f64());
    }

    fn finished(&self, worked: Duration) {
        self.queue_worked.observe(worked.as_secs_f64());
    }
}

impl fmt::Debug for ControllerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerMetrics")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
