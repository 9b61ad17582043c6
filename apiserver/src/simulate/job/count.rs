//! Counting pods that ended, each once.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{TRACKING, Work, indexes, untrack};
use crate::controllers::object::{Object, set_count};
use crate::error::ApiError;

/// The annotation and label with a pod's completion index.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// Pods that ended and whose end is not in the counters yet.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) succeeded: Vec<Arc<Value>>,
    pub(super) failed: Vec<Arc<Value>>,
}

/// Counts as they will be once everything that ended is counted.
pub(super) struct Totals {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    /// Indexes that are complete.
    pub(super) complete: BTreeSet<i64>,
    /// Indexes that failed for good.
    pub(super) given_up: BTreeSet<i64>,
}

/// The completion index of a pod.
pub(super) fn index_of(pod: &Value) -> Option<i64> {
    pod.annotation(INDEX).or_else(|| pod.label(INDEX))?.parse().ok()
}

/// How often a pod's index failed before it.
pub(super) fn failures_before(pod: &Value) -> i64 {
    pod.annotation(INDEX_FAILURES).and_then(|c| c.parse().ok()).unwrap_or(0)
}

impl Work<'_> {
    /// Pods that ended since the last look.
    pub(super) fn ended(&self) -> Ended {
        let mut ended = Ended::default();
        for pod in self.pods.iter().filter(|p| p.has_finalizer(TRACKING)) {
            let uncounted = |list: &str| {
                let path = format!("status.uncountedTerminatedPods.{list}");
                self.job.items(&path).iter().any(|u| u.as_str() == Some(pod.uid()))
            };
            if uncounted("succeeded") || uncounted("failed") {
                continue;
            }
            if pod.text("status.phase") == "Succeeded" {
                ended.succeeded.push(Arc::clone(pod));
            } else if self.has_failed(pod) {
                ended.failed.push(Arc::clone(pod));
            }
        }
        ended
    }

    /// The counts with `ended` and what waits to be counted.
    pub(super) fn totals(&self, ended: &Ended) -> Totals {
        let waiting = |list: &str| {
            let path = format!("status.uncountedTerminatedPods.{list}");
            i64::try_from(self.job.items(&path).len()).unwrap_or(0)
        };
        let new = |pods: &[Arc<Value>]| i64::try_from(pods.len()).unwrap_or(0);
        let counted = |field: &str| self.job.at("status").and_then(|s| s.int(field)).unwrap_or(0);
        let limit = self.job.int("spec.completions").unwrap_or(0);
        let mut complete = indexes::parse(self.job.text("status.completedIndexes"), limit);
        let mut given_up = indexes::parse(self.job.text("status.failedIndexes"), limit);
        let mut succeeded = counted("succeeded") + waiting("succeeded") + new(&ended.succeeded);
        if self.is_indexed() {
            let index = |p: &Arc<Value>| index_of(p).filter(|i| (0..limit).contains(i));
            complete.extend(ended.succeeded.iter().filter_map(index));
            succeeded = i64::try_from(complete.len()).unwrap_or(0);
            if let Some(per_index) = self.job.int("spec.backoffLimitPerIndex") {
                let last = ended.failed.iter().filter(|p| failures_before(p) >= per_index);
                given_up.extend(last.filter_map(index));
            }
        }
        let failed = counted("failed") + waiting("failed") + new(&ended.failed);
        Totals {
            succeeded,
            failed,
            complete,
            given_up,
        }
    }

    /// Notes in the status what ended. Complete indexes need no note: writing an index twice counts it once.
    pub(super) fn note(&mut self, ended: &Ended, totals: &Totals) {
        if self.is_indexed() {
            set_count(&mut self.job, "status.succeeded", totals.succeeded);
            if !totals.complete.is_empty() {
                self.job["status"]["completedIndexes"] = indexes::format(&totals.complete).into();
            }
            if self.job.int("spec.backoffLimitPerIndex").is_some() && !totals.given_up.is_empty() {
                self.job["status"]["failedIndexes"] = indexes::format(&totals.given_up).into();
            }
        }
        let succeeded = if self.is_indexed() { &[][..] } else { &ended.succeeded };
        for (list, pods) in [("succeeded", succeeded), ("failed", &ended.failed)] {
            if pods.is_empty() {
                continue;
            }
            let uids = &mut self.job["status"]["uncountedTerminatedPods"][list];
            let mut all: Vec<Value> = uids.as_array().cloned().unwrap_or_default();
            all.extend(pods.iter().map(|p| Value::from(p.uid())));
            *uids = all.into();
        }
    }

    /// Takes the finalizer from every pod that is noted, and moves the notes into the counters.
    pub(super) async fn count_noted(&mut self) -> Result<bool, ApiError> {
        let mut counted = false;
        for pod in self.pods.iter().filter(|p| p.has_finalizer(TRACKING)) {
            let noted = ["succeeded", "failed"].iter().any(|list| {
                let path = format!("status.uncountedTerminatedPods.{list}");
                self.job.items(&path).iter().any(|u| u.as_str() == Some(pod.uid()))
            });
            let complete = self.is_indexed() && pod.text("status.phase") == "Succeeded";
            if noted || complete {
                untrack(self.cx, pod).await?;
            }
        }
        for list in ["succeeded", "failed"] {
            let path = format!("status.uncountedTerminatedPods.{list}");
            let noted = i64::try_from(self.job.items(&path).len()).unwrap_or(0);
            if noted > 0 {
                let field = format!("status.{list}");
                let before = self.job.int(&field).unwrap_or(0);
                set_count(&mut self.job, &field, before + noted);
                counted = true;
            }
        }
        self.job["status"]["uncountedTerminatedPods"] = json!({});
        Ok(counted)
    }
}
