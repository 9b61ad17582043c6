//! Killed between any two writes and started again, the operator reaches the same end.

use std::time::Duration;

use app_operator::api::App;
use app_operator::manager;
use kubewright::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kubewright::k8s_openapi::api::networking::v1::Ingress;
use kubewright::kube::ResourceExt as _;
use kubewright_testkit::{Crash, TestCluster};

use crate::{SAMPLE, is_ready, many};

/// How many objects of each kind there are, the cluster's own ConfigMaps and Services apart.
async fn census(cluster: &TestCluster) -> [usize; 6] {
    let own = |name: String| name != "kube-root-ca.crt" && name != "kubernetes";
    [
        cluster
            .list::<ConfigMap>()
            .await
            .iter()
            .filter(|c| own(c.name_any()))
            .count(),
        cluster.list::<Deployment>().await.len(),
        cluster.list::<ReplicaSet>().await.len(),
        cluster.list::<Pod>().await.len(),
        cluster
            .list::<Service>()
            .await
            .iter()
            .filter(|s| own(s.name_any()))
            .count(),
        cluster.list::<Ingress>().await.len(),
    ]
}

#[kubewright_testkit::test]
async fn killed_at_any_write_and_started_again_it_reaches_the_same_end() {
    // More writes than one App takes until it is ready, so that every one of them is hit.
    for write in 1..=12 {
        for crash in [Crash::BeforeWrite(write), Crash::AfterWrite(write)] {
            let cluster = TestCluster::start();
            let first = cluster.operator(manager()).replica("first").crash(crash).start().await;
            cluster.apply_yaml(SAMPLE).await;
            tokio::time::sleep(Duration::from_secs(30)).await;
            first.crash();

            let second = cluster.operator(manager()).replica("second").start().await;
            cluster.wait_for::<App>("hello", is_ready).await;
            cluster.settled(Duration::from_secs(5)).await;
            assert_eq!(
                census(&cluster).await,
                [1, 1, 1, 2, 1, 1],
                "{crash:?}\n{}",
                cluster.story().tail(40)
            );
            second.stop().await;
        }
    }
}

#[kubewright_testkit::test]
async fn killed_while_many_apps_converge_it_leaves_no_duplicates() {
    let cluster = TestCluster::start();
    let first = cluster.operator(manager()).crash(Crash::AfterWrite(250)).start().await;
    many(&cluster, 100).await;
    cluster
        .eventually("the first replica dies", || async { !first.is_running() })
        .await;

    let second = cluster.run(manager()).await;
    cluster.settled(Duration::from_secs(5)).await;
    let apps = cluster.list::<App>().await;
    assert_eq!(apps.iter().filter(|app| is_ready(app)).count(), 100);
    assert_eq!(census(&cluster).await, [100, 100, 100, 100, 100, 0]);
    second.stop().await;
}
