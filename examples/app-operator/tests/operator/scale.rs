//! Many Apps, several replicas of the operator, the scale subresource.

use std::time::Duration;

use app_operator::api::App;
use app_operator::manager;
use kubewright::diagnostics::Leadership;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright_testkit::{TestCluster, What};
use serde_json::json;
use tokio::time::Instant;

use crate::{SAMPLE, is_ready, many};

#[kubewright_testkit::test]
async fn a_thousand_apps_converge_and_then_there_is_silence() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    many(&cluster, 1000).await;
    cluster.settled(Duration::from_secs(2)).await;
    let apps = cluster.list::<App>().await;
    assert_eq!(apps.iter().filter(|app| is_ready(app)).count(), 1000);

    let before = operator.requests().beyond_watches_and_leases().count();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let after = operator.requests().beyond_watches_and_leases();
    assert_eq!(after.count(), before, "{}", after.since(before));
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn the_scale_subresource_scales_the_pods() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;

    let path = "/apis/demo.dev/v1/namespaces/default/apps/hello/scale";
    let patch = json!({ "spec": { "replicas": 3 } }).to_string().into_bytes();
    let request = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(patch)
        .expect("a valid request");
    let scale: serde_json::Value = cluster.client().request(request).await.expect("scaled");
    assert_eq!(scale["status"]["selector"], "app.kubernetes.io/name=hello");
    let three = |d: &Deployment| d.status.as_ref().is_some_and(|s| s.available_replicas == Some(3));
    cluster.wait_for::<Deployment>("hello", three).await;
    cluster
        .wait_for::<App>("hello", |app| {
            is_ready(app) && app.status.as_ref().is_some_and(|s| s.ready_replicas == 3)
        })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_killed_leader_is_followed_within_twenty_seconds_and_a_stopped_one_within_three() {
    let cluster = TestCluster::start();
    let first = cluster.operator(manager()).replica("a").leader_election().start().await;
    leads(&cluster, "a").await;
    let second = cluster.operator(manager()).replica("b").leader_election().start().await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;

    first.crash();
    let killed = Instant::now();
    leads(&cluster, "b").await;
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());

    let third = cluster.operator(manager()).replica("c").leader_election().start().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let stopped = Instant::now();
    second.stop().await;
    leads(&cluster, "c").await;
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());

    cluster
        .patch::<App>("hello", json!({ "spec": { "replicas": 1 } }))
        .await;
    cluster
        .wait_for::<App>("hello", |app| {
            is_ready(app) && app.status.as_ref().is_some_and(|s| s.ready_replicas == 1)
        })
        .await;
    third.stop().await;
}

/// Waits until the replica leads.
async fn leads(cluster: &TestCluster, replica: &str) {
    let led = |entry: &kubewright_testkit::Entry| {
        &*entry.replica == replica && matches!(entry.what, What::Leadership(Leadership::Leading))
    };
    cluster
        .eventually(&format!("replica {replica} leads"), || async {
            cluster.story().entries().iter().any(led)
        })
        .await;
}
