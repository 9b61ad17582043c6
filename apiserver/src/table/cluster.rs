//! Namespaces, nodes, events.

use std::collections::BTreeSet;

use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};

pub(super) const TABLES: &[Table] = &[
    ("", "Namespace", NAMESPACE),
    ("", "Node", NODE),
    ("", "Event", EVENT),
    ("events.k8s.io", "Event", EVENT),
    ("", "ComponentStatus", COMPONENT_STATUS),
];

const NAMESPACE: &[Column] = &[
    NAME,
    Column::text("Status", "The status of the namespace", |row| {
        row.text("/status/phase").into()
    }),
    AGE,
];

const NODE: &[Column] = &[
    NAME,
    Column::text("Status", "The status of the node", |row| {
        let ready = row
            .list("/status/conditions")
            .iter()
            .rev()
            .find(|c| c["type"] == "Ready");
        let mut words = vec![match ready {
            Some(condition) if condition["status"] == "True" => "Ready",
            Some(_) => "NotReady",
            None => "Unknown",
        }];
        if row.at("/spec/unschedulable") == true {
            words.push("SchedulingDisabled");
        }
        words.join(",").into()
    }),
    Column::text("Roles", "The roles of the node", |row| {
        let roles = roles(row.at("/metadata/labels"));
        if roles.is_empty() {
            "<none>".into()
        } else {
            roles.into_iter().collect::<Vec<_>>().join(",").into()
        }
    }),
    AGE,
    Column::text("Version", "The version of the kubelet on the node.", |row| {
        row.text("/status/nodeInfo/kubeletVersion").into()
    }),
    Column::text("Internal-IP", "The address of the node inside the cluster.", |row| {
        address(row, "InternalIP").into()
    })
    .wide(),
    Column::text("External-IP", "The address of the node outside the cluster.", |row| {
        address(row, "ExternalIP").into()
    })
    .wide(),
    Column::text("OS-Image", "The operating system of the node.", |row| {
        row.text_or("/status/nodeInfo/osImage", "<unknown>").into()
    })
    .wide(),
    Column::text("Kernel-Version", "The version of the node's kernel.", |row| {
        let kernel = row.text_or("/status/nodeInfo/kernelVersion", "<unknown>");
        match row.text_or("/status/nodeInfo/architecture", "") {
            "" => kernel.into(),
            architecture => format!("{kernel} ({architecture})").into(),
        }
    })
    .wide(),
    Column::text(
        "Container-Runtime",
        "The container runtime of the node and its version.",
        |row| {
            row.text_or("/status/nodeInfo/containerRuntimeVersion", "<unknown>")
                .into()
        },
    )
    .wide(),
];

const EVENT: &[Column] = &[
    Column::text("Last Seen", "When the event was last seen.", |row| {
        last_seen(row).into()
    }),
    Column::text("Type", "Normal or Warning.", |row| row.text("/type").into()),
    Column::text("Reason", "Why it happened, in one word.", |row| {
        row.text("/reason").into()
    }),
    Column::text("Object", "What the event is about.", |row| {
        let about = about(row);
        let kind = about["kind"].as_str().unwrap_or_default().to_lowercase();
        match about["name"].as_str() {
            Some(name) if !name.is_empty() => format!("{kind}/{name}").into(),
            _ => kind.into(),
        }
    }),
    Column::text("Subobject", "Which part of the object the event is about.", |row| {
        about(row)["fieldPath"].as_str().unwrap_or_default().into()
    })
    .wide(),
    Column::text("Source", "Who reported the event.", |row| source(row).into()).wide(),
    Column::text("Message", "What happened.", |row| {
        row.text_or("/message", row.text("/note")).trim().into()
    }),
    Column::text("First Seen", "When the event was first seen.", |row| {
        first_seen(row).into()
    })
    .wide(),
    Column::text("Count", "How often the event was seen.", |row| {
        let single = either(row, "/count", "/deprecatedCount")
            .as_i64()
            .filter(|n| *n != 0)
            .unwrap_or(1);
        row.at("/series/count").as_i64().unwrap_or(single).into()
    })
    .wide(),
    NAME.wide(),
];

const COMPONENT_STATUS: &[Column] = &[
    NAME,
    Column::text("Status", "Status of the component conditions", |row| {
        let healthy = row
            .list("/conditions")
            .iter()
            .any(|c| c["type"] == "Healthy" && c["status"] == "True");
        if healthy { "Healthy".into() } else { "Unhealthy".into() }
    }),
    Column::text("Message", "Message of the component conditions", |row| {
        health(row)["message"].as_str().into()
    }),
    Column::text("Error", "Error of the component conditions", |row| {
        health(row)["error"].as_str().into()
    }),
];

/// `node-role.kubernetes.io/<role>` and `kubernetes.io/role: <role>`.
fn roles(labels: &Value) -> BTreeSet<&str> {
    labels
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect()
}

fn address<'a>(row: &Row<'a>, kind: &str) -> &'a str {
    let found = row.list("/status/addresses").iter().find(|a| a["type"] == kind);
    found.and_then(|a| a["address"].as_str()).unwrap_or("<none>")
}

/// A field by its name in core/v1 or, when that is missing, in events.k8s.io/v1.
fn either<'a>(row: &Row<'a>, core: &str, events: &str) -> &'a Value {
    let value = row.at(core);
    if value.is_null() { row.at(events) } else { value }
}

fn about<'a>(row: &Row<'a>) -> &'a Value {
    either(row, "/involvedObject", "/regarding")
}

fn source(row: &Row<'_>) -> String {
    let source = either(row, "/source", "/deprecatedSource");
    let first = |field: &str, otherwise: [&str; 2]| {
        let own = source[field].as_str().unwrap_or_default();
        [own, row.text(otherwise[0]), row.text(otherwise[1])]
            .into_iter()
            .find(|v| !v.is_empty())
            .unwrap_or_default()
            .to_owned()
    };
    let component = first("component", ["/reportingComponent", "/reportingController"]);
    let instance = first("host", ["/reportingInstance", "/reportingInstance"]);
    if instance.is_empty() {
        component
    } else {
        format!("{component}, {instance}")
    }
}

fn first_seen(row: &Row<'_>) -> String {
    let first = either(row, "/firstTimestamp", "/deprecatedFirstTimestamp")
        .as_str()
        .unwrap_or(row.text("/eventTime"));
    row.age_of(first)
}

fn last_seen(row: &Row<'_>) -> String {
    if !row.at("/series").is_null() {
        return row.age("/series/lastObservedTime");
    }
    match either(row, "/lastTimestamp", "/deprecatedLastTimestamp").as_str() {
        Some(last) => row.age_of(last),
        None => first_seen(row),
    }
}

fn health<'a>(row: &Row<'a>) -> &'a Value {
    row.list("/conditions")
        .iter()
        .find(|c| c["type"] == "Healthy")
        .unwrap_or(&Value::Null)
}
