//! What the echoes of a key's own writes do, under both settings of `own_events`: invariants 2 and 7.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, AppStatus, Notes, config_map, holds, put};

/// Applies a ConfigMap and the status; after its last write it takes as long as the App's label `slow` says.
async fn apply_both<C>(notes: &Notes, app: &App, cx: &Context<C>) -> Result<Action>
where
    C: Declare<Primary = App> + Owns<ConfigMap>,
{
    notes.add(format!("saw {}", app.spec.value));
    let seconds = |label: &str| {
        app.labels()
            .get(label)
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    };
    sleep(Duration::from_secs(seconds("before"))).await;
    cx.apply(config_map(app)).await?;
    let seen = app.spec.value.clone();
    cx.apply_status(AppStatus { seen }).await?;
    sleep(Duration::from_secs(seconds("after"))).await;
    Ok(Action::await_change())
}

#[controller(for = App, owns = ConfigMap)]
struct Waking(Notes);

impl Reconciler for Waking {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        apply_both(&self.0, &app, cx).await
    }
}

#[controller(for = App, owns = ConfigMap, own_events = skip)]
struct Skipping(Notes);

impl Reconciler for Skipping {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        apply_both(&self.0, &app, cx).await
    }
}

fn skipping(notes: &Notes) -> Manager {
    Manager::new("echoes").controller(Skipping(notes.clone()))
}

#[kubewright_testkit::test]
async fn an_own_write_wakes_its_key_once_more_by_default_and_not_at_all_under_skip() {
    let notes = Notes::default();
    for (manager, expected) in [
        (Manager::new("echoes").controller(Waking(notes.clone())), 2),
        (skipping(&notes), 1),
    ] {
        let cluster = TestCluster::start();
        let operator = cluster.run(manager).await;
        for value in ["1", "2", "3"] {
            put(&cluster, "a", value).await;
            cluster.settled(Duration::from_secs(2)).await;
        }
        let runs = cluster.story().reconciles("default/a");
        assert_eq!(runs.len(), 3 * expected, "{}", cluster.story().tail(60));
        let echoes = runs.iter().filter(|run| run.reasons.are_own());
        assert_eq!(echoes.count(), 3 * (expected - 1), "each echo is told as one");
        let writes = operator
            .requests()
            .writes()
            .filter(|request| request.resource != "events");
        assert_eq!(
            writes.count(),
            6,
            "one apply and one status apply for each value:\n{writes}"
        );
        operator.stop().await;
    }
}

#[kubewright_testkit::test]
async fn changes_of_others_are_never_taken_for_own_ones_though_they_come_with_them() {
    for label in ["before", "after"] {
        let cluster = TestCluster::start();
        let notes = Notes::default();
        let operator = cluster.run(skipping(&notes)).await;
        put(&cluster, "a", "1").await;
        cluster.settled(Duration::from_secs(2)).await;
        let slow = json!({ "metadata": { "labels": { label: "4" } }, "spec": { "value": "2" } });
        cluster.patch::<App>("default/a", slow).await;
        sleep(Duration::from_secs(2)).await;
        // Under way: its writes come right after these, or right before.
        cluster
            .patch::<App>("default/a", json!({ "spec": { "value": "3" } }))
            .await;
        cluster
            .patch::<ConfigMap>("default/a", json!({ "data": { "value": "wrong", "more": "x" } }))
            .await;
        sleep(Duration::from_secs(30)).await;
        let map = cluster.get::<ConfigMap>("default/a").await.expect("it is there");
        assert!(
            holds(&map, "3"),
            "{label}: {:?}\n{}",
            map.data,
            cluster.story().tail(60)
        );
        let app = cluster.get::<App>("default/a").await.expect("it is there");
        assert_eq!(app.status.map(|status| status.seen).as_deref(), Some("3"), "{label}");
        operator.stop().await;
    }
}

#[kubewright_testkit::test]
async fn a_child_that_goes_and_a_status_that_others_change_are_put_right_under_skip() {
    let cluster = TestCluster::start();
    let operator = cluster.run(skipping(&Notes::default())).await;
    put(&cluster, "a", "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    cluster.delete::<ConfigMap>("default/a").await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    cluster.settled(Duration::from_secs(2)).await;
    let other = cluster.client_named("other");
    let apps: kube::Api<App> = kube::Api::namespaced(other, "default");
    let wrong = kube::api::Patch::Merge(json!({ "status": { "seen": "wrong" } }));
    apps.patch_status("a", &kube::api::PatchParams::default(), &wrong)
        .await
        .expect("it is written");
    let right = |app: &App| app.status.as_ref().is_some_and(|status| status.seen == "1");
    cluster.wait_for::<App>("default/a", right).await;
    operator.stop().await;
}

/// Counts its status up to 5, one step in each run.
async fn step<C: Declare<Primary = App>>(app: &App, cx: &Context<C>) -> Result<bool> {
    let at: u32 = app
        .status
        .as_ref()
        .and_then(|status| status.seen.parse().ok())
        .unwrap_or(0);
    if at == 5 {
        return Ok(false);
    }
    cx.apply_status(AppStatus {
        seen: (at + 1).to_string(),
    })
    .await?;
    Ok(true)
}

/// Goes on when its own status comes back.
#[controller(for = App)]
struct Steps;

impl Reconciler for Steps {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        step(&app, cx).await?;
        Ok(Action::await_change())
    }
}

/// Asks for its next turn.
#[controller(for = App, own_events = skip)]
struct AskingSteps;

impl Reconciler for AskingSteps {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        Ok(if step(&app, cx).await? {
            Action::requeue(Duration::ZERO)
        } else {
            Action::await_change()
        })
    }
}

#[kubewright_testkit::test]
async fn a_phase_machine_goes_on_by_its_own_status_or_by_asking_for_its_turn_under_skip() {
    for manager in [
        Manager::new("steps").controller(Steps),
        Manager::new("steps").controller(AskingSteps),
    ] {
        let cluster = TestCluster::start();
        let operator = cluster.run(manager).await;
        put(&cluster, "a", "1").await;
        let done = |app: &App| app.status.as_ref().is_some_and(|status| status.seen == "5");
        cluster.wait_for::<App>("default/a", done).await;
        cluster.settled(Duration::from_secs(2)).await;
        assert!(
            cluster.story().reconciles("default/a").len() <= 7,
            "{}",
            cluster.story().tail(60)
        );
        operator.stop().await;
    }
}
