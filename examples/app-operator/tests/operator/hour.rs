//! An hour of a busy cluster, in no time.

use std::time::Duration;

use app_operator::api::{App, AppStatus};
use app_operator::children;
use kubewright::diagnostics::Reason;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::many;

const APPS: usize = 20;

/// What an hour may cost, in CPU time. `kubewright-bench testkit` measures a release build, which is held to one second; a
/// debug build of all that a test runs takes some eight seconds, and more on a machine that is busy otherwise.
const LIMIT: Duration = Duration::from_secs(25);

/// What the operator does, every ten minutes even where nothing has changed.
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

#[kubewright_testkit::test]
async fn an_hour_of_twenty_apps_with_resyncs_and_a_change_a_minute_costs_next_to_nothing() {
    let began = cpu_time();
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("app-operator").controller(Resynced)).await;
    many(&cluster, APPS).await;
    for minute in 0..60 {
        cluster.advance(Duration::from_secs(60)).await;
        let change = json!({ "spec": { "config": { "MINUTE": minute.to_string() } } });
        cluster.patch::<App>(&format!("app-{}", minute % APPS), change).await;
    }
    cluster.settled(Duration::from_secs(2)).await;

    let maps = cluster.list::<ConfigMap>().await;
    let told = maps
        .iter()
        .filter(|map| map.data.iter().flatten().any(|(key, _)| key == "MINUTE"));
    assert_eq!(told.count(), APPS, "every App was changed, and its ConfigMap with it");
    // Five times each, but that a run for another reason takes the place of a resync that is due within the same minute.
    let runs = cluster.story().runs();
    let resyncs = runs
        .iter()
        .filter(|run| run.reasons.as_slice().contains(&Reason::Resync));
    let resyncs = resyncs.count();
    assert!(resyncs >= APPS * 5 - 10, "the Apps were resynced {resyncs} times");
    operator.stop().await;
    let took = cpu_time().saturating_sub(began);
    assert!(
        took < LIMIT,
        "an hour took {took:?} of CPU time, and may take {LIMIT:?}"
    );
}

/// What this process has computed. It asks the machine, whose clock of processes no test moves.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        now.tv_sec.try_into().expect("not negative"),
        now.tv_nsec.try_into().expect("less than a second"),
    )
}
