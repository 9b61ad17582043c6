//! What a status must be when it is written.

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, OneOf, With};
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    (
        "DeploymentStatus",
        &[
            AtLeast("observedGeneration", 0),
            AtLeast("replicas", 0),
            AtLeast("updatedReplicas", 0),
            AtLeast("readyReplicas", 0),
            AtLeast("availableReplicas", 0),
            AtLeast("unavailableReplicas", 0),
            AtLeast("collisionCount", 0),
            With(|at, causes| within(at, &["updatedReplicas", "readyReplicas", "availableReplicas"], causes)),
            With(|at, causes| ready_first(at, "cannot be greater than readyReplicas", causes)),
        ],
    ),
    ("ReplicaSetStatus", REPLICAS),
    ("ReplicationControllerStatus", REPLICAS),
    (
        "StatefulSetStatus",
        &[
            AtLeast("replicas", 0),
            AtLeast("readyReplicas", 0),
            AtLeast("currentReplicas", 0),
            AtLeast("updatedReplicas", 0),
            AtLeast("availableReplicas", 0),
            AtLeast("observedGeneration", 0),
            AtLeast("collisionCount", 0),
            With(|at, causes| {
                let counts = [
                    "readyReplicas",
                    "currentReplicas",
                    "updatedReplicas",
                    "availableReplicas",
                ];
                within(at, &counts, causes);
            }),
            With(|at, causes| ready_first(at, "cannot be greater than status.readyReplicas", causes)),
        ],
    ),
    (
        "DaemonSetStatus",
        &[
            AtLeast("currentNumberScheduled", 0),
            AtLeast("numberMisscheduled", 0),
            AtLeast("desiredNumberScheduled", 0),
            AtLeast("numberReady", 0),
            AtLeast("observedGeneration", 0),
            AtLeast("updatedNumberScheduled", 0),
            AtLeast("numberAvailable", 0),
            AtLeast("numberUnavailable", 0),
            AtLeast("collisionCount", 0),
        ],
    ),
    (
        "PodDisruptionBudgetStatus",
        &[
            AtLeast("disruptionsAllowed", 0),
            AtLeast("currentHealthy", 0),
            AtLeast("desiredHealthy", 0),
            AtLeast("expectedPods", 0),
        ],
    ),
    (
        "HorizontalPodAutoscalerStatus",
        &[AtLeast("currentReplicas", 0), AtLeast("desiredReplicas", 0)],
    ),
    (
        "JobStatus",
        &[AtLeast("active", 0), AtLeast("succeeded", 0), AtLeast("failed", 0)],
    ),
    ("NamespaceStatus", &[With(namespace_phase)]),
    (
        "PersistentVolumeStatus",
        &[OneOf("phase", &["Available", "Bound", "Failed", "Pending", "Released"])],
    ),
];

const REPLICAS: &[Check] = &[
    AtLeast("replicas", 0),
    AtLeast("fullyLabeledReplicas", 0),
    AtLeast("readyReplicas", 0),
    AtLeast("availableReplicas", 0),
    AtLeast("observedGeneration", 0),
    With(|at, causes| {
        within(
            at,
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
            causes,
        );
    }),
    With(|at, causes| ready_first(at, "cannot be greater than readyReplicas", causes)),
];

fn within(at: &At<'_>, counts: &[&str], causes: &mut Vec<Cause>) {
    let all = at.get("replicas").as_i64().unwrap_or_default();
    for count in counts {
        let value = at.get(count);
        if value.as_i64().is_some_and(|n| n > all) {
            causes.push(Cause::invalid(
                at.field(count),
                value,
                "cannot be greater than status.replicas",
            ));
        }
    }
}

/// Only what is ready can be available.
fn ready_first(at: &At<'_>, why: &str, causes: &mut Vec<Cause>) {
    let ready = at.get("readyReplicas").as_i64().unwrap_or_default();
    let available = at.get("availableReplicas");
    if available.as_i64().is_some_and(|n| n > ready) {
        causes.push(Cause::invalid(at.field("availableReplicas"), available, why));
    }
}

fn namespace_phase(at: &At<'_>, causes: &mut Vec<Cause>) {
    let going = !at.root["metadata"]["deletionTimestamp"].is_null();
    let phase = at.text("phase");
    let why = match (going, phase) {
        (false, "" | "Active") | (true, "Terminating") => return,
        (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
        (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
    };
    causes.push(Cause::invalid("status.Phase", &phase.into(), why));
}

/// What a status may not take back.
pub(super) fn decremented(new: &Value, old: &Value) -> Option<Cause> {
    let count = |object: &Value| object["status"]["collisionCount"].as_i64();
    let before = count(old)?;
    let value = &new["status"]["collisionCount"];
    let less = count(new).is_none_or(|now| now < before);
    less.then(|| Cause::invalid("status.collisionCount", value, "cannot be decremented"))
}
