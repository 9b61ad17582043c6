//! Children that no owner reference can name.

use std::time::Duration;

use kubewright::declaration::TRACKED_BY;
use kubewright::k8s_openapi::api::core::v1::Namespace;
use kubewright::prelude::*;
use kubewright::{Declaration, Declare, Finalized, Owns, Reads};
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, put};

/// Puts a ConfigMap into each namespace that the App's value lists.
struct Spreads;

impl Declare for Spreads {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .finalizer("it.kubewright.dev/spread")
            .tracks::<ConfigMap>()
            .tracks::<Namespace>()
    }
}

impl Owns<ConfigMap> for Spreads {}
impl Owns<Namespace> for Spreads {}
impl Reads<App> for Spreads {}
impl Finalized for Spreads {}

fn spread(app: &App, namespace: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: app.metadata.name.clone(),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("from".to_owned(), "spread".to_owned())].into()),
        ..ConfigMap::default()
    }
}

impl Reconciler for Spreads {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let namespaces = app.spec.value.split(' ').filter(|name| !name.is_empty());
        let maps: Vec<ConfigMap> = namespaces.map(|namespace| spread(&app, namespace)).collect();
        cx.apply_set(maps).await?;
        Ok(Action::await_change())
    }
}

impl Cleanup for Spreads {
    async fn cleanup(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        if cx.children_gone::<ConfigMap>().await? {
            Ok(Action::await_change())
        } else {
            Ok(Action::requeue(Duration::from_secs(1)))
        }
    }
}

async fn namespace(cluster: &TestCluster, name: &str) {
    cluster
        .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
        .await;
}

async fn there(cluster: &TestCluster, name: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for namespace in ["default", "one", "two"] {
        if cluster.get::<ConfigMap>(&format!("{namespace}/{name}")).await.is_some() {
            found.push(namespace);
        }
    }
    found
}

#[kubewright_testkit::test]
async fn children_in_other_namespaces_are_told_by_a_label_repaired_pruned_and_cleaned_up() {
    let cluster = TestCluster::start();
    for name in ["one", "two"] {
        namespace(&cluster, name).await;
    }
    cluster.run(Manager::new("spreads").controller(Spreads)).await;
    let settle = || cluster.settled(Duration::from_secs(30));
    put(&cluster, "a", "one two").await;
    put(&cluster, "b", "one").await;
    settle().await;
    assert_eq!(there(&cluster, "a").await, ["one", "two"]);
    let map = cluster.get::<ConfigMap>("two/a").await.expect("there");
    let app = cluster.get::<App>("default/a").await.expect("there");
    assert_eq!(map.metadata.owner_references, None);
    assert_eq!(
        map.metadata.labels.as_ref().and_then(|l| l.get(TRACKED_BY)),
        app.metadata.uid.as_ref()
    );
    // Drift in a child wakes its primary, wherever it is.
    cluster.delete::<ConfigMap>("two/a").await;
    settle().await;
    assert_eq!(there(&cluster, "a").await, ["one", "two"]);
    put(&cluster, "a", "two").await;
    settle().await;
    assert_eq!(there(&cluster, "a").await, ["two"]);
    assert_eq!(there(&cluster, "b").await, ["one"], "another primary's");
    cluster.delete::<App>("default/a").await;
    settle().await;
    assert_eq!(there(&cluster, "a").await, [""; 0]);
    assert!(cluster.get::<App>("default/a").await.is_none());
}

#[kubewright_testkit::test]
async fn a_strangers_object_in_another_namespace_is_left_alone() {
    let cluster = TestCluster::start();
    namespace(&cluster, "one").await;
    let theirs = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "namespace": "one" }, "data": { "from": "them" } });
    cluster.apply(&theirs).await;
    cluster.run(Manager::new("spreads").controller(Spreads)).await;
    put(&cluster, "a", "one").await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let map = cluster.get::<ConfigMap>("one/a").await.expect("there");
    assert_eq!(map.data, Some([("from".to_owned(), "them".to_owned())].into()));
    let runs = cluster.story().runs();
    assert!(runs.iter().any(|run| run.outcome.to_string().contains("is not ours")));
    cluster.delete::<App>("default/a").await;
    cluster.settled(Duration::from_secs(30)).await;
    assert!(cluster.get::<ConfigMap>("one/a").await.is_some());
}
