//! A simulated kubelet: pods that have a node start, become ready, finish and vanish, without anything running.
//!
//! It registers the node `kubewright`, and plays the kubelet of every node there is: nodes become ready when they come. Steps take tens of milliseconds,
//! drawn from the server's randomness. What a pod does can be scripted by annotations on it:
//!
//! | annotation | meaning |
//! |---|---|
//! | `simulate.kubewright.dev/ready` | `never`, or how long after its start the pod becomes ready (`5s`, `300ms`, `1m`); default at once |
//! | `simulate.kubewright.dev/finish-after` | `never`, or how long until the containers exit; default never under restartPolicy Always, else after 100 ms |
//! | `simulate.kubewright.dev/exit-code` | the exit code they finish with; default 0 |
//! | `simulate.kubewright.dev/exit-reason` | the reason that they finish with, such as `OOMKilled`; default `Completed` or `Error` |
//! | `simulate.kubewright.dev/fail` | `image`: the image cannot be pulled (ErrImagePull); `crash`: the containers wait in CrashLoopBackOff; `no`: neither, the default |
//!
//! [`Scripts`] tell the same to all pods of a workload from outside, at any time: pods that run do what is new.
//!
//! A container that exits is restarted as its pod's restartPolicy says, after a CrashLoopBackOff of 10 s that doubles up
//! to five minutes. A value that cannot be read counts as the default and is told in an event `InvalidSimulation`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::pods;
use crate::controllers::kinds::{JOBS, NODES, PODS, REPLICA_SETS};
use crate::controllers::object::{Key, Object};
use crate::controllers::queue::Queue;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

pub use script::Script;
pub use scripts::Scripts;

mod script;
mod scripts;
mod status;

/// Name of the simulated node.
pub const NODE: &str = "kubewright";
/// The taint of a node that has not said yet that it is ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The simulated kubelet.
pub struct Kubelet {
    cx: Cx,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the next step of a pod is due.
    due: BTreeMap<String, (Step, Instant)>,
    /// Addresses handed out so far.
    addresses: u32,
    registered: bool,
}

/// What happens to a pod next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Start,
    BecomeReady,
    BecomeUnready,
    Crash,
    Finish,
    Restart,
    Vanish,
}

impl Kubelet {
    /// A kubelet that has seen no pod yet.
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

    /// The next step of a pod and how long it takes, if anything is to happen by itself.
    fn plan(&self, pod: &Value) -> Option<(Step, Duration)> {
        let script = self.script(pod);
        let short = |least: u64| Duration::from_millis(least + self.cx.loopback.clock().next_u64() % least);
        let phase = pod.text("status.phase");
        if pod.text("spec.nodeName").is_empty() || (pods::is_finished(pod) && !pod.is_deleting()) {
            return None;
        }
        if pod.is_deleting() {
            return Some((Step::Vanish, short(20)));
        }
        if phase != "Running" {
            let told = script.fails_to_pull && !pod.items("status.containerStatuses").is_empty();
            return (!told).then(|| (Step::Start, short(20)));
        }
        if status::is_backing_off(pod) {
            let delay = status::backoff(pods::restarts(pod));
            return (!script.crashes).then_some((Step::Restart, delay));
        }
        if script.crashes {
            return Some((Step::Crash, short(20)));
        }
        if pods::is_ready(pod) && script.ready_after.is_none() && script.finish_after.is_none() {
            return Some((Step::BecomeUnready, short(20)));
        }
        if !pods::is_ready(pod)
            && let Some(delay) = script.ready_after
            && script.finish_after.is_none_or(|finish| delay < finish)
        {
            return Some((Step::BecomeReady, delay.max(Duration::from_millis(1))));
        }
        let finish = script.finish_after?;
        let spent = if pods::is_ready(pod) {
            script.ready_after.unwrap_or_default()
        } else {
            Duration::ZERO
        };
        Some((Step::Finish, finish.saturating_sub(spent).max(Duration::from_millis(1))))
    }

    /// What a pod does: as its annotations say, and before them what its workload was told from outside.
    fn script(&self, pod: &Value) -> Script {
        let mut script = Script::of(pod);
        let scripts = self.cx.loopback.scripts();
        if !scripts.is_empty() {
            scripts.direct(&mut script, &self.chain(pod));
        }
        script
    }

    /// The pod, its controller, and its controller's controller.
    fn chain(&self, pod: &Value) -> Vec<Key> {
        let mut chain = vec![Key::of(pod)];
        let Some(owner) = pod.controller() else { return chain };
        let key = Key::new(pod.namespace(), owner.text("name"));
        let above = [&REPLICA_SETS, &JOBS]
            .into_iter()
            .find(|kind| kind.kind == owner.text("kind"))
            .and_then(|kind| self.cx.cache.get(kind, &key));
        chain.push(key);
        if let Some(above) = above.as_ref().and_then(|owner| owner.controller()) {
            chain.push(Key::new(pod.namespace(), above.text("name")));
        }
        chain
    }

