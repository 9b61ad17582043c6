//! The ReplicaSet of the present template, and the numbers of revisions.

use serde_json::{Value, json};

use super::{Step, Work, int_or_percent, replicas, set_condition};
use crate::controllers::kinds::{DEPLOYMENTS, REPLICA_SETS};
use crate::controllers::object::{Object, annotate, controller_reference, map_of, set};
use crate::error::ApiError;
use crate::simulate::hash;
use crate::simulate::pods::is_namespace_terminating;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const DEPRECATED_ROLLBACK: &str = "deprecated.deployment.rollback.to";
/// The longest history that is kept in the annotation.
const LONGEST_HISTORY: usize = 2000;

/// The revision that a ReplicaSet or Deployment is annotated with.
pub(super) fn of(object: &Value) -> i64 {
    object.annotation(REVISION).and_then(|r| r.parse().ok()).unwrap_or(0)
}

impl Work<'_> {
    /// Tells the ReplicaSet of the present template from the others.
    pub(super) fn split(&mut self) {
        let template = self.deployment.at("spec.template").cloned().unwrap_or_default();
        let same = |set: &Value| {
            let mut theirs = set.at("spec.template").cloned().unwrap_or_default();
            let mut ours = template.clone();
            for template in [&mut theirs, &mut ours] {
                if let Some(labels) = template.get_mut("metadata").and_then(|m| m.get_mut("labels")) {
                    labels.as_object_mut().map(|l| l.remove(HASH));
                }
            }
            theirs == ours
        };
        let found = self.old.iter().position(same);
        self.new = found.map(|i| self.old.remove(i));
    }

    /// Brings the annotations of the new ReplicaSet, if there is one, and the Deployment's revision up to date.
    pub(super) async fn find_new(&mut self) -> Result<Step<()>, ApiError> {
        let Some(mut new) = self.new.take() else {
            return Ok(Step::Done(()));
        };
        let changed = self.annotate_new(&mut new);
        let ready_seconds = self.deployment.at("spec.minReadySeconds").cloned().unwrap_or_default();
        let seconds_changed = new.int("spec.minReadySeconds").unwrap_or(0) != ready_seconds.as_i64().unwrap_or(0);
        if changed || seconds_changed {
            set(&mut new, "spec.minReadySeconds", ready_seconds);
            self.requests += 1;
            self.new = Some(self.cx.loopback.update(&REPLICA_SETS.gvr(), None, new).await?);
            return Ok(Step::Again);
        }
        let mut store = self.take_revision(&new);
        if self.progress_deadline().is_some() && self.deployment.condition("Progressing").is_none() {
            let message = format!("Found new replica set {:?}", new.name());
            let now = self.cx.loopback.clock().now_rfc3339();
            set_condition(
                &mut self.deployment,
                "Progressing",
                "True",
                "FoundNewReplicaSet",
                &message,
                &now,
            );
            store = true;
        }
        self.new = Some(new);
        if store {
            self.store_status().await
        } else {
            Ok(Step::Done(()))
        }
    }

    /// Makes the ReplicaSet of the present template if there is none.
    pub(super) async fn ensure_new(&mut self) -> Result<Step<()>, ApiError> {
        if self.new.is_some() {
            return Ok(Step::Done(()));
        }
        let mut set = self.new_set();
        let name = set.name().to_owned();
        let now = self.cx.loopback.clock().now_rfc3339();
        let size = self.size_of_new(&set);
        set["spec"]["replicas"] = size.into();
        self.annotate_new(&mut set);
        self.annotate_size(&mut set);
        let created = match self
            .cx
            .loopback
            .create(&REPLICA_SETS.gvr(), self.deployment.namespace(), set)
            .await
        {
            Ok(created) => created,
            Err(error) if is_namespace_terminating(&error) => return Err(error),
            Err(error) if error.reason == "AlreadyExists" => return self.note_collision(error).await,
            Err(error) => {
                let message = format!("Failed to create new replica set {name:?}: {}", error.message);
                if self.progress_deadline().is_some() {
                    set_condition(
                        &mut self.deployment,
                        "Progressing",
                        "False",
                        "ReplicaSetCreateError",
                        &message,
                        &now,
                    );
                    self.store_status().await?;
                }
                self.cx
                    .events
                    .warning(&self.deployment, "ReplicaSetCreateError", message);
                return Err(error);
            }
        };
        if size > 0 {
            let text = format!("Scaled up replica set {name} from 0 to {size}");
            self.cx.events.normal(&self.deployment, "ScalingReplicaSet", text);
        }
        let mut store = self.take_revision(&created);
        if self.progress_deadline().is_some() {
            let message = format!("Created new replica set {name:?}");
            set_condition(
                &mut self.deployment,
                "Progressing",
                "True",
                "NewReplicaSetCreated",
                &message,
                &now,
            );
            store = true;
        }
        self.new = Some(created);
        self.requests = 0;
        if store {
            self.store_status().await
        } else {
            Ok(Step::Done(()))
        }
    }

    /// How large the new ReplicaSet may be now.
    pub(super) fn size_of_new(&self, new: &Value) -> i64 {
        let (wanted, present) = (self.replicas(), new.int("spec.replicas").unwrap_or(0));
        if self.recreates() {
            return wanted;
        }
        let surge = int_or_percent(self.deployment.at("spec.strategy.rollingUpdate.maxSurge"), wanted, true);
        let total: i64 = self.old.iter().map(replicas).sum::<i64>() + present;
        let room = wanted + surge - total;
        if room <= 0 {
            present
        } else {
            present + room.min(wanted - present)
        }
    }

    /// Writes the annotations that tell a ReplicaSet the size of its Deployment.
    pub(super) fn annotate_size(&self, set: &mut Value) -> bool {
        let desired = self.replicas().to_string();
        let max = (self.replicas() + self.max_surge()).to_string();
        let changed = set.annotation(DESIRED) != Some(&desired) || set.annotation(MAX) != Some(&max);
        annotate(set, DESIRED, &desired);
        annotate(set, MAX, &max);
        changed
    }

    fn new_set(&self) -> Value {
        let d = &self.deployment;
        let mut template = d.at("spec.template").cloned().unwrap_or_else(|| json!({}));
        let hash = hash::of_template(&template, d.int("status.collisionCount"));
        map_of(&mut template, "labels").insert(HASH.to_owned(), hash.clone().into());
        let mut selector = d.at("spec.selector").cloned().unwrap_or_else(|| json!({}));
        selector["matchLabels"][HASH] = hash.clone().into();
        let mut spec = json!({ "replicas": 0, "selector": selector, "template": template });
        if let Some(seconds) = d.int("spec.minReadySeconds").filter(|s| *s > 0) {
            spec["minReadySeconds"] = seconds.into();
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{}-{hash}", d.name()),
                "namespace": d.namespace(),
                "labels": spec["template"]["metadata"]["labels"],
                "ownerReferences": [controller_reference(d, &DEPLOYMENTS)],
            },
            "spec": spec,
        })
    }

    /// Copies the Deployment's annotations and gives the ReplicaSet the next revision if it lacks it.
    fn annotate_new(&self, set: &mut Value) -> bool {
        let mut changed = false;
        for (key, value) in self
            .deployment
            .at("metadata.annotations")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let own = [REVISION, HISTORY, DESIRED, MAX, LAST_APPLIED, DEPRECATED_ROLLBACK].contains(&key.as_str());
            let value = value.as_str().unwrap_or("");
            if !own && set.annotation(key) != Some(value) {
                annotate(set, key, value);
                changed = true;
            }
        }
        let next = self.old.iter().map(of).max().unwrap_or(0) + 1;
        let present = set.annotation(REVISION).map(str::to_owned);
        if of(set) < next {
            if let Some(present) = present {
                let mut history: Vec<String> = set
                    .annotation(HISTORY)
                    .into_iter()
                    .flat_map(|h| h.split(',').map(str::to_owned))
                    .collect();
                history.push(present);
                while history.len() > 1 && history.join(",").len() > LONGEST_HISTORY {
                    history.remove(0);
                }
                annotate(set, HISTORY, &history.join(","));
            }
            annotate(set, REVISION, &next.to_string());
            changed = true;
        }
        changed
    }

    /// Gives the Deployment its new ReplicaSet's revision; answers whether that changed anything.
    fn take_revision(&mut self, new: &Value) -> bool {
        let revision = new.annotation(REVISION).unwrap_or("").to_owned();
        let changed = self.deployment.annotation(REVISION) != Some(&revision);
        annotate(&mut self.deployment, REVISION, &revision);
        changed
    }

    /// Another object has the name: the next try uses another one.
    async fn note_collision(&mut self, error: ApiError) -> Result<Step<()>, ApiError> {
        let collisions = self.deployment.int("status.collisionCount").unwrap_or(0) + 1;
        set(&mut self.deployment, "status.collisionCount", collisions.into());
        self.store_status().await?;
        Err(error)
    }
}
