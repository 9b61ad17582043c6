//! What a kubelet writes into the status of its pods and its node.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::object::{Object, set};

/// The address of every simulated node.
const HOST: &str = "127.0.0.1";

/// The pod runs, not yet ready.
pub(super) fn start(pod: &mut Value, address: &str, now: &str) {
    set(pod, "status.phase", "Running".into());
    set(pod, "status.hostIP", HOST.into());
    set(pod, "status.hostIPs", json!([{ "ip": HOST }]));
    set(pod, "status.podIP", address.into());
    set(pod, "status.podIPs", json!([{ "ip": address }]));
    set(pod, "status.startTime", now.into());
    set(pod, "status.observedGeneration", pod.generation().into());
    if !pod.items("spec.initContainers").is_empty() {
        let done =
            json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now } });
        write_containers(pod, "initContainers", "initContainerStatuses", true, 0, &done);
    }
    containers(pod, false, &json!({ "running": { "startedAt": now } }));
    for (kind, holds) in [
        ("PodReadyToStartContainers", true),
        ("Initialized", true),
        ("Ready", false),
        ("ContainersReady", false),
    ] {
        let reason = if holds { "" } else { "ContainersNotReady" };
        condition(pod, kind, holds, reason, now);
    }
}

/// All containers are ready.
pub(super) fn become_ready(pod: &mut Value, now: &str) {
    for status in container_statuses(pod) {
        status["ready"] = true.into();
        status["started"] = true.into();
    }
    condition(pod, "Ready", true, "", now);
    condition(pod, "ContainersReady", true, "", now);
}

/// The containers run, and are no longer ready.
pub(super) fn become_unready(pod: &mut Value, now: &str) {
    for status in container_statuses(pod) {
        status["ready"] = false.into();
    }
    condition(pod, "Ready", false, "ContainersNotReady", now);
    condition(pod, "ContainersReady", false, "ContainersNotReady", now);
}

/// The image of the first container cannot be had.
pub(super) fn cannot_pull(pod: &mut Value, now: &str) {
    set(pod, "status.hostIP", HOST.into());
    set(pod, "status.startTime", now.into());
    let message = "Back-off pulling image: this pod is simulated to have none";
    containers(
        pod,
        false,
        &json!({ "waiting": { "reason": "ImagePullBackOff", "message": message } }),
    );
    for (kind, holds) in [("Initialized", true), ("Ready", false), ("ContainersReady", false)] {
        condition(pod, kind, holds, if holds { "" } else { "ContainersNotReady" }, now);
    }
}

/// The containers exited; `last` ends the pod too.
pub(super) fn finish(pod: &mut Value, exit_code: i64, reason: Option<&str>, last: bool, now: &str) {
    let reason = reason.unwrap_or(if exit_code == 0 { "Completed" } else { "Error" });
    for status in container_statuses(pod) {
        let started = match status.text("state.running.startedAt") {
            "" => now.to_owned(),
            started => started.to_owned(),
        };
        status["ready"] = false.into();
        status["started"] = false.into();
        status["state"] = json!({ "terminated": {
            "exitCode": exit_code, "reason": reason, "startedAt": started, "finishedAt": now,
        }});
    }
    if last {
        let (phase, why) = if exit_code == 0 {
            ("Succeeded", "PodCompleted")
        } else {
            ("Failed", "PodFailed")
        };
        set(pod, "status.phase", phase.into());
        condition(pod, "Ready", false, why, now);
        condition(pod, "ContainersReady", false, why, now);
    }
}

/// The containers wait to be started again.
pub(super) fn back_off(pod: &mut Value, restarts: i64, now: &str) {
    for status in container_statuses(pod) {
        if status.at("state.terminated").is_some() {
            status["lastState"] = status["state"].take();
        }
        status["ready"] = false.into();
        status["started"] = false.into();
        status["restartCount"] = restarts.into();
        status["state"] = json!({ "waiting": {
            "reason": "CrashLoopBackOff", "message": "back-off restarting failed container",
        }});
    }
    condition(pod, "Ready", false, "ContainersNotReady", now);
    condition(pod, "ContainersReady", false, "ContainersNotReady", now);
}

/// The containers run once more.
pub(super) fn run_again(pod: &mut Value, now: &str) {
    for status in container_statuses(pod) {
        status["state"] = json!({ "running": { "startedAt": now } });
    }
}

/// Whether a container waits to be started again.
pub(super) fn is_backing_off(pod: &Value) -> bool {
    pod.items("status.containerStatuses")
        .iter()
        .any(|c| c.text("state.waiting.reason") == "CrashLoopBackOff")
}

/// How long containers wait before their next start.
pub(super) fn backoff(restarts: i64) -> Duration {
    let doublings = u32::try_from(restarts - 1).unwrap_or(0).min(5);
    Duration::from_secs((10 << doublings).min(300))
}

/// The simulated node.
pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "node-role.kubernetes.io/worker": "",
            },
        },
    })
}

/// The simulated node's status, as a patch.
pub(super) fn node_status(name: &str, now: &str) -> Value {
    let resources = json!({ "cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110k" });
    json!({ "status": {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [{ "type": "InternalIP", "address": HOST }, { "type": "Hostname", "address": name }],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "this node is simulated",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }],
        "nodeInfo": {
            "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "simulated://1", "kernelVersion": "",
            "kubeProxyVersion": "", "kubeletVersion": "v1.36.3", "machineID": "", "operatingSystem": "linux",
            "osImage": "simulated", "systemUUID": "",
        },
    }})
}

fn containers(pod: &mut Value, ready: bool, state: &Value) {
    write_containers(pod, "containers", "containerStatuses", ready, 0, state);
}

fn write_containers(pod: &mut Value, from: &str, to: &str, ready: bool, restarts: i64, state: &Value) {
    let of = |c: &Value| {
        json!({
            "name": c.text("name"), "ready": ready, "started": ready, "restartCount": restarts,
            "image": c.text("image"), "imageID": format!("simulated://{}", c.text("image")),
            "lastState": {}, "state": state,
        })
    };
    let statuses: Vec<Value> = pod
        .at("spec")
        .map_or(&[][..], |s| s.items(from))
        .iter()
        .map(of)
        .collect();
    set(pod, &format!("status.{to}"), statuses.into());
}

fn container_statuses(pod: &mut Value) -> impl Iterator<Item = &mut Value> {
    pod.get_mut("status")
        .and_then(|s| s.get_mut("containerStatuses"))
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn condition(pod: &mut Value, kind: &str, holds: bool, reason: &str, now: &str) {
    let status = if holds { "True" } else { "False" };
    let generation = pod.generation();
    let mut conditions = pod.items("status.conditions").to_vec();
    let mut new = json!({
        "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": now,
        "observedGeneration": generation,
    });
    if !reason.is_empty() {
        new["reason"] = reason.into();
    }
    match conditions.iter_mut().find(|c| c.text("type") == kind) {
        Some(old) => {
            if old.text("status") == status {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
    set(pod, "status.conditions", conditions.into());
}
