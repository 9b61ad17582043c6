//! Operators that are always busy: on paused time a test of one would never end.

use kubewright::kube::api::Api;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;

use crate::support::{App, put};

#[kubewright_testkit::test(latency = "none")]
#[should_panic(
    expected = "spinner sent the same request 5001 times at one instant of the test's time, the last time `get"
)]
async fn a_client_that_asks_again_at_once_ends_the_test() {
    let cluster = TestCluster::start();
    let maps = Api::<ConfigMap>::namespaced(cluster.client_named("spinner"), "default");
    while maps.get_opt("a").await.expect("it answers").is_none() {}
}

/// Runs every second for an hour and a half, which is often, but not busy.
#[controller(for = App, name = "app")]
struct EverySecond;

impl Reconciler for EverySecond {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::requeue(Duration::from_secs(1)))
    }
}

#[kubewright_testkit::test]
async fn an_operator_that_runs_every_second_may_go_on_for_as_long_as_the_test_likes() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("patient").controller(EverySecond)).await;
    put(&cluster, "a", "one").await;
    cluster.advance(Duration::from_secs(5400)).await;
    assert!(cluster.story().reconciles("default/a").len() > 5_000);
    operator.stop().await;
}
