//! Jobs: pods that are run until enough of them succeeded.
//!
//! Every pod carries a finalizer until its end has been counted, so that none is counted twice or lost: its uid goes
//! into `status.uncountedTerminatedPods`, the finalizer comes off, and only then the counter goes up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::claim::{claim, index_selector, wake_owners};
use super::pods;
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{JOBS, PODS};
use crate::controllers::object::{Key, Object};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

mod count;
mod end;
mod indexes;
mod run;

/// The finalizer of pods that have not been counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Pod changes are looked at together after this long.
const BATCH: Duration = Duration::from_secs(1);
/// Pause after the first failure of a pod; doubled with each further one, up to ten minutes.
const FIRST_BACKOFF: i64 = 10;

/// The Job controller.
pub struct Jobs {
    cx: Cx,
    selectors: SelectorIndex,
    backoffs: Mutex<BTreeMap<String, Backoff>>,
}

/// Failures of a Job's pods since the last success.
#[derive(Clone, Copy, Debug, Default)]
struct Backoff {
    failures: u32,
    last: i64,
}

/// One Job being worked on.
struct Work<'a> {
    cx: &'a Cx,
    job: Value,
    pods: Vec<Arc<Value>>,
    backoff: Backoff,
    /// When to look again at the latest.
    again: Option<Duration>,
}

impl Jobs {
    /// A controller that knows of no Job yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
            backoffs: Mutex::default(),
        }
    }

    fn backoff(&self, uid: &str) -> Backoff {
        self.backoffs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(uid)
            .copied()
            .unwrap_or_default()
    }

    fn remember(&self, uid: &str, backoff: Backoff) {
        let mut all = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        if backoff.failures == 0 {
            all.remove(uid);
        } else {
            all.insert(uid.to_owned(), backoff);
        }
    }

    /// Takes the finalizer from pods that no Job will count.
    async fn release(&self, pods: &[Arc<Value>]) -> Result<(), ApiError> {
        for pod in pods.iter().filter(|p| p.has_finalizer(TRACKING)) {
            untrack(&self.cx, pod).await?;
        }
        Ok(())
    }

    /// The pods of a Job that is gone.
    fn left_behind(&self, key: &Key) -> Vec<Arc<Value>> {
        let mut left = self.cx.cache.list(&PODS, &key.namespace);
        left.retain(|p| {
            p.controller()
                .is_some_and(|o| o.text("kind") == "Job" && o.text("name") == &*key.name)
        });
        left
    }

    /// Deletes a Job that ended `ttlSecondsAfterFinished` ago.
    async fn expire(&self, job: &Value) -> Result<Next, ApiError> {
        let Some(seconds) = job.int("spec.ttlSecondsAfterFinished") else {
            return Ok(Next::Wait);
        };
        if job.is_deleting() {
            return Ok(Next::Wait);
        }
        let ended = finished(job).and_then(|c| c.time("lastTransitionTime"));
        let left = ended.map_or(0, |t| {
            t.as_second() + seconds - self.cx.loopback.clock().now().as_second()
        });
        if left > 0 {
            return Ok(Next::After(Duration::from_secs(u64::try_from(left).unwrap_or(0))));
        }
        let options = json!({ "propagationPolicy": "Foreground", "preconditions": { "uid": job.uid() } });
        match self
            .cx
            .loopback
            .delete(&JOBS.gvr(), job.namespace(), job.name(), options)
            .await
        {
            Err(error) if error.code != 404 => Err(error),
            _ => Ok(Next::Wait),
        }
    }
}

