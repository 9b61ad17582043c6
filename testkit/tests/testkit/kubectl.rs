//! Helpers that change things as kubectl does, and what they say when what they wait for does not come.

use futures::FutureExt;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, put};

const MAP: &str = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a }, data: { k: one, other: same } }";

/// What a test says that panics.
async fn message(test: impl Future<Output = ()>) -> String {
    let panic = std::panic::AssertUnwindSafe(test).catch_unwind().await;
    let panic = panic.expect_err("it was meant to panic");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[kubewright_testkit::test]
async fn labels_and_annotations_come_and_go() {
    let cluster = TestCluster::start();
    cluster.apply_yaml(MAP).await;
    cluster.label::<ConfigMap>("a", "tier", Some("web")).await;
    let map = cluster.annotate::<ConfigMap>("a", "note", Some("text")).await;
    let (labels, annotations) = (map.metadata.labels, map.metadata.annotations);
    assert_eq!(labels.unwrap_or_default()["tier"], "web");
    assert_eq!(annotations.unwrap_or_default()["note"], "text");
    let map = cluster.label::<ConfigMap>("a", "tier", None).await;
    assert!(map.metadata.labels.unwrap_or_default().is_empty());
}

#[kubewright_testkit::test]
async fn a_definition_of_the_builder_is_there_from_the_start() {
    let cluster = TestCluster::builder().crd::<App>().start();
    put(&cluster, "a", "one").await;
    cluster
        .wait_for_fields::<App>("a", json!({ "spec": { "value": "one" } }))
        .await;
}

#[kubewright_testkit::test]
async fn a_field_that_does_not_come_is_told_with_what_is_there_instead_and_what_changed_last() {
    let cluster = TestCluster::start();
    cluster.apply_yaml(MAP).await;
    let later = async {
        cluster.advance(std::time::Duration::from_secs(5)).await;
        cluster.patch::<ConfigMap>("a", json!({ "data": { "k": "two" } })).await;
    };
    let waits = async {
        cluster
            .wait_for_fields::<ConfigMap>("a", json!({ "data": { "k": "three" } }))
            .await;
    };
    let (text, ()) = futures::join!(message(waits), later);
    for part in [
        "configmaps a did not come to hold the fields",
        "-    \"k\": \"three\"\n+    \"k\": \"two\"",
        "what changed in it last:",
        "-    \"k\": \"one\",\n+    \"k\": \"two\",",
        "test         patch  configmaps default/a → 200 @",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[kubewright_testkit::test]
async fn an_object_that_does_not_come_is_told_to_be_missing() {
    let cluster = TestCluster::start();
    let text = message(async {
        cluster.wait_for::<Deployment>("web", |_| true).await;
    })
    .await;
    assert!(text.contains("deployments.apps web did not come"), "{text}");
    assert!(text.contains("there is no such object"), "{text}");
}
