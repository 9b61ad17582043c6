//! What a Deployment shows: counts, conditions, and the deadline for progress.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Step, Work, done, replace_condition, replicas, set_condition};
use crate::controllers::Next;
use crate::controllers::object::{Object, set_count};
use crate::error::ApiError;

impl Work<'_> {
    /// Records that the Deployment was paused or resumed.
    pub(super) async fn note_pause(&mut self) -> Result<Step<()>, ApiError> {
        let reason = self
            .deployment
            .condition("Progressing")
            .map_or("", |c| c.text("reason"));
        if self.progress_deadline().is_none() || reason == "ProgressDeadlineExceeded" {
            return Ok(Step::Done(()));
        }
        let (paused, noted) = (self.deployment.flag("spec.paused"), reason == "DeploymentPaused");
        if paused == noted {
            return Ok(Step::Done(()));
        }
        let (reason, message) = if paused {
            ("DeploymentPaused", "Deployment is paused")
        } else {
            ("DeploymentResumed", "Deployment is resumed")
        };
        let now = self.cx.loopback.clock().now_rfc3339();
        set_condition(&mut self.deployment, "Progressing", "Unknown", reason, message, &now);
        self.store_status().await
    }

    /// Writes the status where no rollout is under way.
    pub(super) async fn sync_status(&mut self) -> Result<Step<Next>, ApiError> {
        let status = self.computed();
        if status.get("status") != self.deployment.get("status") {
            self.deployment = status;
            done!(self.store_status().await?);
        }
        Ok(Step::Done(Next::Wait))
    }

    /// Writes the status of a rollout: progress, completion, or the lack of both for too long.
    pub(super) async fn sync_rollout(&mut self) -> Result<Step<Next>, ApiError> {
        let mut new = self.computed();
        let now = self.cx.loopback.clock().now_rfc3339();
        let current = self.deployment.condition("Progressing").cloned();
        let finished = new.int("status.replicas").unwrap_or(0) == new.int("status.updatedReplicas").unwrap_or(0)
            && current
                .as_ref()
                .is_some_and(|c| c.text("reason") == "NewReplicaSetAvailable");
        if self.progress_deadline().is_none() {
            replace_condition(&mut new, "Progressing", None);
        } else if !finished {
            let subject = match &self.new {
                Some(set) => format!("ReplicaSet {:?}", set.name()),
                None => format!("Deployment {:?}", self.deployment.name()),
            };
            if self.completes(&new) {
                let message = format!("{subject} has successfully progressed.");
                set_condition(
                    &mut new,
                    "Progressing",
                    "True",
                    "NewReplicaSetAvailable",
                    &message,
                    &now,
                );
            } else if progresses(&self.deployment, &new) {
                let message = format!("{subject} is progressing.");
                let since = current.as_ref().filter(|c| c.text("status") == "True");
                let since = since.map_or(&*now, |c| c.text("lastTransitionTime")).to_owned();
                let condition = ("True", "ReplicaSetUpdated", &*message, &*now, &*since);
                // Progress renews the condition even where its reason stays.
                replace_condition(&mut new, "Progressing", Some(condition));
            } else if self.times_out(&new).is_some_and(|left| left < 0) {
                let message = format!("{subject} has timed out progressing.");
                set_condition(
                    &mut new,
                    "Progressing",
                    "False",
                    "ProgressDeadlineExceeded",
                    &message,
                    &now,
                );
            }
        }
        match self.replica_failure() {
            Some(failure) => {
                let of = |field: &str| failure.text(field).to_owned();
                let (status, reason, message) = (of("status"), of("reason"), of("message"));
                set_condition(&mut new, "ReplicaFailure", &status, &reason, &message, &now);
            }
            None => replace_condition(&mut new, "ReplicaFailure", None),
        }
        if new.get("status") == self.deployment.get("status") {
            return Ok(Step::Done(self.deadline(&new)));
        }
        self.deployment = new;
        done!(self.store_status().await?);
        Ok(Step::Done(Next::Wait))
    }

    /// Whether the stored status says that the rollout is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.completes(&self.deployment)
    }

    fn completes(&self, deployment: &Value) -> bool {
        let wanted = self.replicas();
        let is = |path: &str| deployment.int(path).unwrap_or(0) == wanted;
        is("status.updatedReplicas")
            && is("status.replicas")
            && is("status.availableReplicas")
            && deployment.int("status.observedGeneration").unwrap_or(0) >= deployment.generation()
    }

    /// The Deployment with the counts of its ReplicaSets and the condition Available.
    fn computed(&self) -> Value {
        let sets: Vec<&Value> = self
            .shown
            .as_ref()
            .map_or_else(|| self.all().collect(), |shown| shown.iter().collect());
        let sum = |field: &str| {
            sets.iter()
                .filter_map(|s| s.at("status").and_then(|s| s.int(field)))
                .sum::<i64>()
        };
        let available = sum("availableReplicas");
        let unavailable = (sets.iter().map(|s| replicas(s)).sum::<i64>() - available).max(0);
        let mut new = self.deployment.clone();
        let mut status = json!({
            "observedGeneration": self.deployment.generation(),
            "terminatingReplicas": sum("terminatingReplicas"),
        });
        for kept in ["collisionCount", "conditions"] {
            if let Some(value) = self.deployment.at("status").and_then(|s| s.get(kept)) {
                status[kept] = value.clone();
            }
        }
        new["status"] = status;
        set_count(&mut new, "status.replicas", sum("replicas"));
        set_count(&mut new, "status.readyReplicas", sum("readyReplicas"));
        set_count(&mut new, "status.availableReplicas", available);
        set_count(&mut new, "status.unavailableReplicas", unavailable);
        let updated = self.new.as_ref().and_then(|n| n.int("status.replicas")).unwrap_or(0);
        set_count(&mut new, "status.updatedReplicas", updated);
        let now = self.cx.loopback.clock().now_rfc3339();
        let (status, reason, message) = if available >= self.replicas() - self.max_unavailable() {
            (
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        set_condition(&mut new, "Available", status, reason, message, &now);
        new
    }

    /// Seconds until the rollout times out, if it can.
    fn times_out(&self, deployment: &Value) -> Option<i64> {
        let deadline = self.progress_deadline()?;
        let condition = deployment.condition("Progressing")?;
        match condition.text("reason") {
            "NewReplicaSetAvailable" => None,
            "ProgressDeadlineExceeded" => Some(-1),
            _ => {
                let last = condition.time("lastUpdateTime")?;
                Some(last.as_second() + deadline - self.cx.loopback.clock().now().as_second())
            }
        }
    }

    /// When to look again at a rollout that makes no progress.
    fn deadline(&self, deployment: &Value) -> Next {
        let timed_out = deployment
            .condition("Progressing")
            .is_some_and(|c| c.text("reason") == "ProgressDeadlineExceeded");
        match self.times_out(deployment) {
            Some(left) if !timed_out && !self.completes(deployment) => {
                Next::After(Duration::from_secs(u64::try_from(left.max(0)).unwrap_or(0) + 1))
            }
            _ => Next::Wait,
        }
    }

    fn replica_failure(&self) -> Option<&Value> {
        let failure = |s: &'_ Value| s.condition("ReplicaFailure").is_some();
        self.new
            .as_ref()
            .filter(|n| failure(n))
            .or_else(|| self.old.iter().find(|s| failure(s)))?
            .condition("ReplicaFailure")
    }
}

/// Whether a rollout got further from one status to the next.
fn progresses(old: &Value, new: &Value) -> bool {
    let of = |o: &Value, path: &str| o.int(path).unwrap_or(0);
    let left = |o: &Value| of(o, "status.replicas") - of(o, "status.updatedReplicas");
    of(new, "status.updatedReplicas") > of(old, "status.updatedReplicas")
        || left(new) < left(old)
        || of(new, "status.readyReplicas") > of(old, "status.readyReplicas")
        || of(new, "status.availableReplicas") > of(old, "status.availableReplicas")
}
