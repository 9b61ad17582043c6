//! Somebody else meddles with the children, and the operator without macros puts them right. One that forgot a line of
//! its declaration does not.

use std::sync::Arc;
use std::time::Duration;

use app_operator::api::App;
use app_operator::children;
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::{Action, Context, Declaration, Declare, Manager, Owns, Reconciler, Result, Writes};
use kubewright_testkit::{Actor, Fault, Snapshot, TestCluster, Violation, oracles};
use serde_json::json;

use crate::SAMPLE;

/// Writes its Service without watching it: `writes` instead of `owns`.
struct DoesNotWatch;

impl Declare for DoesNotWatch {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .name("app")
            .owns::<ConfigMap>()
            .writes::<Service>()
    }
}

impl Owns<ConfigMap> for DoesNotWatch {}
impl Writes<Service> for DoesNotWatch {}

impl Reconciler for DoesNotWatch {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(children::config_map(&app)).await?;
        cx.apply(children::service(&app)).await?;
        Ok(Action::await_change())
    }
}

fn good() -> Manager {
    no_macros::manager()
}

fn does_not_watch() -> Manager {
    Manager::new("no-macros").controller(DoesNotWatch)
}

/// An App is made, somebody else meddles, and ten minutes later all must be as without that.
async fn meddled(
    make: fn() -> Manager,
    told: &str,
    meddle: impl AsyncFn(&TestCluster, Actor),
) -> Result<(), Violation> {
    let calm = end(make, async |_, _| {})
        .await
        .1
        .expect("undisturbed, every rule holds");
    let (cluster, end) = end(make, meddle).await;
    let story = cluster.story().to_string();
    assert!(story.contains(told), "{told:?} is not told in\n{story}");
    oracles::same_end_state(&calm, &end?)
}

async fn end(
    make: fn() -> Manager,
    meddle: impl AsyncFn(&TestCluster, Actor),
) -> (TestCluster, Result<Snapshot, Violation>) {
    let cluster = TestCluster::start();
    let operator = cluster.run(make()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.advance(Duration::from_secs(60)).await;
    meddle(&cluster, cluster.actor("someone-else")).await;
    cluster.advance(Duration::from_secs(600)).await;
    let end = oracles::all(&cluster).await.map(|()| Snapshot::of(&cluster));
    operator.stop().await;
    (cluster, end)
}

fn found(result: Result<(), Violation>, oracle: &str) {
    let violation = result.expect_err("the mistake is found");
    assert_eq!(violation.oracle(), oracle, "{violation}");
}

#[kubewright_testkit::test]
async fn a_service_that_somebody_else_edits_is_put_right_unless_nobody_watches_it() {
    let told = "someone-else patch  services default/hello → 200";
    let edit = async |_: &TestCluster, other: Actor| {
        let patch = json!({ "spec": { "selector": { "app.kubernetes.io/name": "another" } } });
        other.edit::<Service>("hello", patch).await;
    };
    meddled(good, told, &edit).await.expect("the operator comes through");
    found(meddled(does_not_watch, told, &edit).await, "same_end_state");
}

#[kubewright_testkit::test]
async fn a_service_that_is_deleted_while_its_watch_is_cut_comes_back_unless_nobody_watches_it() {
    let told = "someone-else delete services default/hello → 200";
    let delete = async |cluster: &TestCluster, other: Actor| {
        cluster.inject(Fault::watch_cut_before_event().of("services").times(1));
        other.delete::<Service>("hello").await;
    };
    meddled(good, told, &delete).await.expect("the operator comes through");
    found(meddled(does_not_watch, told, &delete).await, "same_end_state");
}
