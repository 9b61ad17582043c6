//! Fields that earlier managers own go away with them.

use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::Api;
use kubewright::kube::api::{Patch, PatchParams};
use kubewright::prelude::*;
use kubewright::{Declaration, Declare, Owns, Reads};
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, AppStatus, put};

/// Writes a ConfigMap with some keys, and the status, under a name of its own.
struct Release<const NUMBER: usize>;

impl<const NUMBER: usize> Declare for Release<NUMBER> {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let d = d.for_::<App>().crd::<App>().name("release").owns::<ConfigMap>();
        match NUMBER {
            1 => d.field_manager("old-name"),
            2 => d.field_manager("new-name"),
            _ => d
                .field_manager("new-name")
                .previous_manager("old-name")
                .previous_manager("kubectl-client-side-apply"),
        }
    }
}

impl<const NUMBER: usize> Owns<ConfigMap> for Release<NUMBER> {}
impl<const NUMBER: usize> Reads<App> for Release<NUMBER> {}

impl<const NUMBER: usize> Reconciler for Release<NUMBER> {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let mut map = crate::support::config_map(&app);
        if NUMBER == 1 {
            map.data.get_or_insert_default().insert("dropped".into(), "x".into());
        }
        cx.apply(map).await?;
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        Ok(Action::await_change())
    }
}

async fn keys(cluster: &TestCluster) -> Vec<String> {
    let map = cluster.get::<ConfigMap>("default/a").await.expect("there");
    map.data.into_iter().flatten().map(|(key, _)| key).collect()
}

async fn managers(cluster: &TestCluster) -> Vec<String> {
    let map = cluster.get::<ConfigMap>("default/a").await.expect("there");
    let entries = map.metadata.managed_fields.unwrap_or_default();
    entries.into_iter().filter_map(|entry| entry.manager).collect()
}

#[kubewright_testkit::test]
async fn fields_of_previous_managers_and_of_client_side_apply_go_away_when_they_are_taken_over() {
    let cluster = TestCluster::start();
    let old = cluster.run(Manager::new("op").controller(Release::<1>)).await;
    put(&cluster, "a", "x").await;
    cluster.settled(Duration::from_secs(30)).await;
    old.stop().await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let by = |manager: &str| PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    };
    for (manager, key) in [("kubectl-client-side-apply", "updated"), ("stranger", "theirs")] {
        let patch = json!({ "data": { key: "x" } });
        maps.patch("a", &by(manager), &Patch::Merge(patch))
            .await
            .expect("patched");
    }
    assert_eq!(keys(&cluster).await, ["dropped", "theirs", "updated", "value"]);
    // A new name alone leaves what the old one set.
    let renamed = cluster.run(Manager::new("op").controller(Release::<2>)).await;
    put(&cluster, "a", "y").await;
    cluster.settled(Duration::from_secs(30)).await;
    renamed.stop().await;
    assert_eq!(keys(&cluster).await, ["dropped", "theirs", "updated", "value"]);
    let before = cluster.requests().count();
    let taking = cluster.run(Manager::new("op").controller(Release::<3>)).await;
    cluster.settled(Duration::from_secs(30)).await;
    assert_eq!(keys(&cluster).await, ["theirs", "value"]);
    assert_eq!(managers(&cluster).await, ["new-name", "stranger"]);
    let app = cluster.get::<App>("default/a").await.expect("there");
    let entries = app.metadata.managed_fields.unwrap_or_default();
    assert!(
        entries
            .iter()
            .all(|entry| entry.manager.as_deref() != Some("old-name-status"))
    );
    let reads = cluster.requests().since(before).by(taking.user());
    assert_eq!(
        reads.iter().filter(|request| request.verb == "get").count(),
        1,
        "{reads}"
    );
    // Once is enough.
    let before = cluster.requests().count();
    put(&cluster, "a", "z").await;
    cluster.settled(Duration::from_secs(30)).await;
    let again = cluster.requests().since(before).by(taking.user());
    assert_eq!(
        again.iter().filter(|request| request.verb == "get").count(),
        0,
        "{again}"
    );
    assert_eq!(keys(&cluster).await, ["theirs", "value"]);
}
