//! A directory on disk for each `Directory` object: something that no garbage collector of the cluster can remove, so
//! that the finalizer and `cleanup` carry real weight.
//!
//! [`mod@controller`] decides, [`store`] touches the disk.

pub mod controller;
pub mod store;

use std::collections::BTreeMap;
use std::path::PathBuf;

use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::prelude::*;

/// Files that should lie in a directory of the machine that the operator runs on.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Directory",
    plural = "directories",
    namespaced,
    status = "DirectoryStatus",
    printcolumn(name = "Path", type_ = "string", json_path = ".status.path"),
    printcolumn(name = "Files", type_ = "integer", json_path = ".status.files"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct DirectorySpec {
    /// Content of each file by its name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// What the operator made of a Directory.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryStatus {
    /// Where it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many files it holds.
    #[serde(default)]
    pub files: i64,
    /// `Ready`: the directory is as the spec says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The operator, ready for `run_cli` or for a test; its directories lie under `root`.
#[must_use]
pub fn manager(root: impl Into<PathBuf>) -> Manager {
    let store = store::Store::new(root);
    Manager::new("external-resource").controller(controller::DirectoryController::new(store))
}