    async fn take(&self, step: Step, pod: &Value) -> Result<(), ApiError> {
        let script = self.script(pod);
        let now = self.cx.loopback.clock().now_rfc3339();
        let mut updated = pod.clone();
        match step {
            Step::Vanish => return self.remove(pod, &now).await,
            Step::Start => {
                for problem in &script.problems {
                    self.cx.events.warning(pod, "InvalidSimulation", problem.clone());
                }
                let address = self.address();
                if script.fails_to_pull {
                    status::cannot_pull(&mut updated, &now);
                } else if script.crashes {
                    status::start(&mut updated, &address, &now);
                    status::back_off(&mut updated, 1, &now);
                } else {
                    status::start(&mut updated, &address, &now);
                    if script.ready_after == Some(Duration::ZERO) {
                        status::become_ready(&mut updated, &now);
                    }
                }
            }
            Step::BecomeReady => status::become_ready(&mut updated, &now),
            Step::BecomeUnready => status::become_unready(&mut updated, &now),
            Step::Crash => {
                status::finish(&mut updated, 1, script.exit_reason.as_deref(), false, &now);
                status::back_off(&mut updated, pods::restarts(pod) + 1, &now);
            }
            Step::Restart => {
                status::run_again(&mut updated, &now);
                if script.ready_after == Some(Duration::ZERO) {
                    status::become_ready(&mut updated, &now);
                }
            }
            Step::Finish => {
                let restarts = match pod.text("spec.restartPolicy") {
                    "Never" => false,
                    "OnFailure" => script.exit_code != 0,
                    _ => true,
                };
                let reason = script.exit_reason.as_deref();
                status::finish(&mut updated, script.exit_code, reason, !restarts, &now);
                if restarts {
                    status::back_off(&mut updated, pods::restarts(pod) + 1, &now);
                }
            }
        }
        self.cx
            .loopback
            .update(&PODS.gvr(), Some("status"), updated)
            .await
            .map(drop)
    }

    async fn remove(&self, pod: &Value, now: &str) -> Result<(), ApiError> {
        if pod.text("spec.restartPolicy") != "Always" && matches!(pod.text("status.phase"), "Pending" | "Running") {
            let mut stopped = pod.clone();
            status::finish(&mut stopped, 143, None, true, now);
            self.cx.loopback.update(&PODS.gvr(), Some("status"), stopped).await?;
        }
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": { "uid": pod.uid() },
        });
        self.cx
            .loopback
            .delete(&PODS.gvr(), pod.namespace(), pod.name(), options)
            .await
            .map(drop)
    }

    fn address(&self) -> String {
        let mut state = self.state();
        state.addresses += 1;
        let n = state.addresses;
        format!("10.{}.{}.{}", 244 + n / 62_500 % 8, n / 250 % 250, n % 250 + 2)
    }

    /// Creates the node, once.
    async fn register(&self) -> Result<(), ApiError> {
        match self.cx.loopback.create(&NODES.gvr(), "", status::node(NODE)).await {
            Err(error) if error.reason != "AlreadyExists" => return Err(error),
            _ => {}
        }
        self.state().registered = true;
        Ok(())
    }

    /// Makes a node ready: its status, and the end of the taint that it is born with.
    async fn tend(&self, name: &str) -> Result<(), ApiError> {
        let Some(node) = self.cx.cache.get(&NODES, &Key::new("", name)) else {
            return Ok(());
        };
        let gvr = NODES.gvr();
        if node.condition("Ready").is_none() {
            let now = self.cx.loopback.clock().now_rfc3339();
            let patch = status::node_status(name, &now);
            self.cx
                .loopback
                .merge_patch(&gvr, Some("status"), "", name, patch)
                .await?;
        }
        let taints = node.items("spec.taints");
        let kept: Vec<&Value> = taints.iter().filter(|t| t.text("key") != NOT_READY).collect();
        if node.condition("Ready").is_none_or(|c| c.text("status") == "True") && kept.len() < taints.len() {
            let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
            self.cx
                .loopback
                .merge_patch(&gvr, None, "", name, json!({ "spec": { "taints": kept } }))
                .await?;
        }
        Ok(())
    }
}

impl Controller for Kubelet {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn start(&self, queue: &Queue<Key>) {
        queue.add(Key::new("", NODE));
    }

    /// What workloads are told changes the plans for all of their pods.
    async fn listen(&self, queue: &Queue<Key>) {
        loop {
            self.cx.loopback.scripts().changed().await;
            self.state().due.clear();
            for pod in self.cx.cache.list(&PODS, "") {
                queue.add(Key::of(&pod));
            }
        }
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&NODES) && !seen.deleted {
            queue.add(Key::new("", seen.object.name()));
        }
        if !seen.is(&PODS) {
            return;
        }
        if seen.deleted {
            self.state().due.remove(seen.object.uid());
        } else if !seen.object.text("spec.nodeName").is_empty() {
            queue.add(Key::of(seen.object));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        if key.namespace.is_empty() {
            if &*key.name == NODE && !self.state().registered {
                self.register().await?;
            } else {
                self.tend(&key.name).await?;
            }
            return Ok(Next::Wait);
        }
        let Some(pod) = self.cx.cache.get(&PODS, key) else {
            return Ok(Next::Wait);
        };
        let uid = pod.uid().to_owned();
        let Some((step, delay)) = self.plan(&pod) else {
            self.state().due.remove(&uid);
            return Ok(Next::Wait);
        };
        let now = Instant::now();
        let due = {
            let mut state = self.state();
            let due = state.due.entry(uid.clone()).or_insert((step, now + delay));
            if due.0 != step {
                *due = (step, now + delay);
            }
            due.1
        };
        if now < due {
            return Ok(Next::After(due - now));
        }
        match self.take(step, &pod).await {
            Err(error) if error.code != 404 && error.code != 409 => return Err(error),
            Err(error) if error.code == 409 => return Ok(Next::After(Duration::from_millis(1))),
            _ => {}
        }
        self.state().due.remove(&uid);
        Ok(Next::Wait)
    }
}
