//! Simulated workloads do what they are told.

use std::time::Duration;

use kubewright::k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};

fn workload(kind: &str, name: &str, fields: &Value) -> Value {
    let mut spec = json!({
        "selector": { "matchLabels": { "app": name } },
        "template": {
            "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": "app", "image": "nginx" }] },
        },
    });
    for (field, value) in fields.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name, "namespace": "default" }, "spec": spec,
    })
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "default" },
        "spec": { "backoffLimit": 1, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "app", "image": "nginx" }],
        } } },
    })
}

fn ready(deployment: &Deployment) -> i32 {
    deployment.status.as_ref().and_then(|s| s.ready_replicas).unwrap_or(0)
}

/// The reason that the pods' first containers wait or have ended with.
async fn reasons(cluster: &TestCluster) -> Vec<String> {
    let reason = |pod: Pod| {
        let state = pod.status?.container_statuses?.first()?.state.clone()?;
        let waiting = state.waiting.and_then(|w| w.reason);
        waiting.or(state.terminated.and_then(|t| t.reason))
    };
    cluster.list::<Pod>().await.into_iter().filter_map(reason).collect()
}

#[kubewright_testkit::test]
async fn a_held_deployment_is_not_ready_until_it_is_released_and_can_be_held_again() {
    let cluster = TestCluster::start();
    cluster.workloads().hold("web");
    cluster
        .apply(&workload("Deployment", "web", &json!({ "replicas": 2 })))
        .await;
    cluster
        .wait_for_fields::<Deployment>("web", json!({ "status": { "replicas": 2, "unavailableReplicas": 2 } }))
        .await;
    cluster
        .stays("no pod is ready", Duration::from_secs(300), || async {
            cluster.get::<Deployment>("web").await.is_some_and(|d| ready(&d) == 0)
        })
        .await;
    cluster.workloads().release("default/web");
    cluster.wait_for::<Deployment>("web", |d| ready(d) == 2).await;
    cluster.workloads().hold("default/web");
    cluster.wait_for::<Deployment>("web", |d| ready(d) == 0).await;
}

#[kubewright_testkit::test]
async fn a_workload_can_become_ready_late() {
    let cluster = TestCluster::start();
    cluster.workloads().ready_after("default/db", Duration::from_secs(40));
    cluster
        .apply(&workload("StatefulSet", "db", &json!({ "serviceName": "db" })))
        .await;
    let ready = |s: &StatefulSet| s.status.as_ref().and_then(|s| s.ready_replicas) == Some(1);
    let began = cluster.now();
    cluster.wait_for::<StatefulSet>("db", ready).await;
    let took = cluster.now().duration_since(began).as_secs();
    assert!((40..60).contains(&took), "{took}");
}

#[kubewright_testkit::test]
async fn running_pods_crash_when_told_so_and_wait_in_back_off_until_they_are_released() {
    let cluster = TestCluster::start();
    cluster.apply(&workload("DaemonSet", "agent", &json!({}))).await;
    let ready = |d: &DaemonSet| d.status.as_ref().map(|s| s.number_ready);
    cluster.wait_for::<DaemonSet>("agent", |d| ready(d) == Some(1)).await;
    cluster.workloads().crash_loop("agent");
    cluster.wait_for::<DaemonSet>("agent", |d| ready(d) == Some(0)).await;
    assert_eq!(reasons(&cluster).await, ["CrashLoopBackOff"]);
    cluster.workloads().release("agent");
    cluster.wait_for::<DaemonSet>("agent", |d| ready(d) == Some(1)).await;
}

#[kubewright_testkit::test]
async fn containers_fail_with_the_reason_that_was_given() {
    let cluster = TestCluster::start();
    cluster.apply(&workload("Deployment", "web", &json!({}))).await;
    cluster.wait_for::<Deployment>("web", |d| ready(d) == 1).await;
    cluster.workloads().fail("web", "OOMKilled");
    cluster.wait_for::<Deployment>("web", |d| ready(d) == 0).await;
    let ended = |pod: &Pod| {
        let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?.clone();
        status.last_state?.terminated?.reason
    };
    let pods = cluster.list::<Pod>().await;
    assert_eq!(pods.iter().find_map(ended).as_deref(), Some("OOMKilled"));
    cluster.workloads().fail_to_pull("web");
    cluster
        .delete::<Pod>(pods[0].metadata.name.as_deref().expect("a name"))
        .await;
    cluster
        .eventually("the next pod cannot pull its image", || async {
            reasons(&cluster).await == ["ImagePullBackOff"]
        })
        .await;
}

#[kubewright_testkit::test]
async fn jobs_run_on_finish_and_fail_as_told() {
    let cluster = TestCluster::start();
    for name in ["a", "b"] {
        cluster.workloads().hold(name);
        cluster.apply(&job(name)).await;
    }
    cluster.advance(Duration::from_secs(600)).await;
    let count = |job: &Job| {
        let status = job.status.clone().unwrap_or_default();
        (
            status.active.unwrap_or(0),
            status.succeeded.unwrap_or(0),
            status.failed.unwrap_or(0),
        )
    };
    for name in ["a", "b"] {
        let job = cluster.get::<Job>(name).await.expect("applied");
        assert_eq!(count(&job), (1, 0, 0), "{name}");
    }
    cluster.workloads().finish("a");
    cluster.workloads().fail("b", "Error");
    cluster.wait_for::<Job>("a", |job| count(job) == (0, 1, 0)).await;
    // One retry, as its backoffLimit says.
    cluster.wait_for::<Job>("b", |job| count(job) == (0, 0, 2)).await;
}
