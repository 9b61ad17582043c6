//! StatefulSets: pods with names and claims of their own, made and updated in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, index_selector, wake_owners};
use super::pods;
use super::revisions::{self, Revisions, STATEFUL_HASH};
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{PODS, STATEFUL_SETS, VOLUME_CLAIMS};
use crate::controllers::object::{Key, Object, set_count};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

mod claims;
mod identity;

/// The StatefulSet controller.
pub struct StatefulSets {
    cx: Cx,
    selectors: SelectorIndex,
}

/// One StatefulSet being worked on.
struct Work<'a> {
    cx: &'a Cx,
    set: Arc<Value>,
    /// Its pods by ordinal.
    pods: BTreeMap<i64, Arc<Value>>,
    /// The revision that pods have which no update has reached.
    current: Value,
    /// The revision of the present template.
    update: Value,
    /// The status as this look finds it.
    status: Value,
}

impl StatefulSets {
    /// A controller that knows of no StatefulSet yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
        }
    }
}

impl Work<'_> {
    fn replicas(&self) -> i64 {
        self.set.int("spec.replicas").unwrap_or(1)
    }

    fn first(&self) -> i64 {
        self.set.int("spec.ordinals.start").unwrap_or(0)
    }

    fn in_order(&self) -> bool {
        self.set.text("spec.podManagementPolicy") != "Parallel"
    }

    fn wanted(&self) -> std::ops::Range<i64> {
        self.first()..self.first() + self.replicas()
    }

    fn revision_of(pod: &Value) -> &str {
        pod.label("controller-revision-hash").unwrap_or("")
    }

    fn is_available(&self, pod: &Value) -> bool {
        let seconds = self.set.int("spec.minReadySeconds").unwrap_or(0);
        is_running_and_ready(pod) && pods::is_available(pod, seconds, self.cx.loopback.clock().now())
    }

    /// Counts the pods into the status.
    fn count(&mut self) {
        let now_available = |p: &Arc<Value>| self.is_available(p);
        let of = |revision: &Value| {
            let same = |p: &&Arc<Value>| !p.is_deleting() && Self::revision_of(p) == revision.name();
            self.pods.values().filter(same).count()
        };
        let available = self.pods.values().filter(|p| now_available(p)).count();
        let ready = self.pods.values().filter(|p| is_running_and_ready(p)).count();
        let (current, updated) = (of(&self.current), of(&self.update));
        let mut status = json!({ "status": {
            "replicas": self.pods.len(),
            "availableReplicas": available,
            "collisionCount": self.set.int("status.collisionCount").unwrap_or(0),
            "currentRevision": self.current.name(),
            "updateRevision": self.update.name(),
            "observedGeneration": self.set.generation(),
        }});
        for (field, count) in [
            ("readyReplicas", ready),
            ("currentReplicas", current),
            ("updatedReplicas", updated),
        ] {
            set_count(
                &mut status,
                &format!("status.{field}"),
                i64::try_from(count).unwrap_or(i64::MAX),
            );
        }
        if let Some(conditions) = self.set.at("status.conditions") {
            status["status"]["conditions"] = conditions.clone();
        }
        self.status = status["status"].take();
    }

    /// Makes what is missing, deletes what is too much, replaces what is old: as far as the order allows now.
    async fn advance(&mut self) -> Result<Next, ApiError> {
        for ordinal in self.wanted() {
            let Some(pod) = self.pods.get(&ordinal).cloned() else {
                self.create(ordinal).await?;
                if self.in_order() {
                    return Ok(Next::Wait);
                }
                continue;
            };
            if pods::is_finished(&pod) && !pod.is_deleting() {
                let text = format!(
                    "StatefulSet {}/{} is recreating failed Pod {}",
                    self.set.namespace(),
                    self.set.name(),
                    pod.name()
                );
                self.cx.events.warning(&self.set, "RecreatingFailedPod", text);
                self.delete(&pod).await?;
                return Ok(Next::Wait);
            }
            if self.in_order() {
                if pod.is_deleting() || !is_running_and_ready(&pod) {
                    return Ok(Next::Wait);
                }
                if !self.is_available(&pod) {
                    return Ok(Next::After(Duration::from_secs(1)));
                }
            }
            self.sync_claims(&pod, ordinal).await?;
        }
        let condemned: Vec<_> = self
            .pods
            .iter()
            .rev()
            .filter(|(o, _)| !self.wanted().contains(o))
            .collect();
        for (ordinal, pod) in &condemned {
            self.sync_claims(pod, **ordinal).await?;
        }
        let healthy = |p: &Value| is_running_and_ready(p) && !p.is_deleting();
        let first_unhealthy = self.pods.values().find(|p| !healthy(p)).map(|p| p.uid().to_owned());
        for (_, pod) in condemned {
            if pod.is_deleting() {
                if self.in_order() {
                    return Ok(Next::Wait);
                }
                continue;
            }
            if self.in_order() && !is_running_and_ready(pod) && first_unhealthy.as_deref() != Some(pod.uid()) {
                return Ok(Next::Wait);
            }
            self.delete(pod).await?;
            if self.in_order() {
                return Ok(Next::Wait);
            }
        }
        self.replace_old().await
    }

    /// Deletes the pods of old revisions, from the top down to the partition, one after the other (or, with
    /// `maxUnavailable`, as many as that).
    async fn replace_old(&mut self) -> Result<Next, ApiError> {
        if self.set.text("spec.updateStrategy.type") == "OnDelete" {
            return Ok(Next::Wait);
        }
        let partition = self.set.int("spec.updateStrategy.rollingUpdate.partition").unwrap_or(0);
        let unavailable = self.set.at("spec.updateStrategy.rollingUpdate.maxUnavailable");
        let at_once = super::deployment::int_or_percent(unavailable, self.replicas(), false).max(1);
        let mut busy = 0;
        let targets: Vec<_> = self
            .pods
            .range(self.first() + partition..)
            .rev()
            .map(|(_, p)| Arc::clone(p))
            .collect();
        for pod in targets {
            let old = Self::revision_of(&pod) != self.update.name();
            if old && !pod.is_deleting() {
                self.delete(&pod).await?;
                if Self::revision_of(&pod) == self.current.name() {
                    let left = self.status.int("currentReplicas").unwrap_or(0) - 1;
                    set_count(&mut self.status, "currentReplicas", left);
                }
                busy += 1;
            } else if pod.is_deleting() || !self.is_available(&pod) {
                busy += 1;
            }
            if busy >= at_once {
                break;
            }
        }
        Ok(Next::Wait)
    }

    /// Once every pod has the new revision, that is the current one.
    fn complete(&mut self) {
        let all = |field: &str| self.status.int(field).unwrap_or(0) == self.replicas();
        if self.set.text("spec.updateStrategy.type") != "OnDelete"
            && self.current.name() != self.update.name()
            && all("updatedReplicas")
            && all("readyReplicas")
        {
            self.status["currentRevision"] = self.update.name().into();
            let updated = self.status.int("updatedReplicas").unwrap_or(0);
            set_count(&mut self.status, "currentReplicas", updated);
        }
    }

    async fn create(&self, ordinal: i64) -> Result<(), ApiError> {
        let old = ordinal < self.first() + self.old_pods();
        let pod = self.new_pod(ordinal, if old { &self.current } else { &self.update });
        let name = pod.name().to_owned();
        self.make_claims(&pod, ordinal).await?;
        match self.cx.loopback.create(&PODS.gvr(), self.set.namespace(), pod).await {
            Ok(_) => {
                let text = format!("Create Pod {name} in StatefulSet {} successful", self.set.name());
                self.cx.events.normal(&self.set, "SuccessfulCreate", text);
                Ok(())
            }
            Err(error) if pods::is_namespace_terminating(&error) => Ok(()),
            Err(error) => {
                let text = format!(
                    "Create Pod {name} in StatefulSet {} failed error: {}",
                    self.set.name(),
                    error.message
                );
                self.cx.events.warning(&self.set, "FailedCreate", text);
                Err(error)
            }
        }
    }

    /// How many of the lowest ordinals still get the old revision.
    fn old_pods(&self) -> i64 {
        if self.current.name() == self.update.name() || self.set.text("spec.updateStrategy.type") == "OnDelete" {
            return 0;
        }
        match self.set.int("spec.updateStrategy.rollingUpdate.partition") {
            Some(partition) if partition > 0 => partition,
            _ => self.status.int("currentReplicas").unwrap_or(0),
        }
    }

    async fn delete(&self, pod: &Value) -> Result<(), ApiError> {
        let options = json!({ "preconditions": { "uid": pod.uid() } });
        let (name, set) = (pod.name(), self.set.name());
        match self
            .cx
            .loopback
            .delete(&PODS.gvr(), pod.namespace(), name, options)
            .await
        {
            Ok(_) => {
                let text = format!("Delete Pod {name} in StatefulSet {set} successful");
                self.cx.events.normal(&self.set, "SuccessfulDelete", text);
                Ok(())
            }
            Err(error) if error.code == 404 || error.code == 409 => Ok(()),
            Err(error) => {
                let text = format!("Delete Pod {name} in StatefulSet {set} failed error: {}", error.message);
                self.cx.events.warning(&self.set, "FailedDelete", text);
                Err(error)
            }
        }
    }
}

