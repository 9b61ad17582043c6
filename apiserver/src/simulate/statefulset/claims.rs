//! The claims of a StatefulSet's pods, and who owns them under `persistentVolumeClaimRetentionPolicy`.

use serde_json::{Value, json};

use super::{Work, claim_name, present_claim};
use crate::controllers::kinds::{PODS, STATEFUL_SETS, VOLUME_CLAIMS};
use crate::controllers::object::{Object, controller_reference};
use crate::error::ApiError;

impl Work<'_> {
    /// Makes the claims that a pod needs before it, with the owners that the policy asks for.
    pub(super) async fn make_claims(&self, pod: &Value, ordinal: i64) -> Result<(), ApiError> {
        let namespace = self.set.namespace();
        for template in self.set.items("spec.volumeClaimTemplates") {
            let name = claim_name(template, pod.name());
            let claim = match present_claim(self.cx, namespace, &name) {
                Some(present) => (*present).clone(),
                None => self.make_claim(template, &name, pod).await?,
            };
            self.sync_owner(claim, pod, ordinal).await?;
        }
        Ok(())
    }

    /// Brings the owners of a pod's claims up to date.
    pub(super) async fn sync_claims(&self, pod: &Value, ordinal: i64) -> Result<(), ApiError> {
        for template in self.set.items("spec.volumeClaimTemplates") {
            let name = claim_name(template, pod.name());
            if let Some(present) = present_claim(self.cx, self.set.namespace(), &name) {
                self.sync_owner((*present).clone(), pod, ordinal).await?;
            }
        }
        Ok(())
    }

    async fn make_claim(&self, template: &Value, name: &str, pod: &Value) -> Result<Value, ApiError> {
        let mut claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": { "name": name, "namespace": self.set.namespace() },
            "spec": template.get("spec").cloned().unwrap_or_else(|| json!({})),
        });
        let mut labels = template.labels().cloned().unwrap_or_default();
        labels.extend(
            self.set
                .at("spec.selector.matchLabels")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        );
        if !labels.is_empty() {
            claim["metadata"]["labels"] = labels.into();
        }
        if let Some(annotations) = template.at("metadata.annotations") {
            claim["metadata"]["annotations"] = annotations.clone();
        }
        let (pod, set) = (pod.name(), self.set.name());
        match self
            .cx
            .loopback
            .create(&VOLUME_CLAIMS.gvr(), self.set.namespace(), claim)
            .await
        {
            Ok(claim) => {
                let text = format!("Create Claim {name} Pod {pod} in StatefulSet {set} success");
                self.cx.events.normal(&self.set, "SuccessfulCreate", text);
                Ok(claim)
            }
            Err(error) => {
                let text = format!(
                    "Create Claim {name} for Pod {pod} in StatefulSet {set} failed error: {}",
                    error.message
                );
                self.cx.events.warning(&self.set, "FailedCreate", text);
                Err(error)
            }
        }
    }

    /// The set owns a claim that goes with it; a pod that a scale-down takes owns one that goes with that.
    async fn sync_owner(&self, claim: Value, pod: &Value, ordinal: i64) -> Result<(), ApiError> {
        let deletes = |when: &str| {
            let policy = self.set.at("spec.persistentVolumeClaimRetentionPolicy");
            policy.is_some_and(|p| p.text(when) == "Delete")
        };
        let condemned = !self.wanted().contains(&ordinal);
        let owner = if deletes("whenScaled") && condemned && !pod.uid().is_empty() {
            Some(controller_reference(pod, &PODS))
        } else if deletes("whenDeleted") && !(deletes("whenScaled") && condemned) {
            Some(controller_reference(&self.set, &STATEFUL_SETS))
        } else {
            None
        };
        let ours = |o: &Value| {
            (o.text("kind") == "StatefulSet" && o.text("name") == self.set.name())
                || (o.text("kind") == "Pod" && o.text("name") == pod.name())
        };
        let present = claim.items("metadata.ownerReferences");
        let mut owners: Vec<Value> = present.iter().filter(|o| !ours(o)).cloned().collect();
        owners.extend(owner);
        if owners == present {
            return Ok(());
        }
        let owners = if owners.is_empty() { Value::Null } else { owners.into() };
        let patch = json!({ "metadata": { "uid": claim.uid(), "ownerReferences": owners } });
        let gvr = VOLUME_CLAIMS.gvr();
        match self
            .cx
            .loopback
            .merge_patch(&gvr, None, claim.namespace(), claim.name(), patch)
            .await
        {
            Err(error) if error.code != 404 => Err(error),
            _ => Ok(()),
        }
    }
}
