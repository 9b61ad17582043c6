//! A simulated scheduler: gives every pod a node that its selector, affinity and tolerations allow.
//!
//! Resources are not counted. Among several nodes the one with the fewest pods is taken, then the first by name. A pod
//! that no node may run stays Pending with the condition PodScheduled=False and an event, until a node changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::nodes;
use crate::controllers::kinds::{NODES, PODS};
use crate::controllers::object::{Key, Object};
use crate::controllers::queue::Queue;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

/// The least time between a pod and its node, in milliseconds; up to as much again is drawn at random.
const LATENCY: u64 = 10;

/// The simulated scheduler.
pub struct Scheduler {
    cx: Cx,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Pods per node.
    load: BTreeMap<String, usize>,
    /// Pods that no node may run.
    stuck: BTreeSet<Key>,
}

impl Scheduler {
    /// A scheduler that has seen no pod yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node for a pod, or why there is none.
    fn choose(&self, pod: &Value) -> Result<String, String> {
        let all = self.cx.cache.list(&NODES, "");
        let state = self.state();
        let (mut unselected, mut tainted) = (0, 0);
        let mut best: Option<(usize, &str)> = None;
        for node in &all {
            if !nodes::is_selected(pod, node) {
                unselected += 1;
            } else if !nodes::tolerates(pod, node, &["NoSchedule", "NoExecute"]) {
                tainted += 1;
            } else {
                let load = state.load.get(node.name()).copied().unwrap_or(0);
                best = best.min(Some((load, node.name()))).or(Some((load, node.name())));
            }
        }
        best.map(|(_, name)| name.to_owned()).ok_or_else(|| {
            let mut why = Vec::new();
            if unselected > 0 {
                why.push(format!(
                    "{unselected} node(s) didn't match Pod's node affinity/selector"
                ));
            }
            if tainted > 0 {
                why.push(format!("{tainted} node(s) had untolerated taint(s)"));
            }
            match why.is_empty() {
                true => "no nodes available to schedule pods".to_owned(),
                false => format!("0/{} nodes are available: {}.", all.len(), why.join(", ")),
            }
        })
    }

    async fn tell_stuck(&self, pod: &Value, message: String) -> Result<(), ApiError> {
        let told = pod
            .condition("PodScheduled")
            .is_some_and(|c| c.text("message") == message);
        if told {
            return Ok(());
        }
        self.cx.events.warning(pod, "FailedScheduling", message.clone());
        let mut pod = pod.clone();
        let mut conditions = pod.items("status.conditions").to_vec();
        conditions.retain(|c| c.text("type") != "PodScheduled");
        conditions.push(json!({
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": self.cx.loopback.clock().now_rfc3339(),
            "reason": "Unschedulable",
            "message": message,
        }));
        pod["status"]["conditions"] = conditions.into();
        self.cx
            .loopback
            .update(&PODS.gvr(), Some("status"), pod)
            .await
            .map(drop)
    }
}

impl Controller for Scheduler {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&NODES) {
            for key in std::mem::take(&mut self.state().stuck) {
                queue.add(key);
            }
        } else if seen.is(&PODS) {
            let key = Key::of(seen.object);
            let (node, before) = (
                seen.object.text("spec.nodeName"),
                seen.old.map_or("", |o| o.text("spec.nodeName")),
            );
            let mut state = self.state();
            if seen.deleted {
                state.stuck.remove(&key);
                if let Some(load) = state.load.get_mut(node) {
                    *load = load.saturating_sub(1);
                }
            } else if !node.is_empty() && before.is_empty() {
                *state.load.entry(node.to_owned()).or_insert(0) += 1;
            } else if node.is_empty() && !seen.object.is_deleting() {
                let draw = LATENCY + self.cx.loopback.clock().next_u64() % LATENCY;
                queue.add_after(key, Duration::from_millis(draw));
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(pod) = self.cx.cache.get(&PODS, key) else {
            return Ok(Next::Wait);
        };
        let waits =
            !pod.items("spec.schedulingGates").is_empty() || pod.text("spec.schedulerName") != "default-scheduler";
        if !pod.text("spec.nodeName").is_empty() || pod.is_deleting() || waits {
            return Ok(Next::Wait);
        }
        let node = match self.choose(&pod) {
            Ok(node) => node,
            Err(message) => {
                self.state().stuck.insert(key.clone());
                self.tell_stuck(&pod, message).await?;
                return Ok(Next::Wait);
            }
        };
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": pod.name(), "namespace": pod.namespace(), "uid": pod.uid() },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        match self
            .cx
            .loopback
            .create_sub(&PODS.gvr(), pod.namespace(), pod.name(), "binding", binding)
            .await
        {
            Ok(_) => {
                let text = format!("Successfully assigned {}/{} to {node}", pod.namespace(), pod.name());
                self.cx.events.normal(&pod, "Scheduled", text);
                Ok(Next::Wait)
            }
            Err(error) if error.code == 404 || error.code == 409 => Ok(Next::Wait),
            Err(error) => Err(error),
        }
    }
}
