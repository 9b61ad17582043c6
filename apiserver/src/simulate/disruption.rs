//! PodDisruptionBudgets: how many pods may be evicted now.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::deployment::int_or_percent;
use super::pods;
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{DEPLOYMENTS, DISRUPTION_BUDGETS, PODS, REPLICA_SETS, STATEFUL_SETS};
use crate::controllers::object::{Key, Object};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

/// How long an evicted pod counts as disrupted while its deletion is not seen.
const PATIENCE: i64 = 120;

/// The disruption controller.
pub struct Budgets {
    cx: Cx,
    selectors: SelectorIndex,
}

impl Budgets {
    /// A controller that knows of no budget yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
        }
    }

    /// Pods that should exist, and pods of them that must be healthy.
    fn expectation(&self, budget: &Value, of: &[Arc<Value>]) -> Result<(i64, i64), String> {
        if let Some(unavailable) = budget.at("spec.maxUnavailable") {
            let expected = self.scale_of(of)?;
            return Ok((
                expected,
                (expected - int_or_percent(Some(unavailable), expected, true)).max(0),
            ));
        }
        match budget.at("spec.minAvailable") {
            Some(percentage @ Value::String(_)) => {
                let expected = self.scale_of(of)?;
                Ok((expected, int_or_percent(Some(percentage), expected, true)))
            }
            number => Ok((i64::try_from(of.len()).unwrap_or(0), int_or_percent(number, 0, true))),
        }
    }

    /// The sum of what the pods' controllers are scaled to.
    fn scale_of(&self, of: &[Arc<Value>]) -> Result<i64, String> {
        let mut scales: BTreeMap<String, i64> = BTreeMap::new();
        for pod in of {
            let Some(owner) = pod.controller() else {
                return Err(format!("found no controllers for pod {:?}", pod.name()));
            };
            let found = self.scale(pod.namespace(), owner);
            let Some((uid, scale)) = found else {
                return Err(format!(
                    "{} does not implement the scale subresource",
                    owner.text("kind")
                ));
            };
            scales.insert(uid, scale);
        }
        Ok(scales.values().sum())
    }

    fn scale(&self, namespace: &str, owner: &Value) -> Option<(String, i64)> {
        let kind = [&REPLICA_SETS, &STATEFUL_SETS, &DEPLOYMENTS]
            .into_iter()
            .find(|k| k.kind == owner.text("kind"))?;
        let object = self.cx.cache.get(kind, &Key::new(namespace, owner.text("name")))?;
        match object.controller() {
            Some(above) if *kind == REPLICA_SETS => self.scale(namespace, above),
            _ => Some((object.uid().to_owned(), object.int("spec.replicas").unwrap_or(1))),
        }
    }

    /// Evicted pods whose deletion is still to be seen, and when to look at them again.
    fn disrupted(&self, budget: &Value, of: &[Arc<Value>]) -> (Map<String, Value>, Option<i64>) {
        let now = self.cx.loopback.clock().now().as_second();
        let mut kept = Map::new();
        let mut again: Option<i64> = None;
        for (name, time) in budget
            .at("status.disruptedPods")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let there = of.iter().any(|p| p.name() == name && !p.is_deleting());
            let since = time
                .as_str()
                .and_then(|t| t.parse::<jiff::Timestamp>().ok())
                .map_or(0, jiff::Timestamp::as_second);
            let left = since + PATIENCE - now;
            if there && left > 0 {
                kept.insert(name.clone(), time.clone());
                again = Some(again.map_or(left, |a| a.min(left)));
            }
        }
        (kept, again)
    }

    fn condition(&self, budget: &Value, allowed: i64, problem: Option<&str>) -> Value {
        let (status, reason) = match problem {
            Some(_) => ("False", "SyncFailed"),
            None if allowed > 0 => ("True", "SufficientPods"),
            None => ("False", "InsufficientPods"),
        };
        let old = budget.condition("DisruptionAllowed");
        let since = match old {
            Some(old) if old.text("status") == status => old.text("lastTransitionTime").to_owned(),
            _ => self.cx.loopback.clock().now_rfc3339(),
        };
        json!({
            "type": "DisruptionAllowed", "status": status, "reason": reason, "message": problem.unwrap_or(""),
            "observedGeneration": budget.generation(), "lastTransitionTime": since,
        })
    }
}

impl Controller for Budgets {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&DISRUPTION_BUDGETS) {
            super::claim::index_selector(seen, &self.selectors);
            queue.add(Key::of(seen.object));
        } else if seen.is(&PODS) {
            let mut keys = self.selectors.selecting(seen.object);
            if let Some(old) = seen.old.filter(|old| old.labels() != seen.object.labels()) {
                keys.extend(self.selectors.selecting(old));
            }
            keys.into_iter().for_each(|key| queue.add(key));
        } else if [&DEPLOYMENTS, &STATEFUL_SETS].into_iter().any(|k| seen.is(k)) {
            let scale = |o: &Value| o.int("spec.replicas");
            if seen.old.is_some_and(|old| scale(old) != scale(seen.object)) {
                for budget in self.cx.cache.list(&DISRUPTION_BUDGETS, seen.object.namespace()) {
                    queue.add(Key::of(&budget));
                }
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(budget) = self.cx.cache.get(&DISRUPTION_BUDGETS, key) else {
            return Ok(Next::Wait);
        };
        let selector = Selector::of_label_selector(budget.at("spec.selector"));
        let found = self.cx.cache.select(&PODS, &key.namespace, &selector);
        if found.is_empty() {
            self.cx.events.normal(&budget, "NoPods", "No matching pods found");
        }
        let counted: Vec<_> = found.into_iter().filter(|p| !pods::is_finished(p)).collect();
        let (expected, desired, problem) = match self.expectation(&budget, &counted) {
            Ok((expected, desired)) => (expected, desired, None),
            Err(problem) => {
                let text = format!("Failed to calculate the number of expected pods: {problem}");
                self.cx.events.warning(&budget, "CalculateExpectedPodCountFailed", text);
                (0, 0, Some(problem))
            }
        };
        let (disrupted, again) = self.disrupted(&budget, &counted);
        let healthy = |p: &&Arc<Value>| pods::is_ready(p) && !p.is_deleting() && !disrupted.contains_key(p.name());
        let healthy = i64::try_from(counted.iter().filter(healthy).count()).unwrap_or(0);
        let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
        let mut status = json!({
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": budget.generation(),
            "conditions": [self.condition(&budget, allowed, problem.as_deref())],
        });
        if !disrupted.is_empty() {
            status["disruptedPods"] = disrupted.into();
        }
        if budget.get("status") != Some(&status) {
            let mut updated = (*budget).clone();
            updated["status"] = status;
            match self
                .cx
                .loopback
                .update(&DISRUPTION_BUDGETS.gvr(), Some("status"), updated)
                .await
            {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        let delay = again.and_then(|s| u64::try_from(s).ok()).map(Duration::from_secs);
        Ok(delay.map_or(Next::Wait, Next::After))
    }
}