impl Controller for StatefulSets {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&STATEFUL_SETS) {
            index_selector(seen, &self.selectors);
            queue.add(Key::of(seen.object));
        } else if seen.is(&PODS) {
            wake_owners(seen, &STATEFUL_SETS, &self.selectors, queue);
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(set) = self.cx.cache.get(&STATEFUL_SETS, key) else {
            return Ok(Next::Wait);
        };
        let selector = Selector::of_label_selector(set.at("spec.selector"));
        let Revisions { all, update } = revisions::sync(&self.cx, &set, &STATEFUL_SETS, STATEFUL_HASH).await?;
        let current = all
            .iter()
            .find(|r| r.name() == set.text("status.currentRevision"))
            .unwrap_or(&update)
            .clone();
        let claimed = claim(&self.cx, &set, &STATEFUL_SETS, &PODS, &selector).await?;
        let pods = claimed
            .into_iter()
            .filter_map(|p| Some((identity::ordinal(&set, &p)?, p)))
            .collect();
        let mut work = Work {
            cx: &self.cx,
            set: Arc::clone(&set),
            pods,
            current,
            update,
            status: Value::Null,
        };
        work.count();
        let advanced = if set.is_deleting() {
            Ok(Next::Wait)
        } else {
            work.advance().await
        };
        work.complete();
        if set.get("status") != Some(&work.status) {
            let mut updated = (*set).clone();
            updated["status"] = work.status.take();
            match self
                .cx
                .loopback
                .update(&STATEFUL_SETS.gvr(), Some("status"), updated)
                .await
            {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        let revisions = Revisions {
            all,
            update: work.update.clone(),
        };
        let used =
            |r: &Value| r.name() == work.current.name() || work.pods.values().any(|p| Work::revision_of(p) == r.name());
        if !set.is_deleting() {
            revisions::prune(&self.cx, &set, &revisions, used).await?;
        }
        advanced
    }
}

fn is_running_and_ready(pod: &Value) -> bool {
    pod.text("status.phase") == "Running" && pods::is_ready(pod)
}

/// Claims that carry a template's name for a pod: what [`claims`] and [`identity`] agree on.
fn claim_name(template: &Value, pod: &str) -> String {
    format!("{}-{pod}", template.name())
}

/// A claim of the set, as it is now.
fn present_claim(cx: &Cx, namespace: &str, name: &str) -> Option<Arc<Value>> {
    cx.cache.get(&VOLUME_CLAIMS, &Key::new(namespace, name))
}
