//! Workload kinds.

use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};
use super::duration;
use super::format::{has_condition, labels, of_containers, plain, selector, selector_or_none};

pub(super) const TABLES: &[Table] = &[
    ("apps", "Deployment", DEPLOYMENT),
    ("apps", "ReplicaSet", REPLICA_SET),
    ("", "ReplicationController", REPLICATION_CONTROLLER),
    ("apps", "StatefulSet", STATEFUL_SET),
    ("apps", "DaemonSet", DAEMON_SET),
    ("apps", "ControllerRevision", CONTROLLER_REVISION),
    ("batch", "Job", JOB),
    ("batch", "CronJob", CRON_JOB),
    ("policy", "PodDisruptionBudget", POD_DISRUPTION_BUDGET),
    ("autoscaling", "Scale", SCALE),
];

const CONTAINERS: Column = Column::text("Containers", "Names of each container in the template.", |row| {
    of_containers(row.list("/spec/template/spec/containers"), "name").into()
})
.wide();
const IMAGES: Column = Column::text(
    "Images",
    "Images referenced by each container in the template.",
    |row| of_containers(row.list("/spec/template/spec/containers"), "image").into(),
)
.wide();
const fn selects(description: &'static str) -> Column {
    Column::text("Selector", description, |row| {
        selector_or_none(row.at("/spec/selector")).into()
    })
    .wide()
}

