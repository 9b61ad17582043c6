//! What the tests of the engine share: a kind, and notes that reconcilers take.

use std::sync::{Arc, Mutex, PoisonError};

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

/// The custom kind of these tests.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[kube(
    group = "it.kubewright.dev",
    version = "v1",
    kind = "App",
    namespaced,
    status = "AppStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppSpec {
    /// Any text.
    #[serde(default)]
    pub value: String,
}

/// Status of an App.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppStatus {
    /// The value that was seen last.
    #[serde(default)]
    pub seen: String,
}

/// What reconcilers write down, in order. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self, note: &str) -> usize {
        self.all().iter().filter(|other| *other == note).count()
    }
}

/// Puts an App there.
pub(crate) async fn put(cluster: &TestCluster, name: &str, value: &str) {
    cluster
        .apply(&json!({
            "apiVersion": "it.kubewright.dev/v1", "kind": "App",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "value": value },
        }))
        .await;
}

/// The ConfigMap of an App.
pub(crate) fn config_map(app: &App) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: app.metadata.name.clone(),
            ..ObjectMeta::default()
        },
        data: Some([("value".to_owned(), app.spec.value.clone())].into()),
        ..ConfigMap::default()
    }
}

/// Whether a ConfigMap holds a value.
pub(crate) fn holds(map: &ConfigMap, value: &str) -> bool {
    map.data
        .as_ref()
        .is_some_and(|data| data.get("value").is_some_and(|held| held == value))
}
