//! An hour of a cluster in which something happens each minute.

use std::time::Duration;

use app_operator::api::{App, AppStatus};
use app_operator::children;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::Failure;

/// What the example operator does, every ten minutes even where nothing has changed.
#[controller(
    for = App,
    owns = [ConfigMap, Deployment, Service, Ingress],
    workers = 4,
    finalizer = "demo.dev/drain",
    resync = "10m"
)]
struct Resynced;

impl Reconciler for Resynced {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(children::config_map(&app)).await?;
        let deployment = cx.apply(children::deployment(&app)).await?;
        cx.apply(children::service(&app)).await?;
        cx.apply_set(children::ingress(&app)).await?;
        let of = deployment.status.clone().unwrap_or_default();
        cx.apply_status(AppStatus {
            observed_generation: app.metadata.generation,
            replicas: of.replicas.unwrap_or(0),
            ready_replicas: of.ready_replicas.unwrap_or(0),
            ..AppStatus::default()
        })
        .await?;
        Ok(Action::await_change())
    }
}

impl Cleanup for Resynced {
    async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// 20 Apps, one of them changed each minute.
pub(super) async fn run() -> Result<(), Failure> {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("app-operator").controller(Resynced)).await;
    put(&cluster, 20).await;
    for minute in 0..60 {
        cluster.advance(Duration::from_secs(60)).await;
        let change = json!({ "spec": { "config": { "MINUTE": minute.to_string() } } });
        cluster.patch::<App>(&format!("app-{}", minute % 20), change).await;
    }
    cluster.settled(Duration::from_secs(2)).await;
    all_ready(&cluster).await?;
    operator.stop().await;
    Ok(())
}

/// Apps with one pod each.
pub(super) async fn put(cluster: &TestCluster, count: usize) {
    for i in 0..count {
        cluster
            .apply(&json!({
                "apiVersion": "demo.dev/v1", "kind": "App",
                "metadata": { "name": format!("app-{i}"), "namespace": "default" },
                "spec": { "image": "nginx" },
            }))
            .await;
    }
}

/// Every App is ready.
///
/// # Errors
/// When one is not.
pub(super) async fn all_ready(cluster: &TestCluster) -> Result<(), Failure> {
    for app in cluster.list::<App>().await {
        if app.status.unwrap_or_default().ready_replicas != app.spec.replicas {
            return Err(format!("{:?} is not ready", app.metadata.name).into());
        }
    }
    Ok(())
}
