//! Making and deleting the pods of a Job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::count::{INDEX, Totals, failures_before, index_of};
use super::{FIRST_BACKOFF, TRACKING, Work, untrack};
use crate::controllers::kinds::JOBS;
use crate::controllers::object::{Object, add_label, annotate};
use crate::error::ApiError;
use crate::simulate::pods;

/// Pods made in one go at most.
const BURST: i64 = 500;
/// The longest pause after failures, in seconds.
const LONGEST_BACKOFF: i64 = 600;

impl Work<'_> {
    /// Brings the number of active pods to what is wanted; answers how many there are then and how many were deleted.
    pub(super) async fn run(&mut self, totals: &Totals) -> Result<(i64, i64), ApiError> {
        let active = self.active();
        let present = i64::try_from(active.len()).unwrap_or(0);
        let wanted = if self.is_suspended() {
            0
        } else {
            self.wanted(totals, present)
        };
        let doomed = self.doomed(&active, totals, (present - wanted).max(0));
        if !doomed.is_empty() {
            let count = i64::try_from(doomed.len()).unwrap_or(0);
            for pod in doomed {
                // Nobody has to count it.
                untrack(self.cx, &pod).await?;
                pods::delete(self.cx, &self.job, &pod).await?;
            }
            return Ok((present - count, count));
        }
        let going = self.pods.iter().filter(|p| pods::is_terminating(p)).count();
        let held = if self.replaces_failed_only() {
            i64::try_from(going).unwrap_or(0)
        } else {
            0
        };
        let missing = wanted - present - held;
        if missing <= 0 {
            return Ok((present, 0));
        }
        let wait = self.pause();
        if wait > 0 {
            self.sooner(wait);
            return Ok((present, 0));
        }
        let made = self.make(missing.min(BURST), &active, totals).await?;
        Ok((present + made, 0))
    }

    fn wanted(&self, totals: &Totals, present: i64) -> i64 {
        let parallelism = self.job.int("spec.parallelism").unwrap_or(1);
        match self.job.int("spec.completions") {
            // A work queue: the first success says that there is no more work.
            None if totals.succeeded > 0 => present,
            None => parallelism,
            Some(completions) => {
                let given_up = i64::try_from(totals.given_up.len()).unwrap_or(0);
                (completions - totals.succeeded - given_up).clamp(0, parallelism)
            }
        }
    }

    /// The active pods to delete: `surplus` of them, and those of an Indexed Job whose index is taken or not asked for.
    fn doomed(&self, active: &[Arc<Value>], totals: &Totals, surplus: i64) -> Vec<Arc<Value>> {
        let mut left = active.to_vec();
        let mut doomed = Vec::new();
        if self.is_indexed() {
            let limit = self.job.int("spec.completions").unwrap_or(0);
            let mut taken: BTreeSet<i64> = totals.complete.clone();
            left.retain(|pod| {
                let keep = index_of(pod).is_some_and(|i| (0..limit).contains(&i) && taken.insert(i));
                if !keep {
                    doomed.push(Arc::clone(pod));
                }
                keep
            });
        }
        let more = usize::try_from(surplus).unwrap_or(0).saturating_sub(doomed.len());
        pods::sort_for_deletion(&mut left);
        doomed.extend(left.into_iter().take(more));
        doomed
    }

    /// Seconds until pods may be made again after failures.
    fn pause(&self) -> i64 {
        if self.backoff.failures == 0 {
            return 0;
        }
        let doublings = (self.backoff.failures - 1).min(10);
        let pause = (FIRST_BACKOFF << doublings).min(LONGEST_BACKOFF);
        self.backoff.last + pause - self.now().as_second()
    }

    async fn make(&mut self, count: i64, active: &[Arc<Value>], totals: &Totals) -> Result<i64, ApiError> {
        let indexes: Vec<Option<i64>> = if self.is_indexed() {
            let busy: BTreeSet<i64> = active.iter().filter_map(|p| index_of(p)).collect();
            let limit = self.job.int("spec.completions").unwrap_or(0);
            let free = |i: &i64| !busy.contains(i) && !totals.complete.contains(i) && !totals.given_up.contains(i);
            (0..limit)
                .filter(free)
                .take(usize::try_from(count).unwrap_or(0))
                .map(Some)
                .collect()
        } else {
            (0..count).map(|_| None).collect()
        };
        let failures = self.failures_by_index();
        let mut made = 0;
        for index in indexes {
            let pod = self.new_pod(index, &failures);
            match pods::create(self.cx, &self.job, pod).await {
                Ok(_) => made += 1,
                Err(error) if pods::is_namespace_terminating(&error) => break,
                Err(error) if made == 0 => return Err(error),
                Err(_) => {
                    self.sooner(1);
                    break;
                }
            }
        }
        Ok(made)
    }

    fn failures_by_index(&self) -> BTreeMap<i64, i64> {
        let mut failures = BTreeMap::new();
        for pod in self.pods.iter().filter(|p| self.has_failed(p)) {
            if let Some(index) = index_of(pod) {
                let count = failures.entry(index).or_insert(0);
                *count = (failures_before(pod) + 1).max(*count);
            }
        }
        failures
    }

    fn new_pod(&self, index: Option<i64>, failures: &BTreeMap<i64, i64>) -> Value {
        let template = self.job.at("spec.template").cloned().unwrap_or_default();
        let mut pod = pods::from_template(&template, &self.job, &JOBS);
        let mut finalizers = pod.items("metadata.finalizers").to_vec();
        finalizers.push(TRACKING.into());
        pod["metadata"]["finalizers"] = finalizers.into();
        let Some(index) = index else {
            pod["metadata"]["generateName"] = format!("{}-", self.job.name()).into();
            return pod;
        };
        pod["metadata"]["generateName"] = format!("{}-{index}-", self.job.name()).into();
        annotate(&mut pod, INDEX, &index.to_string());
        add_label(&mut pod, INDEX, &index.to_string());
        if self.job.int("spec.backoffLimitPerIndex").is_some() {
            let failed = failures.get(&index).copied().unwrap_or(0);
            annotate(
                &mut pod,
                "batch.kubernetes.io/job-index-failure-count",
                &failed.to_string(),
            );
        }
        pod["spec"]["hostname"] = format!("{}-{index}", self.job.name()).into();
        for list in ["initContainers", "containers"] {
            for container in pod["spec"]
                .get_mut(list)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                let mut env = container.items("env").to_vec();
                if !env.iter().any(|e| e.text("name") == "JOB_COMPLETION_INDEX") {
                    env.push(json!({ "name": "JOB_COMPLETION_INDEX", "valueFrom": { "fieldRef": {
                        "fieldPath": format!("metadata.labels['{INDEX}']"),
                    }}}));
                }
                container["env"] = env.into();
            }
        }
        pod
    }
}
