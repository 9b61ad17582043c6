//! Simulated workloads: Deployments and the rest, from creation to the last pod.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, DEPLOYMENTS, PODS, SETS, WEB, deployment, has};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

#[tokio::test(start_paused = true)]
async fn a_deployment_of_three_becomes_available() {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(3, "app:1", &json!({}))).await;
    let web = cluster
        .until(WEB, |d| {
            has(d, "Available", "True") && d["status"]["readyReplicas"] == 3
        })
        .await;
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    assert_eq!(web["status"]["observedGeneration"], 1);
    for pod in cluster.list(PODS).await {
        assert_eq!(pod["spec"]["nodeName"], "kubewright");
        assert_eq!(pod["status"]["phase"], "Running");
        assert!(pod["status"]["podIP"].is_string());
    }
    let events = cluster.list("/api/v1/namespaces/default/events").await;
    let reasons: Vec<_> = events.iter().filter_map(|e| e["reason"].as_str()).collect();
    assert!(
        reasons.contains(&"ScalingReplicaSet") && reasons.contains(&"SuccessfulCreate"),
        "{reasons:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn scaling_adds_and_removes_pods() {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(1, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 1).await;
    cluster
        .patch(&format!("{WEB}/scale"), &json!({"spec": {"replicas": 4}}))
        .await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 4).await;
    assert_eq!(cluster.list(SETS).await.len(), 1);
    cluster
        .patch(&format!("{WEB}/scale"), &json!({"spec": {"replicas": 0}}))
        .await;
    cluster
        .until(PODS, |l| l["items"].as_array().is_some_and(Vec::is_empty))
        .await;
    cluster
        .until(WEB, |d| {
            has(d, "Available", "True") && d["status"]["replicas"].is_null()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_template_rolls_without_going_below_what_must_be_available() {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(4, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 4).await;
    let template = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}});
    cluster.patch(WEB, &template).await;
    let available = |d: &Value| d["status"]["availableReplicas"].as_i64().unwrap_or(0);
    cluster
        .until(WEB, |d| {
            assert!(available(d) >= 3, "{:#}", d["status"]);
            d["status"]["observedGeneration"] == 2
                && d["status"]["updatedReplicas"] == 4
                && d["status"]["replicas"] == 4
        })
        .await;
    let sets = cluster.list(SETS).await;
    assert_eq!(sets.len(), 2);
    cluster
        .until(PODS, |l| l["items"].as_array().is_some_and(|i| i.len() == 4))
        .await;
    for pod in cluster.list(PODS).await {
        assert_eq!(pod["spec"]["containers"][0]["image"], "app:2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_gets_ready_keeps_its_deployment_unavailable() {
    let cluster = Cluster::simulated();
    let never = json!({"simulate.kubewright.dev/ready": "never"});
    let mut object = deployment(1, "app:1", &never);
    object["spec"]["progressDeadlineSeconds"] = 20.into();
    cluster.create(DEPLOYMENTS, &object).await;
    let web = cluster.until(WEB, |d| has(d, "Progressing", "False")).await;
    assert!(has(&web, "Available", "False"));
    let later = json!({"spec": {"template": {"metadata": {"annotations": {"simulate.kubewright.dev/ready": "5s"}}}}});
    cluster.patch(WEB, &later).await;
    let start = tokio::time::Instant::now();
    cluster.until(WEB, |d| has(d, "Available", "True")).await;
    assert!(start.elapsed() >= Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_replaced() {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(2, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 2).await;
    let first = cluster.names(PODS).await.remove(0);
    cluster.delete(&format!("{PODS}/{first}"), "Background").await;
    cluster.until_gone(&format!("{PODS}/{first}")).await;
    cluster
        .until(WEB, |d| {
            d["status"]["readyReplicas"] == 2 && d["status"]["terminatingReplicas"] == 0
        })
        .await;
    assert!(!cluster.names(PODS).await.contains(&first));
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_to_completion_and_a_failing_one_to_its_backoff_limit() {
    let cluster = Cluster::simulated();
    let job = |name: &str, code: &str| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 1, "completions": 2, "template": {
                "metadata": {"annotations": {"simulate.kubewright.dev/exit-code": code}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
            }},
        })
    };
    cluster.create(JOBS, &job("good", "0")).await;
    cluster.create(JOBS, &job("bad", "3")).await;
    let good = cluster
        .until(&format!("{JOBS}/good"), |j| has(j, "Complete", "True"))
        .await;
    assert_eq!(good["status"]["succeeded"], 2);
    let bad = cluster
        .until(&format!("{JOBS}/bad"), |j| has(j, "Failed", "True"))
        .await;
    assert_eq!(bad["status"]["failed"], 2);
    for pod in cluster.list(PODS).await {
        assert!(pod["metadata"]["finalizers"].is_null(), "{pod:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_makes_its_pods_in_order_with_their_claims() {
    let cluster = Cluster::simulated();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    });
    cluster
        .create("/apis/apps/v1/namespaces/default/statefulsets", &set)
        .await;
    let path = "/apis/apps/v1/namespaces/default/statefulsets/db";
    cluster.until(path, |s| s["status"]["readyReplicas"] == 2).await;
    assert_eq!(cluster.names(PODS).await, ["db-0", "db-1"]);
    let claims = cluster.list("/api/v1/namespaces/default/persistentvolumeclaims").await;
    assert_eq!(claims.len(), 2);
    assert_eq!(claims[0]["status"]["phase"], "Bound");
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_every_node() {
    let cluster = Cluster::simulated();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
            "metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    });
    cluster
        .create("/apis/apps/v1/namespaces/default/daemonsets", &set)
        .await;
    let path = "/apis/apps/v1/namespaces/default/daemonsets/agent";
    cluster.until(path, |s| s["status"]["numberReady"] == 1).await;
    cluster
        .create(
            "/api/v1/nodes",
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}}),
        )
        .await;
    cluster.until(path, |s| s["status"]["numberReady"] == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_makes_a_job_every_minute_and_keeps_few() {
    let cluster = Cluster::simulated();
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
        "spec": {"schedule": "* * * * *", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": {"template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        }}}},
    });
    cluster
        .create("/apis/batch/v1/namespaces/default/cronjobs", &cron)
        .await;
    tokio::time::sleep(Duration::from_secs(190)).await;
    assert_eq!(cluster.names(JOBS).await.len(), 1);
    let tick = cluster.get("/apis/batch/v1/namespaces/default/cronjobs/tick").await;
    assert_eq!(tick["status"]["lastScheduleTime"], "2026-01-01T00:03:00Z");
}
