//! Converged means silent, and equal seeds mean equal histories.

use std::time::Duration;

use kubewright_apiserver::Simulate;
use serde_json::{Value, json};

use crate::cluster::{Cluster, DEPLOYMENTS, PODS, WEB, deployment};

#[tokio::test(start_paused = true)]
async fn nothing_is_written_once_everything_is_at_rest() {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(3, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 3).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let before = cluster.server.store().revision();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(cluster.server.store().revision(), before);
}

async fn history(seed: u64) -> Vec<Value> {
    let cluster = Cluster::start(Simulate::Full, seed);
    cluster.create(DEPLOYMENTS, &deployment(3, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 3).await;
    let mut objects = cluster.list(PODS).await;
    objects.extend(cluster.list("/api/v1/namespaces/default/events").await);
    objects.push(cluster.get(WEB).await);
    objects
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_objects_down_to_the_last_byte() {
    assert_eq!(history(7).await, history(7).await);
    assert_ne!(history(7).await, history(8).await);
}
