//! What these tests share: an operator that copies an App's value into a ConfigMap.

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

/// The custom kind of these tests.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[kube(group = "testkit.kubewright.dev", version = "v1", kind = "App", namespaced)]
pub(crate) struct AppSpec {
    /// Any text.
    #[serde(default)]
    pub value: String,
}

/// Copies the value of an App into a ConfigMap of its name.
#[controller(for = App, owns = ConfigMap)]
pub(crate) struct Copier;

impl Reconciler for Copier {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

/// The operator of these tests.
pub(crate) fn copier() -> Manager {
    Manager::new("copier").controller(Copier)
}

fn config_map(app: &App) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: app.metadata.name.clone(),
            ..ObjectMeta::default()
        },
        data: Some([("value".to_owned(), app.spec.value.clone())].into()),
        ..ConfigMap::default()
    }
}

/// Puts an App there.
pub(crate) async fn put(cluster: &TestCluster, name: &str, value: &str) {
    cluster
        .apply(&json!({
            "apiVersion": "testkit.kubewright.dev/v1", "kind": "App",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "value": value },
        }))
        .await;
}

/// Waits until the ConfigMap of that name holds the value.
pub(crate) async fn copied(cluster: &TestCluster, name: &str, value: &str) {
    let holds = |map: &ConfigMap| map.data.iter().flatten().any(|(_, held)| held == value);
    cluster.wait_for::<ConfigMap>(name, holds).await;
}
