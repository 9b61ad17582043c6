//! Moving replicas from the old ReplicaSets to the new one.

use serde_json::Value;

use super::{Step, Work, done, replicas, revision, runs_old_pods};
use crate::controllers::Next;
use crate::controllers::kinds::REPLICA_SETS;
use crate::controllers::object::Object;
use crate::error::ApiError;

fn available(set: &Value) -> i64 {
    set.int("status.availableReplicas").unwrap_or(0)
}

impl Work<'_> {
    /// One step of a rolling update.
    pub(super) async fn roll(&mut self) -> Result<Step<Next>, ApiError> {
        done!(self.ensure_new().await?);
        self.freeze();
        if self.grow_new().await? || self.shrink_old().await? {
            return self.sync_rollout().await;
        }
        if self.is_complete() {
            self.clean_up().await?;
        }
        self.sync_rollout().await
    }

    /// One step of a rollout that lets every old pod go before the first new one comes.
    pub(super) async fn recreate(&mut self) -> Result<Step<Next>, ApiError> {
        self.freeze();
        let mut shrunk = false;
        for i in 0..self.old.len() {
            shrunk |= replicas(&self.old[i]) > 0 && self.resize_old(i, 0).await?;
        }
        if shrunk || runs_old_pods(self) {
            return self.sync_rollout().await;
        }
        done!(self.ensure_new().await?);
        self.freeze();
        let wanted = self.replicas();
        self.resize_new(wanted).await?;
        if self.is_complete() {
            self.clean_up().await?;
        }
        self.sync_rollout().await
    }

    /// Deletes the oldest empty ReplicaSets beyond `spec.revisionHistoryLimit`.
    pub(super) async fn clean_up(&self) -> Result<(), ApiError> {
        let Some(limit) = self.deployment.int("spec.revisionHistoryLimit") else {
            return Ok(());
        };
        let mut kept: Vec<&Value> = self.old.iter().filter(|s| !s.is_deleting()).collect();
        kept.sort_by_key(|s| revision::of(s));
        let surplus = kept.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for set in &kept[..surplus] {
            let busy = set.int("status.replicas").unwrap_or(0) != 0
                || replicas(set) != 0
                || set.generation() > set.int("status.observedGeneration").unwrap_or(0);
            if !busy {
                let gvr = REPLICA_SETS.gvr();
                match self
                    .cx
                    .loopback
                    .delete(&gvr, set.namespace(), set.name(), Value::Null)
                    .await
                {
                    Err(error) if error.code != 404 => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Sets the size of an old ReplicaSet; answers whether it changed.
    pub(super) async fn resize_old(&mut self, index: usize, size: i64) -> Result<bool, ApiError> {
        let before = replicas(&self.old[index]);
        if before == size {
            return Ok(false);
        }
        let resized = self.resize(self.old[index].clone(), size).await?;
        self.old[index] = resized;
        Ok(true)
    }

    /// Sets the size of the new ReplicaSet; answers whether it changed.
    pub(super) async fn resize_new(&mut self, size: i64) -> Result<bool, ApiError> {
        let Some(new) = self.new.clone().filter(|n| replicas(n) != size) else {
            return Ok(false);
        };
        self.new = Some(self.resize(new, size).await?);
        self.requests = 0;
        Ok(true)
    }

    /// Writes a ReplicaSet's size and what it knows of its Deployment's, with the event if the size changes.
    pub(super) async fn resize(&mut self, mut set: Value, size: i64) -> Result<Value, ApiError> {
        let before = replicas(&set);
        let annotated = self.annotate_size(&mut set);
        if before == size && !annotated {
            return Ok(set);
        }
        set["spec"]["replicas"] = size.into();
        self.requests += 1;
        let set = self.cx.loopback.update(&REPLICA_SETS.gvr(), None, set).await?;
        if before != size {
            let direction = if size > before { "up" } else { "down" };
            let text = format!("Scaled {direction} replica set {} from {before} to {size}", set.name());
            self.cx.events.normal(&self.deployment, "ScalingReplicaSet", text);
        }
        Ok(set)
    }

    async fn grow_new(&mut self) -> Result<bool, ApiError> {
        let Some(new) = &self.new else { return Ok(false) };
        let (present, wanted) = (replicas(new), self.replicas());
        let size = if present > wanted {
            wanted
        } else {
            self.size_of_new(new)
        };
        self.resize_new(size).await
    }

    async fn shrink_old(&mut self) -> Result<bool, ApiError> {
        if self.old.iter().map(replicas).sum::<i64>() == 0 {
            return Ok(false);
        }
        let total: i64 = self.all().map(replicas).sum();
        let at_least = self.replicas() - self.max_unavailable();
        let new_unavailable = self.new.as_ref().map_or(0, |n| replicas(n) - available(n));
        let may_go = total - at_least - new_unavailable;
        if may_go <= 0 {
            return Ok(false);
        }
        // Pods that are not available help nobody: they go first.
        let mut cleaned = 0;
        for i in 0..self.old.len() {
            let (size, healthy) = (replicas(&self.old[i]), available(&self.old[i]));
            let count = (may_go - cleaned).min(size - healthy);
            if count > 0 {
                self.resize_old(i, size - count).await?;
                cleaned += count;
            }
        }
        let mut spare = self.all().map(available).sum::<i64>() - at_least;
        let mut shrunk = 0;
        for i in 0..self.old.len() {
            let size = replicas(&self.old[i]);
            let count = size.min(spare);
            if count > 0 {
                self.resize_old(i, size - count).await?;
                spare -= count;
                shrunk += count;
            }
        }
        Ok(cleaned + shrunk > 0)
    }
}
