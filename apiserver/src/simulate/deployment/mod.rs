//! Deployments: ReplicaSets that are rolled out, rolled back, scaled and cleaned up.
//!
//! `revision` finds or makes the ReplicaSet of the present template, `rollout` moves replicas to it, `scaling`
//! spreads a change of size, `status` writes what shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, index_selector, wake_owners};
use super::pods;
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{DEPLOYMENTS, PODS, REPLICA_SETS};
use crate::controllers::object::{Key, Object, set};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

mod revision;
mod rollout;
mod scaling;
mod status;

/// What a request takes a real Deployment controller.
const REQUEST: Duration = Duration::from_millis(24);

/// The Deployment controller.
pub struct Deployments {
    cx: Cx,
    selectors: SelectorIndex,
    /// Requests of the last look.
    requests: AtomicU32,
}

/// One Deployment being worked on, with its ReplicaSets.
struct Work<'a> {
    cx: &'a Cx,
    /// The Deployment, as the last write returned it.
    deployment: Value,
    /// The ReplicaSet of the present template.
    new: Option<Value>,
    /// The others, the oldest first.
    old: Vec<Value>,
    /// The ReplicaSets as they were before this step resized them: what the status tells of.
    shown: Option<Vec<Value>>,
    /// Requests since the new ReplicaSet was last changed.
    requests: u32,
    /// Whether the status was written in this look.
    stored: bool,
}

/// How far a look got.
enum Step<T> {
    /// All the way.
    Done(T),
    /// The status was written once already: the rest is for the next look. (A real controller writes with the version
    /// that the look began with, so that its second write conflicts and the look is repeated.)
    Again,
}

/// Unwraps a [`Step`], or ends the look.
macro_rules! done {
    ($step:expr) => {
        match $step {
            Step::Done(value) => value,
            Step::Again => return Ok(Step::Again),
        }
    };
}
use done;

impl Deployments {
    /// A controller that knows of no Deployment yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
            requests: AtomicU32::new(0),
        }
    }
}

impl Work<'_> {
    /// One look at the Deployment.
    async fn advance(&mut self) -> Result<Step<Next>, ApiError> {
        if self.deployment.is_deleting() {
            done!(self.find_new().await?);
            return self.sync_status().await;
        }
        done!(self.note_pause().await?);
        done!(self.find_new().await?);
        if self.deployment.flag("spec.paused") {
            self.scale().await?;
            self.clean_up().await?;
            return self.sync_status().await;
        }
        if self.is_scaling() {
            self.scale().await?;
            return self.sync_status().await;
        }
        if self.recreates() {
            self.recreate().await
        } else {
            self.roll().await
        }
    }

    fn replicas(&self) -> i64 {
        replicas(&self.deployment)
    }

    fn all(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(self.new.as_ref())
    }

    /// Keeps the present sizes for the status. A real controller's status is one step behind its resizes too.
    fn freeze(&mut self) {
        self.shown = Some(self.all().cloned().collect());
    }

    fn recreates(&self) -> bool {
        self.deployment.text("spec.strategy.type") == "Recreate"
    }

    /// Pods beyond the wanted number that a rollout may have.
    fn max_surge(&self) -> i64 {
        if self.recreates() { 0 } else { self.fence_posts().0 }
    }

    /// Pods below the wanted number that a rollout may have.
    fn max_unavailable(&self) -> i64 {
        if self.recreates() || self.replicas() == 0 {
            0
        } else {
            self.fence_posts().1.min(self.replicas())
        }
    }

    fn fence_posts(&self) -> (i64, i64) {
        let of = |field: &str, up| {
            let value = self
                .deployment
                .at("spec.strategy.rollingUpdate")
                .and_then(|r| r.get(field));
            int_or_percent(value, self.replicas(), up)
        };
        let (surge, unavailable) = (of("maxSurge", true), of("maxUnavailable", false));
        // Validation refuses two zeros, but two percentages may both round to zero: then nothing could ever move.
        if surge == 0 && unavailable == 0 {
            (0, 1)
        } else {
            (surge, unavailable)
        }
    }

    /// Seconds without progress after which a rollout counts as failed.
    fn progress_deadline(&self) -> Option<i64> {
        self.deployment
            .int("spec.progressDeadlineSeconds")
            .filter(|s| *s != i64::from(i32::MAX))
    }

    /// Stores the Deployment's status (and its annotations, which pass through there).
    async fn store_status(&mut self) -> Result<Step<()>, ApiError> {
        self.requests += 1;
        if self.stored {
            return Ok(Step::Again);
        }
        self.stored = true;
        let updated = self
            .cx
            .loopback
            .update(&DEPLOYMENTS.gvr(), Some("status"), self.deployment.clone())
            .await?;
        self.deployment = updated;
        Ok(Step::Done(()))
    }
}

