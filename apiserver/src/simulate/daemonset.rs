//! DaemonSets: one pod on every node that its template allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, index_selector, wake_owners};
use super::revisions::{self, Revisions};
use super::{deployment, nodes, pods};
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{DAEMON_SETS, NODES, PODS};
use crate::controllers::object::{Key, Object, add_label, set_count};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

const HASH: &str = "controller-revision-hash";
const GENERATION: &str = "deprecated.daemonset.template.generation";
/// Taints that the pods of a DaemonSet tolerate, with the effect.
const TOLERATED: [(&str, &str); 6] = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
];

/// The DaemonSet controller.
pub struct DaemonSets {
    cx: Cx,
    selectors: SelectorIndex,
}

/// What a set's template says of a node.
#[derive(Clone, Copy)]
struct Fit {
    /// A pod should be started there.
    run: bool,
    /// A pod that is there may stay.
    stay: bool,
}

/// One DaemonSet being worked on.
struct Work<'a> {
    cx: &'a Cx,
    set: Arc<Value>,
    update: Value,
    nodes: Vec<(Arc<Value>, Fit)>,
    /// Pods by the node that they are for, the oldest first.
    by_node: BTreeMap<String, Vec<Arc<Value>>>,
}

impl DaemonSets {
    /// A controller that knows of no DaemonSet yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
        }
    }
}

/// The node that a pod runs on or is meant for.
fn node_of(pod: &Value) -> &str {
    let bound = pod.text("spec.nodeName");
    if !bound.is_empty() {
        return bound;
    }
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let fields = pod.items(terms).iter().flat_map(|t| t.items("matchFields"));
    fields
        .flat_map(|f| f.items("values"))
        .find_map(Value::as_str)
        .unwrap_or("")
}

