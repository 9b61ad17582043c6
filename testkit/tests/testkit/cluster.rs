//! What a cluster does for a test.

use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kubewright::kube;
use kubewright_testkit::{Fault, TestCluster};
use serde_json::json;

use crate::support::{copied, copier, put};

const TWO: &str = "
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
data: { k: one }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: b, namespace: default }
";

#[kubewright_testkit::test]
async fn applied_objects_can_be_read_changed_and_deleted(cluster: TestCluster) {
    let stored = cluster.apply_yaml(TWO).await;
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0]["metadata"]["namespace"], "default");

    let changed = cluster.patch::<ConfigMap>("a", json!({ "data": { "k": "two" } })).await;
    assert_eq!(changed.data.unwrap_or_default()["k"], "two");
    assert!(cluster.list::<ConfigMap>().await.len() >= 2);
    cluster.delete::<ConfigMap>("a").await;
    cluster.wait_gone::<ConfigMap>("a").await;
    assert!(cluster.get::<ConfigMap>("default/b").await.is_some());
}

#[kubewright_testkit::test]
async fn a_kind_that_nobody_installed_is_named_in_the_error(cluster: TestCluster) {
    let yaml = "{ apiVersion: demo.dev/v1, kind: Nothing, metadata: { name: a } }";
    let error = cluster.try_apply_yaml(yaml).await.expect_err("there is no such kind");
    let message = error.to_string();
    assert!(
        message.contains("nothing/a") && message.contains("no kind Nothing in demo.dev/v1"),
        "{message}"
    );
}

#[kubewright_testkit::test]
async fn an_unknown_field_is_refused_as_kubectl_refuses_it(cluster: TestCluster) {
    let yaml = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a }, dota: {} }";
    let error = cluster.try_apply_yaml(yaml).await.expect_err("`dota` is no field");
    assert!(error.to_string().contains("dota"), "{error}");
}

#[kubewright_testkit::test]
async fn another_user_has_the_rights_that_rbac_gives_and_no_others(cluster: TestCluster) {
    let client = cluster.client_as("jane", &[]);
    let secrets = kube::Api::<Secret>::namespaced(client, "default");
    match secrets.list(&kube::api::ListParams::default()).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403, "{}", status.message),
        other => panic!("jane may not list secrets: {other:?}"),
    }
    assert_eq!(cluster.requests().of("secrets").refused().count(), 1);
}

#[kubewright_testkit::test]
async fn a_new_namespace_gets_what_every_namespace_has_and_a_deleted_one_is_emptied(cluster: TestCluster) {
    cluster
        .apply_yaml("{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }")
        .await;
    cluster.wait_for::<ServiceAccount>("shop/default", |_| true).await;
    cluster
        .apply_yaml("{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, namespace: shop } }")
        .await;
    cluster.delete::<Namespace>("shop").await;
    cluster.wait_gone::<Namespace>("shop").await;
    assert!(cluster.get::<ConfigMap>("shop/a").await.is_none());
}

#[kubewright_testkit::test]
async fn dependents_go_with_their_owner(cluster: TestCluster) {
    let owner = &cluster.apply_yaml(TWO).await[0];
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "child", "namespace": "default", "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"],
            }] },
        }))
        .await;
    cluster.delete::<ConfigMap>("a").await;
    cluster.wait_gone::<Secret>("child").await;
}

#[kubewright_testkit::test]
async fn two_clusters_in_one_test_share_the_clock_and_nothing_else() {
    let (one, other) = (TestCluster::start(), TestCluster::start());
    let first = one.run(copier()).await;
    let second = other.run(copier()).await;
    put(&one, "a", "one").await;
    put(&other, "a", "other").await;
    copied(&one, "a", "one").await;
    copied(&other, "a", "other").await;
    one.inject(Fault::unreachable());
    put(&one, "a", "two").await;
    put(&other, "a", "two").await;
    copied(&other, "a", "two").await;
    assert_eq!(one.now(), other.now());
    assert!(other.story().faults().is_empty(), "{}", other.story());
    let held = one
        .get::<ConfigMap>("a")
        .await
        .and_then(|map| map.data)
        .unwrap_or_default();
    assert_eq!(held["value"], "one", "its operator reaches nobody");
    drop(first);
    second.stop().await;
}