impl Work<'_> {
    fn now(&self) -> Timestamp {
        self.cx.loopback.clock().now()
    }

    fn now_text(&self) -> String {
        self.cx.loopback.clock().now_rfc3339()
    }

    fn is_indexed(&self) -> bool {
        self.job.text("spec.completionMode") == "Indexed"
    }

    fn is_suspended(&self) -> bool {
        self.job.flag("spec.suspend")
    }

    /// Whether a pod has to have failed, not just to be on its way out, before another one may take its place.
    fn replaces_failed_only(&self) -> bool {
        self.job.text("spec.podReplacementPolicy") == "Failed"
    }

    fn has_failed(&self, pod: &Value) -> bool {
        match pod.text("status.phase") {
            "Failed" => true,
            "Succeeded" => false,
            _ => pod.is_deleting() && !self.replaces_failed_only(),
        }
    }

    fn active(&self) -> Vec<Arc<Value>> {
        self.pods.iter().filter(|p| pods::is_active(p)).cloned().collect()
    }

    fn sooner(&mut self, seconds: i64) {
        let delay = Duration::from_secs(u64::try_from(seconds.max(0)).unwrap_or(0));
        self.again = Some(self.again.map_or(delay, |a| a.min(delay)));
    }

    async fn store(&mut self) -> Result<(), ApiError> {
        self.job = self
            .cx
            .loopback
            .update(&JOBS.gvr(), Some("status"), self.job.clone())
            .await?;
        Ok(())
    }
}

impl Controller for Jobs {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&JOBS) {
            index_selector(seen, &self.selectors);
            let key = Key::of(seen.object);
            if seen.deleted {
                self.remember(seen.object.uid(), Backoff::default());
            }
            let status_only = seen.old.is_some_and(|old| old.generation() == seen.object.generation()) && !seen.deleted;
            if status_only && finished(seen.object).is_none() {
                queue.add_after(key, BATCH);
            } else {
                queue.add(key);
            }
        } else if seen.is(&PODS) {
            let batched = Queue::default();
            wake_owners(seen, &JOBS, &self.selectors, &batched);
            for key in batched.drain() {
                // Without its Job a pod waits for nobody.
                let delay = if self.cx.cache.get(&JOBS, &key).is_some() {
                    BATCH
                } else {
                    Duration::ZERO
                };
                queue.add_after(key, delay);
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(job) = self.cx.cache.get(&JOBS, key) else {
            self.release(&self.left_behind(key)).await?;
            return Ok(Next::Wait);
        };
        if finished(&job).is_some() {
            self.release(&self.cx.cache.controlled_by(&PODS, job.uid())).await?;
            return self.expire(&job).await;
        }
        if !job.text("spec.managedBy").is_empty() && job.text("spec.managedBy") != "kubernetes.io/job-controller" {
            return Ok(Next::Wait);
        }
        let selector = Selector::of_label_selector(job.at("spec.selector"));
        let mut claimed = claim(&self.cx, &job, &JOBS, &PODS, &selector).await?;
        claimed.sort_by_key(|p| (p.time("metadata.creationTimestamp"), p.revision(), p.name().to_owned()));
        let backoff = self.backoff(job.uid());
        let mut work = Work {
            cx: &self.cx,
            job: (*job).clone(),
            pods: claimed,
            backoff,
            again: None,
        };
        let result = work.sync().await;
        self.remember(job.uid(), work.backoff);
        result?;
        Ok(work.again.map_or(Next::Wait, Next::After))
    }
}

/// The condition that says how a Job ended.
pub(super) fn finished(job: &Value) -> Option<&Value> {
    ["Complete", "Failed"]
        .into_iter()
        .filter_map(|kind| job.condition(kind))
        .find(|c| c.text("status") == "True")
}

/// Takes the tracking finalizer from a pod.
async fn untrack(cx: &Cx, pod: &Value) -> Result<(), ApiError> {
    let kept: Vec<&Value> = pod
        .items("metadata.finalizers")
        .iter()
        .filter(|f| f.as_str() != Some(TRACKING))
        .collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    let patch = json!({ "metadata": { "uid": pod.uid(), "finalizers": kept } });
    match cx
        .loopback
        .merge_patch(&PODS.gvr(), None, pod.namespace(), pod.name(), patch)
        .await
    {
        Err(error) if error.code != 404 => Err(error),
        _ => Ok(()),
    }
}