impl Controller for Deployments {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&DEPLOYMENTS) {
            index_selector(seen, &self.selectors);
            queue.add(Key::of(seen.object));
        } else if seen.is(&REPLICA_SETS) {
            wake_owners(seen, &DEPLOYMENTS, &self.selectors, queue);
        } else if seen.is(&PODS) && seen.deleted {
            // Recreate waits for the last old pod to be gone, which no ReplicaSet's status shows for certain.
            let owner = seen.object.controller().filter(|o| o.text("kind") == REPLICA_SETS.kind);
            let set = owner.and_then(|o| {
                self.cx
                    .cache
                    .get(&REPLICA_SETS, &Key::new(seen.object.namespace(), o.text("name")))
            });
            if let Some(owner) = set
                .as_deref()
                .and_then(|s| s.controller())
                .filter(|o| o.text("kind") == DEPLOYMENTS.kind)
            {
                let key = Key::new(seen.object.namespace(), owner.text("name"));
                let recreates = |d: &Arc<Value>| d.text("spec.strategy.type") == "Recreate";
                if self.cx.cache.get(&DEPLOYMENTS, &key).as_ref().is_some_and(recreates) {
                    queue.add(key);
                }
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(deployment) = self.cx.cache.get(&DEPLOYMENTS, key) else {
            return Ok(Next::Wait);
        };
        let selector = Selector::of_label_selector(deployment.at("spec.selector"));
        if selector.is_everything() {
            let text = "This deployment is selecting all pods. A non-empty selector is required.";
            self.cx.events.warning(&deployment, "SelectingAll", text);
            return Ok(Next::Wait);
        }
        let mut sets: Vec<Value> = claim(&self.cx, &deployment, &DEPLOYMENTS, &REPLICA_SETS, &selector)
            .await?
            .iter()
            .map(|s| (**s).clone())
            .collect();
        sort_by_age(&mut sets);
        let mut work = Work {
            cx: &self.cx,
            deployment: (*deployment).clone(),
            new: None,
            old: sets,
            shown: None,
            requests: 0,
            stored: false,
        };
        work.split();
        let step = work.advance().await;
        self.requests.store(work.requests, Ordering::Relaxed);
        match step? {
            Step::Done(next) => Ok(next),
            Step::Again => Ok(Next::After(Duration::ZERO)),
        }
    }

    fn rest(&self) -> Duration {
        REQUEST * self.requests.swap(0, Ordering::Relaxed)
    }
}

/// `spec.replicas`, which defaulting has set.
fn replicas(object: &Value) -> i64 {
    object.int("spec.replicas").unwrap_or(1)
}

fn sort_by_age(sets: &mut [Value]) {
    sets.sort_by_key(|s| {
        (
            s.time("metadata.creationTimestamp"),
            revision::of(s),
            s.name().to_owned(),
        )
    });
}

/// An absolute number, or a percentage of `total`.
pub(super) fn int_or_percent(value: Option<&Value>, total: i64, round_up: bool) -> i64 {
    match value {
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let hundredths = percent * total;
            if round_up {
                (hundredths + 99) / 100
            } else {
                hundredths / 100
            }
        }
        Some(number) => number.as_i64().unwrap_or(0),
        None => 0,
    }
}

/// Sets a condition. One whose status or reason changes moves to the end; the time of the transition stays while the
/// status does. Equal status and reason change nothing.
fn set_condition(object: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let mut since = now.to_owned();
    if let Some(old) = object.condition(kind).filter(|c| c.text("status") == status) {
        if old.text("reason") == reason {
            return;
        }
        old.text("lastTransitionTime").clone_into(&mut since);
    }
    replace_condition(object, kind, Some((status, reason, message, now, &since)));
}

/// Removes a condition and, unless there is nothing to write, appends it anew.
fn replace_condition(object: &mut Value, kind: &str, new: Option<(&str, &str, &str, &str, &str)>) {
    let mut conditions = object.items("status.conditions").to_vec();
    conditions.retain(|c| c.text("type") != kind);
    if let Some((status, reason, message, updated, since)) = new {
        conditions.push(json!({
            "type": kind, "status": status, "lastUpdateTime": updated, "lastTransitionTime": since,
            "reason": reason, "message": message,
        }));
    }
    set(
        object,
        "status.conditions",
        if conditions.is_empty() {
            Value::Null
        } else {
            conditions.into()
        },
    );
}

/// Pods of old ReplicaSets that have not finished.
fn runs_old_pods(work: &Work<'_>) -> bool {
    let alive = |set: &Value| {
        set.int("status.replicas").unwrap_or(0) > 0
            || work
                .cx
                .cache
                .controlled_by(&PODS, set.uid())
                .iter()
                .any(|p| !pods::is_finished(p))
    };
    work.old.iter().any(alive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_asked() {
        let quarter = json!("25%");
        assert_eq!(int_or_percent(Some(&quarter), 4, true), 1);
        assert_eq!(int_or_percent(Some(&quarter), 3, true), 1);
        assert_eq!(int_or_percent(Some(&quarter), 3, false), 0);
        assert_eq!(int_or_percent(Some(&json!(2)), 3, false), 2);
    }

    #[test]
    fn a_condition_moves_to_the_end_when_its_status_or_reason_changes() {
        let mut o = json!({"status": {}});
        set_condition(&mut o, "A", "True", "R", "m", "t1");
        set_condition(&mut o, "B", "True", "R", "m", "t1");
        set_condition(&mut o, "A", "True", "R", "other words", "t2");
        assert_eq!(o.items("status.conditions")[0].text("type"), "A");
        set_condition(&mut o, "A", "True", "S", "m", "t3");
        let last = &o.items("status.conditions")[1];
        assert_eq!((last.text("type"), last.text("lastTransitionTime")), ("A", "t1"));
    }
}
