//! Time that costs nothing.

use std::time::Duration;

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright_testkit::{Simulate, TestCluster};
use tokio::time::Instant;

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: nginx }] }
";

fn available(deployment: &Deployment, count: i32) -> bool {
    deployment.status.as_ref().and_then(|s| s.available_replicas) == Some(count)
}

#[kubewright_testkit::test]
async fn pods_of_a_deployment_become_available_in_the_clusters_time(cluster: TestCluster) {
    let began = Instant::now();
    cluster.apply_yaml(DEPLOYMENT).await;
    cluster.wait_for::<Deployment>("web", |d| available(d, 2)).await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(cluster.list::<Pod>().await.len(), 2);
}

#[kubewright_testkit::test]
async fn without_simulation_a_deployment_stays_as_it_was_written() {
    let cluster = TestCluster::builder().simulate(Simulate::Off).start();
    cluster.apply_yaml(DEPLOYMENT).await;
    cluster
        .stays("there are no pods", Duration::from_secs(600), || async {
            cluster.list::<Pod>().await.is_empty()
        })
        .await;
}

#[kubewright_testkit::test]
async fn the_same_seed_gives_the_same_names_and_another_seed_others() {
    async fn names(seed: u64) -> Vec<String> {
        let cluster = TestCluster::builder().seed(seed).start();
        cluster.apply_yaml(DEPLOYMENT).await;
        cluster.wait_for::<Deployment>("web", |d| available(d, 2)).await;
        let pods = cluster.list::<Pod>().await;
        pods.into_iter().filter_map(|pod| pod.metadata.name).collect()
    }
    let first = names(7).await;
    assert_eq!(first, names(7).await);
    assert_ne!(first, names(8).await);
}

#[kubewright_testkit::test]
async fn an_hour_of_nothing_is_an_instant(cluster: TestCluster) {
    cluster.apply_yaml(DEPLOYMENT).await;
    cluster.wait_for::<Deployment>("web", |d| available(d, 2)).await;
    let before = cluster.env().now();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let passed = cluster.env().now().duration_since(before);
    assert_eq!(passed.as_secs(), 3600);
}
