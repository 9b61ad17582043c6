//! Tables: objects as rows of cells, the way `kubectl get` shows them, and objects cut down to their metadata.
//!
//! The columns of built-in kinds are data, one file per area; kinds without an entry show name and creation time, as
//! on the real server. Custom resources follow their `additionalPrinterColumns`.

mod auth;
mod cluster;
mod column;
mod config;
mod custom;
mod duration;
mod format;
mod hpa;
mod network;
mod pods;
mod registration;
mod storage;
mod workloads;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::resource::Resource;
use column::{Column, Row};

/// What a row carries besides its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The object's metadata.
    #[default]
    Metadata,
    /// The object.
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`; none for a word that does not exist.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// How a table is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Version of `meta.k8s.io`: `v1` or `v1beta1`.
    pub version: &'a str,
    /// What rows carry besides cells.
    pub include: Include,
    /// Whether the columns are described; only the first event of a watch does.
    pub headers: bool,
    /// The time that ages count to.
    pub now: Timestamp,
}

/// The objects of a resource as a table. `list_meta` becomes its metadata: that of the list, or of a single object
/// its resourceVersion.
///
/// Objects carry apiVersion and kind.
#[must_use]
pub fn to_table(resource: &Resource, objects: &[&Value], list_meta: &Value, style: Style<'_>) -> Value {
    match &resource.custom {
        Some(custom) => table(&custom::columns(&custom.columns), objects, list_meta, style),
        None => to_table_of_kind(&resource.group, &resource.kind, objects, list_meta, style),
    }
}

/// As [`to_table`], for a kind that is no resource of its own, such as `Scale`.
#[must_use]
pub fn to_table_of_kind(group: &str, kind: &str, objects: &[&Value], list_meta: &Value, style: Style<'_>) -> Value {
    table(columns(group, kind), objects, list_meta, style)
}

/// The object cut down to its metadata: PartialObjectMetadata of `meta.k8s.io/<version>`.
#[must_use]
pub fn to_partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object["metadata"],
    })
}

/// Objects cut down to their metadata: PartialObjectMetadataList of `meta.k8s.io/<version>`.
#[must_use]
pub fn to_partial_list(objects: &[&Value], list_meta: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_meta,
        "items": objects.iter().map(|object| to_partial(object, version)).collect::<Vec<_>>(),
    })
}

fn table<C: column::Cells>(columns: &[C], objects: &[&Value], list_meta: &Value, style: Style<'_>) -> Value {
    let definitions: Value = if style.headers {
        columns.iter().map(column::Cells::definition).collect()
    } else {
        Value::Null
    };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{}", style.version),
        "metadata": list_meta,
        "columnDefinitions": definitions,
        "rows": objects.iter().map(|object| row(columns, object, style)).collect::<Vec<_>>(),
    })
}

fn row<C: column::Cells>(columns: &[C], object: &Value, style: Style<'_>) -> Value {
    let source = Row { object, now: style.now };
    let mut row = Map::new();
    row.insert(
        "cells".to_owned(),
        columns.iter().map(|column| column.cell(&source)).collect(),
    );
    if let Some(condition) = pods::completed(object) {
        row.insert("conditions".to_owned(), json!([condition]));
    }
    let carried = match style.include {
        Include::None => Value::Null,
        Include::Metadata => to_partial(object, style.version),
        Include::Object => object.clone(),
    };
    row.insert("object".to_owned(), carried);
    Value::Object(row)
}

/// The columns of a built-in kind.
fn columns(group: &str, kind: &str) -> &'static [Column] {
    let areas = [
        pods::TABLES,
        workloads::TABLES,
        network::TABLES,
        config::TABLES,
        cluster::TABLES,
        auth::TABLES,
        hpa::TABLES,
        storage::TABLES,
        registration::TABLES,
    ];
    let found = areas
        .iter()
        .copied()
        .flatten()
        .find(|(g, k, _)| *g == group && *k == kind);
    found.map_or(column::DEFAULT, |(_, _, columns)| columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style() -> Style<'static> {
        let now = Timestamp::from_second(3600).unwrap();
        Style {
            version: "v1",
            include: Include::None,
            headers: true,
            now,
        }
    }

    fn cells(group: &str, kind: &str, mut object: Value) -> Value {
        object["metadata"]["name"] = "x".into();
        object["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z".into();
        to_table_of_kind(group, kind, &[&object], &json!({}), style())["rows"][0]["cells"].clone()
    }

    #[test]
    fn a_pod_shows_what_its_containers_are_doing() {
        let waiting = json!({"spec": {"containers": [{}]}, "status": {"phase": "Pending"}});
        assert_eq!(
            cells("", "Pod", waiting),
            json!([
                "x", "0/1", "Pending", "0", "60m", "<none>", "<none>", "<none>", "<none>"
            ])
        );
        let crashing = json!({"spec": {"containers": [{}, {}], "nodeName": "n"}, "status": {
            "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}],
            "containerStatuses": [
                {"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                 "lastState": {"terminated": {"finishedAt": "1970-01-01T00:59:00Z"}}},
                {"restartCount": 0, "ready": true, "state": {"running": {}}}
            ]
        }});
        assert_eq!(
            cells("", "Pod", crashing),
            json!([
                "x",
                "1/2",
                "CrashLoopBackOff",
                "3 (60s ago)",
                "60m",
                "10.0.0.1",
                "n",
                "<none>",
                "<none>"
            ])
        );
    }

    #[test]
    fn init_containers_come_before_the_others() {
        let pod = json!({
            "spec": {"initContainers": [{"name": "a"}, {"name": "b"}], "containers": [{}]},
            "status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "a", "state": {"terminated": {"exitCode": 0}}},
                {"name": "b", "state": {"running": {}}}
            ]}
        });
        assert_eq!(cells("", "Pod", pod)[2], "Init:1/2");
    }

    #[test]
    fn ended_pods_carry_a_row_condition() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Succeeded"}});
        let table = to_table_of_kind("", "Pod", &[&pod], &json!({}), style());
        assert_eq!(table["rows"][0]["conditions"][0]["reason"], "Succeeded");
    }

    #[test]
    fn workloads_count_what_is_ready() {
        let deployment = json!({
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}]}}},
            "status": {"readyReplicas": 1, "updatedReplicas": 2}
        });
        assert_eq!(
            cells("apps", "Deployment", deployment),
            json!(["x", "1/2", 2, 0, "60m", "a,b", "i:1,i:2", "app=web"])
        );
        let job = json!({"spec": {"completions": 3}, "status": {"succeeded": 1, "startTime": "1970-01-01T00:59:00Z"}});
        assert_eq!(
            cells("batch", "Job", job),
            json!(["x", "Running", "1/3", "60s", "60m", "", "", "<none>"])
        );
    }

    #[test]
    fn kinds_without_a_table_show_when_they_were_made() {
        let role = json!({"metadata": {"name": "r", "creationTimestamp": "1970-01-01T00:00:00Z"}});
        let table = to_table_of_kind("rbac.authorization.k8s.io", "Role", &[&role], &json!({}), style());
        assert_eq!(table["columnDefinitions"][1]["name"], "Created At");
        assert_eq!(table["rows"][0]["cells"], json!(["r", "1970-01-01T00:00:00Z"]));
    }

    #[test]
    fn services_show_addresses_and_ports() {
        let service = json!({"spec": {"type": "NodePort", "clusterIPs": ["10.1.1.1"], "selector": {"a": "b"},
            "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}});
        assert_eq!(
            cells("", "Service", service),
            json!([
                "x",
                "NodePort",
                "10.1.1.1",
                "<none>",
                "80:30000/TCP,53/UDP",
                "60m",
                "a=b"
            ])
        );
    }

    #[test]
    fn autoscalers_show_what_is_measured() {
        let v2 = json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}]}});
        assert_eq!(
            cells("autoscaling", "HorizontalPodAutoscaler", v2),
            json!(["x", "Deployment/d", "cpu: <unknown>/80%", "1", 3, 0, "60m"])
        );
    }
}
