//! Pods and pod templates.

use serde_json::{Value, json};

use super::column::{AGE, Column, NAME, Row, Table};
use super::format::{has_condition, labels, of_containers};

pub(super) const TABLES: &[Table] = &[("", "Pod", POD), ("", "PodTemplate", POD_TEMPLATE)];

const POD: &[Column] = &[
    NAME,
    Column::text("Ready", "The aggregate readiness state of this pod for accepting traffic.", |row| {
        let state = State::of(row);
        format!("{}/{}", state.ready, state.containers).into()
    }),
    Column::text("Status", "The aggregate status of the containers in this pod.", |row| State::of(row).reason.into()),
    Column::text(
        "Restarts",
        "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        |row| {
            let state = State::of(row);
            match state.last_restart {
                Some(time) if state.restarts != 0 => format!("{} ({} ago)", state.restarts, row.age_of(time)).into(),
                _ => state.restarts.to_string().into(),
            }
        },
    ),
    AGE,
    Column::text(
        "IP",
        "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
        |row| match row.list("/status/podIPs").first().and_then(|ip| ip["ip"].as_str()) {
            Some(ip) => ip.into(),
            None => row.text_or("/status/podIP", "<none>").into(),
        },
    )
    .wide(),
    Column::text(
        "Node",
        "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
        |row| row.text_or("/spec/nodeName", "<none>").into(),
    )
    .wide(),
    Column::text(
        "Nominated Node",
        "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.",
        |row| row.text_or("/status/nominatedNodeName", "<none>").into(),
    )
    .wide(),
    Column::text(
        "Readiness Gates",
        "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to \"True\" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates",
        |row| {
            let gates = row.list("/spec/readinessGates");
            if gates.is_empty() {
                return "<none>".into();
            }
            let conditions = row.list("/status/conditions");
            let open = |gate: &&Value| has_condition(conditions, gate["conditionType"].as_str().unwrap_or_default());
            format!("{}/{}", gates.iter().filter(open).count(), gates.len()).into()
        },
    )
    .wide(),
];

const POD_TEMPLATE: &[Column] = &[
    NAME,
    Column::text("Containers", "Names of each container in the template.", |row| {
        of_containers(row.list("/template/spec/containers"), "name").into()
    }),
    Column::text(
        "Images",
        "Images referenced by each container in the template.",
        |row| of_containers(row.list("/template/spec/containers"), "image").into(),
    ),
    Column::text("Pod Labels", "The labels for the pod template.", |row| {
        labels(row.at("/template/metadata/labels")).into()
    }),
];

/// The row condition of a pod that has ended.
pub(super) fn completed(object: &Value) -> Option<Value> {
    if object["kind"] != "Pod" || object["apiVersion"] != "v1" {
        return None;
    }
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!({ "type": "Completed", "status": "True", "reason": reason, "message": message }))
}

/// What the containers' states add up to.
struct State<'a> {
    ready: usize,
    containers: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<&'a str>,
}

impl<'a> State<'a> {
    fn of(row: &Row<'a>) -> Self {
        let sidecars = row
            .list("/spec/initContainers")
            .iter()
            .filter(|c| is_sidecar(c))
            .count();
        let mut state = Self {
            ready: 0,
            containers: row.list("/spec/containers").len() + sidecars,
            reason: row.text_or("/status/reason", row.text("/status/phase")).to_owned(),
            restarts: 0,
            last_restart: None,
        };
        let conditions = row.list("/status/conditions");
        if conditions
            .iter()
            .any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated")
        {
            "SchedulingGated".clone_into(&mut state.reason);
        }
        let initializing = state.add_init_containers(row);
        if !initializing || has_condition(conditions, "Initialized") {
            state.add_containers(row);
        }
        let phase = row.text("/status/phase");
        if row.is_deleting() {
            if row.text("/status/reason") == "NodeLost" {
                "Unknown".clone_into(&mut state.reason);
            } else if phase != "Succeeded" && phase != "Failed" {
                "Terminating".clone_into(&mut state.reason);
            }
        }
        state
    }

    /// Counts the init containers up to the first that has not done its work; true when there is one.
    fn add_init_containers(&mut self, row: &Row<'a>) -> bool {
        let specs = row.list("/spec/initContainers");
        let mut sidecars = (0, None);
        for (index, status) in row.list("/status/initContainerStatuses").iter().enumerate() {
            let sidecar = specs
                .iter()
                .find(|s| s["name"] == status["name"])
                .is_some_and(is_sidecar);
            self.count_restarts(status);
            if sidecar {
                sidecars.0 += status["restartCount"].as_i64().unwrap_or_default();
                sidecars.1 = later(sidecars.1, finished(status));
            }
            let ended = &status["state"]["terminated"];
            if !ended.is_null() && ended["exitCode"].as_i64().unwrap_or_default() == 0 {
                continue;
            }
            if sidecar && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            let waiting = status["state"]["waiting"]["reason"].as_str().unwrap_or_default();
            self.reason = if !ended.is_null() {
                format!("Init:{}", end_reason(ended))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", specs.len())
            };
            return true;
        }
        // Once the pod is initialized only sidecars still count.
        (self.restarts, self.last_restart) = sidecars;
        false
    }

    fn add_containers(&mut self, row: &Row<'a>) {
        let mut running = false;
        for status in row.list("/status/containerStatuses").iter().rev() {
            self.count_restarts(status);
            let (waiting, ended) = (&status["state"]["waiting"]["reason"], &status["state"]["terminated"]);
            if let Some(reason) = waiting.as_str().filter(|r| !r.is_empty()) {
                reason.clone_into(&mut self.reason);
            } else if !ended.is_null() {
                self.reason = end_reason(ended);
            } else if status["ready"] == true && !status["state"]["running"].is_null() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && running {
            let ready = has_condition(row.list("/status/conditions"), "Ready");
            if ready { "Running" } else { "NotReady" }.clone_into(&mut self.reason);
        }
    }

    fn count_restarts(&mut self, status: &'a Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or_default();
        self.last_restart = later(self.last_restart, finished(status));
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn finished(status: &Value) -> Option<&str> {
    status["lastState"]["terminated"]["finishedAt"].as_str()
}

/// The later of two timestamps, which are all UTC in whole seconds.
fn later<'a>(one: Option<&'a str>, other: Option<&'a str>) -> Option<&'a str> {
    one.max(other)
}

fn end_reason(ended: &Value) -> String {
    let number = |field: &str| ended[field].as_i64().unwrap_or_default();
    match ended["reason"].as_str().unwrap_or_default() {
        "" if number("signal") != 0 => format!("Signal:{}", number("signal")),
        "" => format!("ExitCode:{}", number("exitCode")),
        reason => reason.to_owned(),
    }
}
