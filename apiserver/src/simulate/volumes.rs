//! Persistent volume claims: the event that nothing provisions them, or with a simulated node a volume at once; and the
//! protection of claims that pods use.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Simulate;
use super::pods;
use crate::controllers::kinds::{PODS, VOLUME_CLAIMS};
use crate::controllers::object::{Key, Object};
use crate::controllers::queue::Queue;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The claim controllers.
pub struct Claims {
    cx: Cx,
    provisions: bool,
}

impl Claims {
    /// A controller; with [`Simulate::Full`] it binds every claim to a volume that does not exist.
    #[must_use]
    pub fn new(cx: Cx, simulate: Simulate) -> Self {
        Self {
            cx,
            provisions: simulate == Simulate::Full,
        }
    }

    fn is_used(&self, claim: &Value) -> bool {
        let uses = |p: &Arc<Value>| !pods::is_finished(p) && claim_names(p).any(|name| name == claim.name());
        self.cx.cache.list(&PODS, claim.namespace()).iter().any(uses)
    }

    async fn bind(&self, claim: &Value) -> Result<(), ApiError> {
        let gvr = VOLUME_CLAIMS.gvr();
        let (namespace, name) = (claim.namespace(), claim.name());
        let volume = json!({ "spec": { "volumeName": format!("pvc-{}", claim.uid()) } });
        self.cx
            .loopback
            .merge_patch(&gvr, None, namespace, name, volume)
            .await?;
        let status = json!({ "status": {
            "phase": "Bound",
            "accessModes": claim.at("spec.accessModes"),
            "capacity": claim.at("spec.resources.requests"),
        }});
        self.cx
            .loopback
            .merge_patch(&gvr, Some("status"), namespace, name, status)
            .await
            .map(drop)
    }
}

fn claim_names(pod: &Value) -> impl Iterator<Item = &str> {
    pod.items("spec.volumes")
        .iter()
        .map(|v| v.text("persistentVolumeClaim.claimName"))
        .filter(|n| !n.is_empty())
}

impl Controller for Claims {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&VOLUME_CLAIMS) && !seen.deleted {
            queue.add(Key::of(seen.object));
        } else if seen.is(&PODS) && (seen.deleted || pods::is_finished(seen.object)) {
            claim_names(seen.object).for_each(|name| queue.add(Key::new(seen.object.namespace(), name)));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(claim) = self.cx.cache.get(&VOLUME_CLAIMS, key) else {
            return Ok(Next::Wait);
        };
        if claim.is_deleting() {
            if claim.has_finalizer(PROTECTION) && !self.is_used(&claim) {
                let kept: Vec<&Value> = claim
                    .items("metadata.finalizers")
                    .iter()
                    .filter(|f| f.as_str() != Some(PROTECTION))
                    .collect();
                let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
                let patch = json!({ "metadata": { "uid": claim.uid(), "finalizers": kept } });
                let gvr = VOLUME_CLAIMS.gvr();
                match self
                    .cx
                    .loopback
                    .merge_patch(&gvr, None, claim.namespace(), claim.name(), patch)
                    .await
                {
                    Err(error) if error.code != 404 => return Err(error),
                    _ => {}
                }
            }
        } else if claim.text("status.phase") == "Pending" && claim.text("spec.volumeName").is_empty() {
            if self.provisions {
                self.bind(&claim).await?;
            } else if claim.text("spec.storageClassName").is_empty() {
                let text = "no persistent volumes available for this claim and no storage class is set";
                self.cx.events.normal(&claim, "FailedBinding", text);
            }
        }
        Ok(Next::Wait)
    }
}
