//! What workload controllers know about pods.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::Cx;
use crate::controllers::kinds::{Kind, PODS};
use crate::controllers::object::{Object, controller_reference};
use crate::error::ApiError;

/// Whether a pod counts: it has not finished and nobody asked for its deletion.
#[must_use]
pub fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !pod.is_deleting()
}

/// Whether a pod is Succeeded or Failed.
#[must_use]
pub fn is_finished(pod: &Value) -> bool {
    matches!(pod.text("status.phase"), "Succeeded" | "Failed")
}

/// Whether a pod is on its way out.
#[must_use]
pub fn is_terminating(pod: &Value) -> bool {
    pod.is_deleting() && !is_finished(pod)
}

/// Whether the pod's condition Ready holds.
#[must_use]
pub fn is_ready(pod: &Value) -> bool {
    pod.is_true("Ready")
}

/// Whether the pod has been ready for at least `seconds`.
#[must_use]
pub fn is_available(pod: &Value, seconds: i64, now: Timestamp) -> bool {
    is_ready(pod) && (seconds == 0 || ready_since(pod).is_some_and(|t| now.as_second() - t.as_second() >= seconds))
}

/// Since when the pod is ready.
#[must_use]
pub fn ready_since(pod: &Value) -> Option<Timestamp> {
    pod.condition("Ready").and_then(|c| c.time("lastTransitionTime"))
}

/// Restarts of all containers.
#[must_use]
pub fn restarts(pod: &Value) -> i64 {
    pod.items("status.containerStatuses")
        .iter()
        .filter_map(|c| c.int("restartCount"))
        .sum()
}

/// Sorts pods so that those a scale-down takes come first: unassigned, pending, not ready, cheap, young.
pub fn sort_for_deletion(pods: &mut [std::sync::Arc<Value>]) {
    let cost = |p: &Value| {
        p.annotation("controller.kubernetes.io/pod-deletion-cost")
            .and_then(|c| c.parse::<i64>().ok())
    };
    pods.sort_by_key(|p| {
        let phase = match p.text("status.phase") {
            "Pending" => 0,
            "Unknown" => 1,
            _ => 2,
        };
        let rank = (
            !p.text("spec.nodeName").is_empty(),
            phase,
            is_ready(p),
            cost(p).unwrap_or(0),
        );
        let age = (
            Reverse(ready_since(p)),
            Reverse(restarts(p)),
            Reverse(p.time("metadata.creationTimestamp")),
        );
        (rank, age, p.name().to_owned())
    });
}

/// A pod made from a template for an owner, without a name.
#[must_use]
pub fn from_template(template: &Value, owner: &Value, kind: &Kind) -> Value {
    let mut metadata = json!({ "ownerReferences": [controller_reference(owner, kind)] });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template.at("metadata").and_then(|m| m.get(field)) {
            metadata[field] = value.clone();
        }
    }
    let spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

/// Creates a pod for an owner, with the event that tells of it.
///
/// # Errors
/// The server's refusal, also told in an event `FailedCreate`, except in a namespace that is being deleted.
pub async fn create(cx: &Cx, owner: &Value, pod: Value) -> Result<Value, ApiError> {
    match cx.loopback.create(&PODS.gvr(), owner.namespace(), pod).await {
        Ok(pod) => {
            cx.events
                .normal(owner, "SuccessfulCreate", format!("Created pod: {}", pod.name()));
            Ok(pod)
        }
        Err(error) => {
            if !is_namespace_terminating(&error) {
                cx.events
                    .warning(owner, "FailedCreate", format!("Error creating: {}", error.message));
            }
            Err(error)
        }
    }
}

/// Deletes a pod of an owner, with the event that tells of it. A pod that is gone already is fine.
///
/// # Errors
/// The server's refusal, also told in an event `FailedDelete`.
pub async fn delete(cx: &Cx, owner: &Value, pod: &Value) -> Result<(), ApiError> {
    let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "uid": pod.uid() } });
    match cx
        .loopback
        .delete(&PODS.gvr(), pod.namespace(), pod.name(), options)
        .await
    {
        Ok(_) => {
            cx.events
                .normal(owner, "SuccessfulDelete", format!("Deleted pod: {}", pod.name()));
            Ok(())
        }
        Err(error) if error.code == 404 || error.code == 409 => Ok(()),
        Err(error) => {
            cx.events
                .warning(owner, "FailedDelete", format!("Error deleting: {}", error.message));
            Err(error)
        }
    }
}

/// Whether the server refused because the namespace is being deleted.
#[must_use]
pub fn is_namespace_terminating(error: &ApiError) -> bool {
    error.details.as_ref().is_some_and(|d| {
        d.items("causes")
            .iter()
            .any(|c| c.text("reason") == "NamespaceTerminating")
    })
}
