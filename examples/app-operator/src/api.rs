//! The custom kind `App`.
#![allow(clippy::duplicated_attributes, reason = "printer columns repeat their keys")]

use std::collections::BTreeMap;

use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::prelude::*;

/// A web application: an image that serves HTTP.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "App",
    namespaced,
    status = "AppStatus",
    derive = "PartialEq",
    doc = "A web application with its configuration, pods, Service and Ingress",
    category = "all",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "URL", type_ = "string", json_path = ".status.url", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AppSpec {
    /// The container image.
    #[schemars(length(min = 1))]
    pub image: String,
    /// How many pods should run.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The port on which the container serves HTTP.
    #[serde(default = "eighty")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Environment of the container, kept in a ConfigMap.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Makes the App reachable from outside. Without it there is no Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<AppIngress>,
}

/// How an App is reachable from outside.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AppIngress {
    /// The host name that requests come in by.
    #[schemars(length(min = 1))]
    pub host: String,
}

/// What the operator knows of an App.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Pods that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Selects the pods; for `kubectl scale` and autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Where the App is reachable from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `Applied`: everything that the App asks for was written. `Ready`: its pods serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

fn one() -> i32 {
    1
}

fn eighty() -> i32 {
    80
}
