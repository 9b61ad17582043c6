//! ReplicaSets: as many pods as asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, index_selector, wake_owners};
use super::pods;
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{PODS, REPLICA_SETS};
use crate::controllers::object::{Key, Object, set, set_count};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

/// Pods made in one go at most.
const BURST: usize = 500;

/// What a request takes a real ReplicaSet controller.
const REQUEST: Duration = Duration::from_millis(30);
/// Between two pods.
const BETWEEN_PODS: Duration = Duration::from_millis(3);

/// The ReplicaSet controller.
pub struct ReplicaSets {
    cx: Cx,
    selectors: SelectorIndex,
    /// Requests of the last look.
    requests: AtomicU32,
}

impl ReplicaSets {
    /// A controller that knows of no ReplicaSet yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
            requests: AtomicU32::new(0),
        }
    }

    /// Creates or deletes pods; answers the reason of a failure with it.
    async fn scale(&self, set: &Value, active: &[Arc<Value>]) -> Result<(), (&'static str, ApiError)> {
        let wanted = usize::try_from(set.int("spec.replicas").unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            let empty = json!({});
            let template = set.at("spec.template").unwrap_or(&empty);
            for _ in 0..(wanted - active.len()).min(BURST) {
                self.pace().await;
                let mut pod = pods::from_template(template, set, &REPLICA_SETS);
                pod["metadata"]["generateName"] = format!("{}-", set.name()).into();
                match pods::create(&self.cx, set, pod).await {
                    Err(error) if pods::is_namespace_terminating(&error) => return Ok(()),
                    // The rest would fail for the same reason.
                    Err(error) => return Err(("FailedCreate", error)),
                    Ok(_) => {}
                }
            }
        } else if active.len() > wanted {
            let mut order = active.to_vec();
            pods::sort_for_deletion(&mut order);
            for pod in &order[..active.len() - wanted] {
                self.pace().await;
                // A rollout asks for deletions after creations: they show later.
                self.requests.fetch_add(1, Ordering::Relaxed);
                pods::delete(&self.cx, set, pod)
                    .await
                    .map_err(|error| ("FailedDelete", error))?;
            }
        }
        Ok(())
    }

    /// Counts a request for a pod; all but the first wait a little, so that others see the pods come and go.
    async fn pace(&self) {
        if self.requests.fetch_add(1, Ordering::Relaxed) > 0 {
            tokio::time::sleep(BETWEEN_PODS).await;
        }
    }

    fn status(
        &self,
        replica_set: &Value,
        active: &[Arc<Value>],
        terminating: usize,
        failure: Option<&(&'static str, ApiError)>,
    ) -> Value {
        let clock = self.cx.loopback.clock();
        let now = clock.now();
        let ready_seconds = replica_set.int("spec.minReadySeconds").unwrap_or(0);
        let template = Selector::of_label_selector(Some(
            &json!({ "matchLabels": replica_set.at("spec.template.metadata.labels").cloned().unwrap_or_default() }),
        ));
        let count = |test: &dyn Fn(&Value) -> bool| number(active.iter().filter(|p| test(p)).count());
        let mut status = json!({ "status": {
            "replicas": active.len(),
            "observedGeneration": replica_set.generation(),
            "terminatingReplicas": terminating,
        }});
        set_count(
            &mut status,
            "status.fullyLabeledReplicas",
            count(&|p| template.matches(p.labels())),
        );
        set_count(&mut status, "status.readyReplicas", count(&pods::is_ready));
        set_count(
            &mut status,
            "status.availableReplicas",
            count(&|p| pods::is_available(p, ready_seconds, now)),
        );
        let mut conditions = replica_set.items("status.conditions").to_vec();
        match failure {
            None => conditions.retain(|c| c.text("type") != "ReplicaFailure"),
            Some((reason, error)) if replica_set.condition("ReplicaFailure").is_none() => conditions.push(json!({
                "type": "ReplicaFailure",
                "status": "True",
                "lastTransitionTime": clock.now_rfc3339(),
                "reason": reason,
                "message": error.message,
            })),
            Some(_) => {}
        }
        if !conditions.is_empty() {
            set(&mut status, "status.conditions", conditions.into());
        }
        status["status"].take()
    }
}

impl Controller for ReplicaSets {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&REPLICA_SETS) {
            index_selector(seen, &self.selectors);
            queue.add(Key::of(seen.object));
        } else if seen.is(&PODS) {
            wake_owners(seen, &REPLICA_SETS, &self.selectors, queue);
        }
    }

    fn rest(&self) -> Duration {
        REQUEST * self.requests.swap(0, Ordering::Relaxed).min(50)
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(replica_set) = self.cx.cache.get(&REPLICA_SETS, key) else {
            return Ok(Next::Wait);
        };
        let selector = Selector::of_label_selector(replica_set.at("spec.selector"));
        if selector.is_nothing() {
            return Ok(Next::Wait);
        }
        let claimed = claim(&self.cx, &replica_set, &REPLICA_SETS, &PODS, &selector).await?;
        let terminating = claimed.iter().filter(|p| pods::is_terminating(p)).count();
        let active: Vec<_> = claimed.into_iter().filter(|p| pods::is_active(p)).collect();
        let failure = if replica_set.is_deleting() {
            None
        } else {
            self.scale(&replica_set, &active).await.err()
        };
        let status = self.status(&replica_set, &active, terminating, failure.as_ref());
        let ready = status.int("readyReplicas").unwrap_or(0);
        let waiting = status.int("availableReplicas").unwrap_or(0) < ready;
        if replica_set.get("status") != Some(&status) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let mut updated = (*replica_set).clone();
            updated["status"] = status;
            match self
                .cx
                .loopback
                .update(&REPLICA_SETS.gvr(), Some("status"), updated)
                .await
            {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        if let Some((_, error)) = failure {
            return Err(error);
        }
        let seconds = u64::try_from(replica_set.int("spec.minReadySeconds").unwrap_or(0)).unwrap_or(0);
        Ok(if waiting {
            Next::After(Duration::from_secs(seconds.max(1)))
        } else {
            Next::Wait
        })
    }
}

/// A count as JSON numbers have it.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