impl Work<'_> {
    fn is_updated(&self, pod: &Value) -> bool {
        pod.label(HASH) == self.update.label(HASH)
    }

    fn is_available(&self, pod: &Value) -> bool {
        let seconds = self.set.int("spec.minReadySeconds").unwrap_or(0);
        !pod.is_deleting() && pods::is_available(pod, seconds, self.cx.loopback.clock().now())
    }

    fn bounds(&self) -> (i64, i64) {
        let wanted = i64::try_from(self.nodes.iter().filter(|(_, f)| f.run).count()).unwrap_or(0);
        let of = |field: &str| {
            let value = self
                .set
                .at("spec.updateStrategy.rollingUpdate")
                .and_then(|r| r.get(field));
            deployment::int_or_percent(value, wanted, true)
        };
        let (surge, unavailable) = (of("maxSurge"), of("maxUnavailable"));
        if surge == 0 {
            (0, unavailable.max(1))
        } else {
            (surge, unavailable)
        }
    }

    /// Starts pods where there should be one, deletes those that should not be there.
    async fn manage(&self) -> Result<(), ApiError> {
        let mut missing = Vec::new();
        for (node, fit) in &self.nodes {
            let there = self.by_node.get(node.name()).map_or(&[][..], Vec::as_slice);
            let alive: Vec<_> = there.iter().filter(|p| !p.is_deleting()).collect();
            let mut running = 0;
            for pod in &alive {
                if pods::is_finished(pod) {
                    let text = format!(
                        "Found failed daemon pod {}/{} on node {}, will try to kill it",
                        pod.namespace(),
                        pod.name(),
                        node.name()
                    );
                    self.cx.events.warning(&self.set, "FailedDaemonPod", text);
                    pods::delete(self.cx, &self.set, pod).await?;
                } else if !fit.stay {
                    pods::delete(self.cx, &self.set, pod).await?;
                } else {
                    running += 1;
                }
            }
            // A pod that is going still holds its place: the next one comes when it is gone.
            if fit.run && running == 0 && there.iter().all(|p| !p.is_deleting()) {
                missing.push(Arc::clone(node));
            }
            let surplus = self.surplus(&alive);
            for pod in surplus {
                pods::delete(self.cx, &self.set, pod).await?;
            }
        }
        for node in missing {
            self.create(&node).await?;
        }
        Ok(())
    }

    /// Of several pods of one revision on one node all but the oldest go.
    fn surplus<'p>(&self, alive: &[&'p Arc<Value>]) -> Vec<&'p Arc<Value>> {
        let of = |updated: bool| {
            alive
                .iter()
                .copied()
                .filter(move |p| self.is_updated(p) == updated)
                .skip(1)
        };
        of(true).chain(of(false)).filter(|p| !pods::is_finished(p)).collect()
    }

    /// Moves pods to the present template.
    async fn roll(&self) -> Result<(), ApiError> {
        if self.set.text("spec.updateStrategy.type") == "OnDelete" {
            return Ok(());
        }
        let (max_surge, max_unavailable) = self.bounds();
        let alive = |n: &Value| {
            let there = self.by_node.get(n.name()).map_or(&[][..], Vec::as_slice);
            there.iter().filter(|p| !p.is_deleting()).cloned().collect::<Vec<_>>()
        };
        let mut unavailable = 0;
        let mut surging = 0;
        let mut ready_to_go = Vec::new();
        let mut to_surge = Vec::new();
        for (node, fit) in self.nodes.iter().filter(|(_, f)| f.run) {
            let (new, old): (Vec<_>, Vec<_>) = alive(node).into_iter().partition(|p| self.is_updated(p));
            let works = |p: &Arc<Value>| self.is_available(p);
            if !new.iter().chain(&old).any(works) {
                unavailable += 1;
            }
            let _ = fit;
            match (new.first(), old.first()) {
                (Some(new), Some(old)) => {
                    surging += 1;
                    // The new one took over: the old one may go without anything becoming unavailable.
                    if works(new) || !works(old) {
                        pods::delete(self.cx, &self.set, old).await?;
                    }
                }
                (None, Some(old)) if max_surge > 0 => to_surge.push((Arc::clone(node), Arc::clone(old))),
                (None, Some(old)) => ready_to_go.push((works(old), Arc::clone(old))),
                _ => {}
            }
        }
        for (node, _) in to_surge {
            if surging < max_surge {
                self.create(&node).await?;
                surging += 1;
            }
        }
        // What does not work anyway costs nothing.
        ready_to_go.sort_by_key(|(works, _)| *works);
        for (works, pod) in ready_to_go {
            if !works || unavailable < max_unavailable {
                pods::delete(self.cx, &self.set, &pod).await?;
                unavailable += i64::from(works);
            }
        }
        Ok(())
    }

    async fn create(&self, node: &Value) -> Result<(), ApiError> {
        let template = self.set.at("spec.template").cloned().unwrap_or_default();
        let mut pod = pods::from_template(&template, &self.set, &DAEMON_SETS);
        pod["metadata"]["generateName"] = format!("{}-", self.set.name()).into();
        add_label(&mut pod, HASH, self.update.label(HASH).unwrap_or(""));
        if let Some(generation) = self.set.annotation(GENERATION) {
            add_label(&mut pod, "pod-template-generation", generation);
        }
        let here = json!([{ "key": "metadata.name", "operator": "In", "values": [node.name()] }]);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let affinity = &mut pod["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"];
        match affinity.as_array_mut() {
            Some(terms) => terms.iter_mut().for_each(|t| t["matchFields"] = here.clone()),
            None => *affinity = json!([{ "matchFields": here }]),
        }
        let mut tolerations = pod.items("spec.tolerations").to_vec();
        tolerations.extend(TOLERATED.iter().map(|(key, effect)| {
            json!({ "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect })
        }));
        pod["spec"]["tolerations"] = tolerations.into();
        match pods::create(self.cx, &self.set, pod).await {
            Err(error) if !pods::is_namespace_terminating(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn status(&self) -> Value {
        let (mut desired, mut current, mut misscheduled, mut ready, mut available, mut updated) = (0, 0, 0, 0, 0, 0);
        for (node, fit) in &self.nodes {
            let there = self.by_node.get(node.name()).map_or(&[][..], Vec::as_slice);
            if !fit.run {
                misscheduled += i64::from(!there.is_empty());
                continue;
            }
            desired += 1;
            let Some(pod) = there.iter().min_by_key(|p| p.time("metadata.creationTimestamp")) else {
                continue;
            };
            current += 1;
            if pods::is_ready(pod) {
                ready += 1;
                let seconds = self.set.int("spec.minReadySeconds").unwrap_or(0);
                available += i64::from(pods::is_available(pod, seconds, self.cx.loopback.clock().now()));
            }
            updated += i64::from(self.is_updated(pod));
        }
        let mut status = json!({
            "currentNumberScheduled": current,
            "desiredNumberScheduled": desired,
            "numberMisscheduled": misscheduled,
            "numberReady": ready,
        });
        set_count(&mut status, "observedGeneration", self.set.generation());
        set_count(&mut status, "updatedNumberScheduled", updated);
        set_count(&mut status, "numberAvailable", available);
        set_count(&mut status, "numberUnavailable", desired - available);
        for kept in ["conditions", "collisionCount"] {
            if let Some(value) = self.set.at("status").and_then(|s| s.get(kept)) {
                status[kept] = value.clone();
            }
        }
        status
    }
}

impl Controller for DaemonSets {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&DAEMON_SETS) {
            index_selector(seen, &self.selectors);
            queue.add(Key::of(seen.object));
        } else if seen.is(&PODS) {
            wake_owners(seen, &DAEMON_SETS, &self.selectors, queue);
        } else if seen.is(&NODES) {
            let shape = |n: &Value| (n.labels().cloned(), n.get("spec").cloned());
            if seen.deleted || seen.old.is_none_or(|old| shape(old) != shape(seen.object)) {
                for set in self.cx.cache.list(&DAEMON_SETS, "") {
                    queue.add(Key::of(&set));
                }
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(set) = self.cx.cache.get(&DAEMON_SETS, key) else {
            return Ok(Next::Wait);
        };
        let selector = Selector::of_label_selector(set.at("spec.selector"));
        if selector.is_everything() || set.is_deleting() {
            return Ok(Next::Wait);
        }
        let revisions = revisions::sync(&self.cx, &set, &DAEMON_SETS, HASH).await?;
        let claimed = claim(&self.cx, &set, &DAEMON_SETS, &PODS, &selector).await?;
        let work = Work::new(&self.cx, Arc::clone(&set), &revisions, claimed);
        let managed = work.manage().await;
        let rolled = if managed.is_ok() { work.roll().await } else { Ok(()) };
        let status = work.status();
        if set.get("status") != Some(&status) {
            let mut updated = (*set).clone();
            updated["status"] = status.clone();
            match self
                .cx
                .loopback
                .update(&DAEMON_SETS.gvr(), Some("status"), updated)
                .await
            {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        managed.and(rolled)?;
        let used = |r: &Value| work.by_node.values().flatten().any(|p| p.label(HASH) == r.label(HASH));
        revisions::prune(&self.cx, &set, &revisions, used).await?;
        let unavailable_yet = status.int("numberReady").unwrap_or(0) > status.int("numberAvailable").unwrap_or(0);
        Ok(if unavailable_yet {
            Next::After(Duration::from_secs(1))
        } else {
            Next::Wait
        })
    }
}

impl<'a> Work<'a> {
    fn new(cx: &'a Cx, set: Arc<Value>, revisions: &Revisions, claimed: Vec<Arc<Value>>) -> Self {
        let mut model = json!({ "spec": set.at("spec.template.spec").cloned().unwrap_or_default() });
        let mut tolerations = model.items("spec.tolerations").to_vec();
        tolerations.extend(TOLERATED.iter().map(|(key, effect)| {
            json!({ "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect })
        }));
        model["spec"]["tolerations"] = tolerations.into();
        let fit = |node: &Value| {
            let selected = nodes::is_selected(&model, node);
            Fit {
                run: selected && nodes::tolerates(&model, node, &["NoSchedule", "NoExecute"]),
                stay: selected && nodes::tolerates(&model, node, &["NoExecute"]),
            }
        };
        let nodes = cx
            .cache
            .list(&NODES, "")
            .into_iter()
            .map(|n| (Arc::clone(&n), fit(&n)))
            .collect();
        let mut by_node: BTreeMap<String, Vec<Arc<Value>>> = BTreeMap::new();
        for pod in claimed {
            by_node.entry(node_of(&pod).to_owned()).or_default().push(pod);
        }
        for pods in by_node.values_mut() {
            pods.sort_by_key(|p| (p.time("metadata.creationTimestamp"), p.name().to_owned()));
        }
        Self {
            cx,
            set,
            update: revisions.update.clone(),
            nodes,
            by_node,
        }
    }
}
