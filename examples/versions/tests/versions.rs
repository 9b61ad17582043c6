//! Both versions, and the way from one release of the operator to the next.

use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright::kube::api::{Api, Patch, PatchParams};
use kubewright::kube::core::crd::CustomResourceExt as _;
use kubewright::webhook::Declaration;
use kubewright_testkit::{TestCluster, WebhookFault};
use serde_json::{Value, json};
use versions::v1::Eviction;
use versions::{CacheVersions, manager, v1, v1alpha1};

fn old(name: &str) -> Value {
    json!({
        "apiVersion": "demo.dev/v1alpha1", "kind": "Cache",
        "metadata": { "name": name, "namespace": "default" }, "spec": { "sizeMb": 64 },
    })
}

async fn stored_versions(cluster: &TestCluster) -> Vec<String> {
    let definition = cluster.get::<CustomResourceDefinition>("caches.demo.dev").await;
    definition
        .and_then(|definition| definition.status?.stored_versions)
        .unwrap_or_default()
}

/// The definition as the operator's first release installed it.
async fn first_release(cluster: &TestCluster) {
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    let params = PatchParams::apply("kubewright-testkit");
    let applied = definitions
        .patch("caches.demo.dev", &params, &Patch::Apply(v1alpha1::Cache::crd()))
        .await;
    applied.expect("the first definition is taken");
}

#[kubewright_testkit::test]
async fn each_version_shows_what_was_written_in_the_other() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(include_str!("../sample.yaml")).await;
    let as_new = cluster.get::<v1::Cache>("old").await.expect("there");
    assert_eq!(
        (as_new.spec.memory.size_mb, as_new.spec.memory.eviction),
        (64, Eviction::LeastRecent)
    );
    let as_old = cluster.get::<v1alpha1::Cache>("new").await.expect("there");
    assert_eq!((as_old.spec.size_mb, as_old.spec.replicas), (128, 2));
    // What the first version has no field for survives a write in it.
    cluster
        .patch::<v1alpha1::Cache>("new", json!({ "spec": { "sizeMb": 256 } }))
        .await;
    let changed = cluster.get::<v1::Cache>("new").await.expect("there");
    assert_eq!(
        (changed.spec.memory.size_mb, changed.spec.memory.eviction),
        (256, Eviction::Never)
    );
    cluster
        .wait_for::<ConfigMap>("old", |map| {
            map.data
                .as_ref()
                .is_some_and(|data| data["cache.conf"].contains("64mb"))
        })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn what_the_first_release_stored_is_rewritten_and_the_definition_says_so() {
    let cluster = TestCluster::start();
    first_release(&cluster).await;
    for i in 0..3 {
        cluster.apply(&old(&format!("cache-{i}"))).await;
    }
    assert_eq!(stored_versions(&cluster).await, ["v1alpha1"]);
    let operator = cluster.run(manager()).await;
    cluster
        .eventually("everything is stored as v1", || async {
            stored_versions(&cluster).await == ["v1"]
        })
        .await;
    for i in 0..3 {
        let cache = cluster.get::<v1::Cache>(&format!("cache-{i}")).await.expect("there");
        assert_eq!(cache.spec.memory.size_mb, 64);
    }
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_migration_goes_on_after_a_restart_in_the_middle() {
    let cluster = TestCluster::start();
    first_release(&cluster).await;
    for i in 0..150 {
        cluster.apply(&old(&format!("cache-{i:03}"))).await;
    }
    let operator = cluster.run(manager()).await;
    // A page has 100 objects and takes five seconds.
    cluster
        .wait_for::<ConfigMap>("versions-storage-migration", |map| map.data.is_some())
        .await;
    operator.crash();
    let before = cluster.story().writes().of("caches").count();
    let operator = cluster.operator(manager()).replica("versions-2").start().await;
    cluster
        .eventually("everything is stored as v1", || async {
            stored_versions(&cluster).await == ["v1"]
        })
        .await;
    let after = cluster.story().writes().of("caches").count();
    assert!(
        after - before <= 60,
        "only the second page was left, and {} were written",
        after - before
    );
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn an_operator_that_cannot_be_called_yet_starts_and_then_serves_what_was_stored_before() {
    let cluster = TestCluster::start();
    first_release(&cluster).await;
    cluster.apply(&old("a")).await;
    let operator = cluster.run(manager()).await;
    let down = cluster.break_webhooks("versions", WebhookFault::Down);
    operator.crash();
    // Its caches cannot be filled, since nobody converts; it starts all the same, and is what converts.
    let second = cluster.operator(manager()).replica("versions-2").start().await;
    cluster.advance(Duration::from_secs(30)).await;
    assert!(second.is_running());
    down.heal();
    cluster.wait_for::<ConfigMap>("a", |_| true).await;
    second.stop().await;
}

#[test]
fn conversions_lose_nothing_whatever_the_object() {
    let declaration = Declaration::<CacheVersions>::of();
    let conversion = declaration.declared().conversion.as_ref().expect("two versions");
    for seed in 0..50 {
        assert_eq!(conversion.check_samples(seed, 20), Ok(()), "seed {seed}");
    }
}
