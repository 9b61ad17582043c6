//! From the first apply to the last child gone.

use std::collections::BTreeMap;
use std::time::Duration;

use app_operator::api::App;
use app_operator::manager;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kubewright::k8s_openapi::api::events::v1::Event;
use kubewright::k8s_openapi::api::networking::v1::Ingress;
use kubewright::kube::ResourceExt as _;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::{SAMPLE, is_ready};

#[kubewright_testkit::test]
async fn an_app_becomes_ready_once_its_pods_are_available() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;

    let app = cluster.wait_for::<App>("hello", is_ready).await;
    let status = app.status.expect("a ready App has a status");
    assert_eq!((status.replicas, status.ready_replicas), (2, 2));
    assert_eq!(status.url.as_deref(), Some("http://hello.example/"));
    let config = cluster.get::<ConfigMap>("hello").await.expect("the ConfigMap is there");
    assert_eq!(config.data.expect("it has data")["GREETING"], "hello");
    for owners in [
        cluster
            .get::<Deployment>("hello")
            .await
            .map(|d| d.owner_references().to_vec()),
        cluster
            .get::<Service>("hello")
            .await
            .map(|s| s.owner_references().to_vec()),
        cluster
            .get::<Ingress>("hello")
            .await
            .map(|i| i.owner_references().to_vec()),
    ] {
        let owners = owners.expect("the child is there");
        assert_eq!((&*owners[0].kind, owners[0].controller), ("App", Some(true)));
    }
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_converged_operator_sends_nothing_but_watches() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;
    cluster.settled(Duration::from_secs(2)).await;

    let before = operator.requests().beyond_watches_and_leases().count();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let after = operator.requests().beyond_watches_and_leases();
    assert_eq!(after.count(), before, "{}", after.since(before));
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn an_optional_child_goes_when_the_spec_no_longer_asks_for_it() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<Ingress>("hello", |_| true).await;

    cluster
        .patch::<App>("hello", json!({ "spec": { "ingress": null } }))
        .await;
    cluster.wait_gone::<Ingress>("hello").await;
    let app = cluster.wait_for::<App>("hello", is_ready).await;
    assert_eq!(app.status.and_then(|s| s.url), None);
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_change_of_the_spec_reaches_the_children() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;

    cluster
        .patch::<App>(
            "hello",
            json!({ "spec": { "image": "nginx:2", "config": { "GREETING": null } } }),
        )
        .await;
    cluster
        .wait_for::<Deployment>("hello", |d| {
            let spec = d.spec.as_ref().and_then(|s| s.template.spec.as_ref());
            spec.is_some_and(|s| s.containers[0].image.as_deref() == Some("nginx:2"))
        })
        .await;
    cluster
        .wait_for::<ConfigMap>("hello", |c| c.data.as_ref().is_none_or(BTreeMap::is_empty))
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn what_someone_changes_on_a_child_is_put_right() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;

    cluster
        .patch::<Service>(
            "hello",
            json!({ "spec": { "selector": { "app.kubernetes.io/name": "other" } } }),
        )
        .await;
    cluster
        .wait_for::<Service>("hello", |s| {
            let selector = s.spec.as_ref().and_then(|s| s.selector.as_ref());
            selector.is_some_and(|s| s["app.kubernetes.io/name"] == "hello")
        })
        .await;
    cluster.delete::<Service>("hello").await;
    cluster
        .wait_for::<Service>("hello", |s| s.metadata.deletion_timestamp.is_none())
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_deleted_app_is_taken_out_of_service_before_its_pods_go() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;

    cluster.delete::<App>("hello").await;
    cluster.wait_gone::<App>("hello").await;
    cluster
        .eventually("nothing of the App is left", || async {
            cluster
                .list::<ConfigMap>()
                .await
                .iter()
                .all(|c| c.name_any() != "hello")
                && cluster.list::<Deployment>().await.is_empty()
                && cluster.list::<Pod>().await.is_empty()
        })
        .await;
    let deletes: Vec<String> = operator
        .requests()
        .filter(|r| r.verb == "delete" && r.code < 400)
        .iter()
        .map(|r| r.resource.clone())
        .collect();
    assert_eq!(deletes, ["ingresses", "services", "deployments"]);
    cluster
        .eventually("the clean-up is told in an event", || async {
            cluster
                .list::<Event>()
                .await
                .iter()
                .any(|e| e.reason.as_deref() == Some("Drained"))
        })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_spec_that_breaks_the_schema_is_refused_at_the_door() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let refused = cluster
        .try_apply_yaml(&SAMPLE.replace("replicas: 2", "replicas: -1"))
        .await;
    let message = refused.expect_err("replicas are never negative").to_string();
    assert!(message.contains("spec.replicas"), "{message}");
    operator.stop().await;
}