const DEPLOYMENT: &[Column] = &[
    NAME,
    Column::text("Ready", "Number of the pod with ready state", ready),
    Column::text(
        "Up-to-date",
        "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
        |row| row.number("/status/updatedReplicas").into(),
    ),
    Column::text(
        "Available",
        "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.",
        |row| row.number("/status/availableReplicas").into(),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    Column::text(
        "Selector",
        "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
        |row| selector(row.at("/spec/selector")).into(),
    )
    .wide(),
];

const REPLICA_SET: &[Column] = &[
    NAME,
    Column::integer("Desired", "How many pods are wanted.", |row| {
        row.number("/spec/replicas").into()
    }),
    Column::integer("Current", "How many pods there are.", |row| {
        row.number("/status/replicas").into()
    }),
    Column::integer("Ready", "How many pods are ready.", |row| {
        row.number("/status/readyReplicas").into()
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    selects("Which pods belong to the set."),
];

const REPLICATION_CONTROLLER: &[Column] = &[
    NAME,
    Column::integer("Desired", "How many pods are wanted.", |row| {
        row.number("/spec/replicas").into()
    }),
    Column::integer("Current", "How many pods there are.", |row| {
        row.number("/status/replicas").into()
    }),
    Column::integer("Ready", "How many pods are ready.", |row| {
        row.number("/status/readyReplicas").into()
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    Column::text("Selector", "Which pods belong to the controller.", |row| {
        labels(row.at("/spec/selector")).into()
    })
    .wide(),
];

const STATEFUL_SET: &[Column] = &[
    NAME,
    Column::text("Ready", "Number of the pod with ready state", ready),
    AGE,
    CONTAINERS,
    IMAGES,
];

const DAEMON_SET: &[Column] = &[
    NAME,
    Column::integer("Desired", "How many nodes should run the pod.", |row| {
        row.number("/status/desiredNumberScheduled").into()
    }),
    Column::integer("Current", "How many nodes that should run the pod do.", |row| {
        row.number("/status/currentNumberScheduled").into()
    }),
    Column::integer("Ready", "How many nodes have the pod ready.", |row| {
        row.number("/status/numberReady").into()
    }),
    Column::integer(
        "Up-to-date",
        "How many nodes run the pod of the current template.",
        |row| row.number("/status/updatedNumberScheduled").into(),
    ),
    Column::integer("Available", "How many nodes have the pod available.", |row| {
        row.number("/status/numberAvailable").into()
    }),
    Column::text("Node Selector", "The labels of nodes that the pod fits.", |row| {
        labels(row.at("/spec/template/spec/nodeSelector")).into()
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    selects("Which pods belong to the set."),
];

const CONTROLLER_REVISION: &[Column] = &[
    NAME,
    Column::text("Controller", "Controller of the object", |row| {
        let owners = row.list("/metadata/ownerReferences");
        let Some(owner) = owners.iter().find(|o| o["controller"] == true) else {
            return "<none>".into();
        };
        let field = |name: &str| owner[name].as_str().unwrap_or_default();
        let kind = field("kind").to_lowercase();
        match field("apiVersion").split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", field("name")).into(),
            None => format!("{kind}/{}", field("name")).into(),
        }
    }),
    Column::text("Revision", "The number of the revision.", |row| {
        row.number("/revision").into()
    }),
    AGE,
];

const JOB: &[Column] = &[
    NAME,
    Column::text("Status", "Status of the job.", |row| job_status(row).into()),
    Column::text(
        "Completions",
        "How many pods have succeeded, of how many wanted.",
        |row| {
            let (succeeded, parallelism) = (row.number("/status/succeeded"), row.number("/spec/parallelism"));
            match row.at("/spec/completions").as_i64() {
                Some(wanted) => format!("{succeeded}/{wanted}").into(),
                None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
                None => format!("{succeeded}/1").into(),
            }
        },
    ),
    Column::text("Duration", "Time required to complete the job.", |row| {
        let time = |pointer: &str| row.text(pointer).parse::<jiff::Timestamp>().ok();
        let Some(start) = time("/status/startTime") else {
            return "".into();
        };
        let end = time("/status/completionTime").unwrap_or(row.now);
        duration::human(end.duration_since(start)).into()
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    selects("Which pods belong to the job."),
];

const CRON_JOB: &[Column] = &[
    NAME,
    Column::text("Schedule", "When jobs are made, in the form of cron.", |row| {
        row.text("/spec/schedule").into()
    }),
    Column::text("Timezone", "The time zone of the schedule.", |row| {
        row.text_or("/spec/timeZone", "<none>").into()
    }),
    Column::boolean("Suspend", "Whether no more jobs are made.", |row| {
        match row.at("/spec/suspend") {
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            _ => "<unset>".into(),
        }
    }),
    Column::integer("Active", "How many jobs are running.", |row| {
        row.count("/status/active").into()
    }),
    Column::text("Last Schedule", "When a job was last made.", |row| {
        if row.at("/status/lastScheduleTime").is_null() {
            "<none>".into()
        } else {
            row.age("/status/lastScheduleTime").into()
        }
    }),
    AGE,
    Column::text("Containers", "Names of each container in the template.", |row| {
        of_containers(row.list("/spec/jobTemplate/spec/template/spec/containers"), "name").into()
    })
    .wide(),
    Column::text(
        "Images",
        "Images referenced by each container in the template.",
        |row| of_containers(row.list("/spec/jobTemplate/spec/template/spec/containers"), "image").into(),
    )
    .wide(),
    Column::text("Selector", "Which pods belong to a job.", |row| {
        selector_or_none(row.at("/spec/jobTemplate/spec/selector")).into()
    })
    .wide(),
];

const POD_DISRUPTION_BUDGET: &[Column] = &[
    NAME,
    Column::text(
        "Min Available",
        "The minimum number of pods that must be available.",
        |row| or_not_applicable(row.at("/spec/minAvailable")),
    ),
    Column::text(
        "Max Unavailable",
        "The maximum number of pods that may be unavailable.",
        |row| or_not_applicable(row.at("/spec/maxUnavailable")),
    ),
    Column::integer(
        "Allowed Disruptions",
        "Calculated number of pods that may be disrupted at this time.",
        |row| row.number("/status/disruptionsAllowed").into(),
    ),
    AGE,
];

const SCALE: &[Column] = &[
    NAME,
    Column::integer("Desired", "How many instances are wanted.", |row| {
        row.number("/spec/replicas").into()
    }),
    Column::integer("Available", "How many instances there are.", |row| {
        row.number("/status/replicas").into()
    }),
    AGE,
];

fn ready(row: &Row<'_>) -> Value {
    format!(
        "{}/{}",
        row.number("/status/readyReplicas"),
        row.number("/spec/replicas")
    )
    .into()
}

fn or_not_applicable(value: &Value) -> Value {
    if value.is_null() {
        "N/A".into()
    } else {
        plain(value).into()
    }
}

fn job_status(row: &Row<'_>) -> &'static str {
    let conditions = row.list("/status/conditions");
    if has_condition(conditions, "Complete") {
        "Complete"
    } else if has_condition(conditions, "Failed") {
        "Failed"
    } else if row.is_deleting() {
        "Terminating"
    } else if has_condition(conditions, "Suspended") {
        "Suspended"
    } else if has_condition(conditions, "FailureTarget") {
        "FailureTarget"
    } else if has_condition(conditions, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}
