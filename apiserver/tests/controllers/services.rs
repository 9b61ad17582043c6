//! Services: endpoints that follow their pods.

use serde_json::{Value, json};

use crate::cluster::{Cluster, DEPLOYMENTS, WEB, deployment};

const SLICES: &str =
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web";

fn addresses(slices: &Value) -> usize {
    let items = slices["items"].as_array().into_iter().flatten();
    items.map(|s| s["endpoints"].as_array().map_or(0, Vec::len)).sum()
}

#[tokio::test(start_paused = true)]
async fn a_service_gets_endpoints_and_slices_for_its_ready_pods() {
    let cluster = Cluster::simulated();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    cluster.create("/api/v1/namespaces/default/services", &service).await;
    cluster.create(DEPLOYMENTS, &deployment(2, "app:1", &json!({}))).await;
    let endpoints = "/api/v1/namespaces/default/endpoints/web";
    let ready = |e: &Value| e["subsets"][0]["addresses"].as_array().is_some_and(|a| a.len() == 2);
    let found = cluster.until(endpoints, ready).await;
    assert_eq!(found["subsets"][0]["ports"][0]["port"], 8080);
    cluster.until(SLICES, |l| addresses(l) == 2).await;
    cluster
        .patch(&format!("{WEB}/scale"), &json!({"spec": {"replicas": 1}}))
        .await;
    cluster.until(SLICES, |l| addresses(l) == 1).await;
    cluster
        .delete("/api/v1/namespaces/default/services/web", "Background")
        .await;
    cluster.until_gone(endpoints).await;
    cluster
        .until(SLICES, |l| l["items"].as_array().is_some_and(Vec::is_empty))
        .await;
}
