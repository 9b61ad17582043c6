//! Spreading a change of a Deployment's size over its ReplicaSets, without rolling anything out.

use serde_json::Value;

use super::{Work, replicas, revision};
use crate::controllers::object::Object;
use crate::error::ApiError;

impl Work<'_> {
    /// Whether a ReplicaSet was last sized for another `spec.replicas`.
    pub(super) fn is_scaling(&self) -> bool {
        let desired = |s: &Value| s.annotation(revision::DESIRED).and_then(|d| d.parse::<i64>().ok());
        self.all()
            .filter(|s| replicas(s) > 0)
            .filter_map(desired)
            .any(|d| d != self.replicas())
    }

    /// Gives every ReplicaSet its share of the Deployment's size.
    ///
    /// The status that follows tells of the sizes from before, as on a real server.
    pub(super) async fn scale(&mut self) -> Result<(), ApiError> {
        self.spread().await?;
        self.requests = 0;
        Ok(())
    }

    async fn spread(&mut self) -> Result<(), ApiError> {
        let active: Vec<Value> = self.all().filter(|s| replicas(s) > 0).cloned().collect();
        let wanted = self.replicas();
        let only = match active.as_slice() {
            [] => self
                .new
                .as_ref()
                .or_else(|| self.old.iter().max_by_key(|s| revision::of(s)))
                .cloned(),
            [one] => Some(one.clone()),
            _ => None,
        };
        if let Some(only) = only {
            if replicas(&only) != wanted {
                self.resize(only, wanted).await?;
            }
            return Ok(());
        }
        if active.is_empty() {
            return Ok(());
        }
        if self.is_saturated() {
            for set in self.old.clone().into_iter().filter(|s| replicas(s) > 0) {
                self.resize(set, 0).await?;
            }
            return Ok(());
        }
        if !self.recreates() {
            self.scale_in_proportion(active).await?;
        }
        Ok(())
    }

    /// Whether the new ReplicaSet alone is the whole Deployment.
    fn is_saturated(&self) -> bool {
        let wanted = self.replicas();
        self.new.as_ref().is_some_and(|n| {
            let desired = n.annotation(revision::DESIRED).and_then(|d| d.parse().ok());
            replicas(n) == wanted && desired == Some(wanted) && n.int("status.availableReplicas") == Some(wanted)
        })
    }

    async fn scale_in_proportion(&mut self, mut active: Vec<Value>) -> Result<(), ApiError> {
        let wanted = self.replicas();
        let total: i64 = active.iter().map(replicas).sum();
        let allowed = if wanted > 0 { wanted + self.max_surge() } else { 0 };
        let to_add = allowed - total;
        // `active` is sorted by age; the sort is stable. Growing favours the large and new, shrinking the large and old.
        if to_add > 0 {
            active.reverse();
        }
        active.sort_by_key(|s| std::cmp::Reverse(replicas(s)));
        let mut added = 0;
        let mut sizes = Vec::new();
        for set in &active {
            let share = self.share(set, to_add, added);
            added += share;
            sizes.push(replicas(set) + share);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + to_add - added).max(0);
        }
        for (set, size) in active.into_iter().zip(sizes) {
            self.resize(set, size).await?;
        }
        Ok(())
    }

    fn share(&self, set: &Value, to_add: i64, added: i64) -> i64 {
        let size = replicas(set);
        let left = to_add - added;
        if size == 0 || left == 0 {
            return 0;
        }
        let fraction = if self.replicas() == 0 {
            -size
        } else {
            let annotated = set
                .annotation(revision::MAX)
                .and_then(|m| m.parse::<i64>().ok())
                .filter(|m| *m > 0);
            let before = annotated
                .or_else(|| self.deployment.int("status.replicas"))
                .unwrap_or(1)
                .max(1);
            let now = self.replicas() + self.max_surge();
            // Rounded to the nearest.
            (2 * size * now + before) / (2 * before) - size
        };
        if to_add > 0 {
            fraction.min(left)
        } else {
            fraction.max(left)
        }
    }
}
