//! Namespaces: what they are born with, and how they go.

use serde_json::json;

use crate::cluster::{Cluster, deployment};

async fn with_namespace() -> Cluster {
    let cluster = Cluster::simulated();
    cluster
        .create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
        )
        .await;
    cluster
}

#[tokio::test(start_paused = true)]
async fn a_namespace_has_a_default_service_account_that_comes_back() {
    let cluster = with_namespace().await;
    let account = "/api/v1/namespaces/n/serviceaccounts/default";
    let first = cluster.until(account, |a| !a.is_null()).await;
    cluster.delete(account, "Background").await;
    let second = cluster
        .until(account, |a| {
            !a.is_null() && a["metadata"]["uid"] != first["metadata"]["uid"]
        })
        .await;
    assert_eq!(second["metadata"]["name"], "default");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_empties_and_goes() {
    let cluster = with_namespace().await;
    cluster
        .create(
            "/apis/apps/v1/namespaces/n/deployments",
            &deployment(2, "app:1", &json!({})),
        )
        .await;
    let web = "/apis/apps/v1/namespaces/n/deployments/web";
    cluster.until(web, |d| d["status"]["readyReplicas"] == 2).await;
    cluster.delete("/api/v1/namespaces/n", "Background").await;
    cluster.until_gone("/api/v1/namespaces/n").await;
    for left in ["pods", "configmaps", "serviceaccounts", "events"] {
        assert!(
            cluster.list(&format!("/api/v1/namespaces/n/{left}")).await.is_empty(),
            "{left}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_in_a_namespace_holds_it_and_shows_in_its_conditions() {
    let cluster = with_namespace().await;
    let held =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/f"]}});
    cluster.create("/api/v1/namespaces/n/configmaps", &held).await;
    cluster.delete("/api/v1/namespaces/n", "Background").await;
    let remaining = |n: &serde_json::Value| crate::cluster::has(n, "NamespaceFinalizersRemaining", "True");
    cluster.until("/api/v1/namespaces/n", remaining).await;
    cluster
        .patch(
            "/api/v1/namespaces/n/configmaps/held",
            &json!({"metadata": {"finalizers": null}}),
        )
        .await;
    cluster.until_gone("/api/v1/namespaces/n").await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_refuses_what_does_not_fit_and_counts_what_comes_and_goes() {
    let cluster = Cluster::simulated();
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}},
    });
    cluster.create(quotas, &quota).await;
    let path = format!("{quotas}/few");
    cluster.until(&path, |q| q["status"]["used"]["pods"] == "0").await;
    cluster
        .create(
            "/apis/apps/v1/namespaces/default/deployments",
            &deployment(3, "app:1", &json!({})),
        )
        .await;
    let web = "/apis/apps/v1/namespaces/default/deployments/web";
    let failing = cluster
        .until(web, |d| crate::cluster::has(d, "ReplicaFailure", "True"))
        .await;
    assert_eq!(failing["metadata"]["name"], "web");
    cluster.until(&path, |q| q["status"]["used"]["pods"] == "2").await;
    cluster.patch(&path, &json!({"spec": {"hard": {"pods": "5"}}})).await;
    cluster
        .until(web, |d| {
            d["status"]["readyReplicas"] == 3 && !crate::cluster::has(d, "ReplicaFailure", "True")
        })
        .await;
    cluster
        .patch(&format!("{web}/scale"), &json!({"spec": {"replicas": 1}}))
        .await;
    cluster.until(&path, |q| q["status"]["used"]["pods"] == "1").await;
}
