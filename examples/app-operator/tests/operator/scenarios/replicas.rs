//! Replicas that die, are paused, and whose clocks are wrong.

use app_operator::api::App;
use kubewright::Manager;
use kubewright::k8s_openapi::jiff::SignedDuration;
use kubewright_testkit::{Crash, Operator, Snapshot, TestCluster, Violation, oracles};
use serde_json::json;

use super::{MINUTE, Make, Moment, assert_told, calm_end, change, found, good, judged, naive, same_life};
use crate::SAMPLE;

/// The operator dies at a write, and is started again a minute later.
async fn crashed(make: Make, calm: &Snapshot, crash: Crash) -> Result<(), Violation> {
    let cluster = TestCluster::start();
    let first = cluster.operator(make(&cluster)).crash(crash).start().await;
    cluster.apply_yaml(SAMPLE).await;
    first.crashed().await;
    assert_told(&cluster, "crash");
    cluster.advance(MINUTE).await;
    let second = cluster.run(make(&cluster)).await;
    cluster.advance(MINUTE).await;
    change(&cluster).await;
    cluster.advance(10 * MINUTE).await;
    let end = judged(&cluster).await?;
    second.stop().await;
    oracles::same_end_state(calm, &end)
}

#[kubewright_testkit::test]
async fn a_crash_before_or_after_any_write_changes_nothing_unless_names_are_noted_afterwards() {
    let calm = calm_end(good).await;
    for write in 1..=4 {
        for crash in [Crash::BeforeWrite(write), Crash::AfterWrite(write)] {
            let lived = crashed(good, &calm, crash).await;
            lived.unwrap_or_else(|violation| panic!("{crash:?}: {violation}"));
        }
    }
    let calm = calm_end(naive::notes_the_name_afterwards).await;
    for crash in [Crash::AfterWrite(1), Crash::BeforeWrite(2)] {
        found(
            crashed(naive::notes_the_name_afterwards, &calm, crash).await,
            "same_end_state",
        );
    }
}

/// The leader is paused while the App changes, another replica takes over, and the first goes on.
async fn paused(make: impl Fn(&TestCluster, &str) -> Manager) -> Result<(), Violation> {
    let cluster = TestCluster::start();
    let start = async |name: &str| {
        let operator = cluster.operator(make(&cluster, name));
        operator.replica(name).leader_election().start().await
    };
    let first = start("a").await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.advance(MINUTE).await;
    let second = start("b").await;
    cluster.advance(MINUTE).await;

    change(&cluster).await;
    cluster.advance(MINUTE / 120).await;
    first.pause();
    cluster.advance(MINUTE).await;
    let again = json!({ "spec": { "config": { "GREETING": "good night" } } });
    cluster.patch::<App>("hello", again).await;
    cluster.advance(MINUTE).await;
    first.resume();
    cluster.advance(MINUTE).await;
    assert_told(&cluster, "is paused");
    let led = cluster.story().leadership().by("b").to_string();
    assert!(led.contains("leads"), "{led}");
    drop((first, second));
    oracles::one_writer_per_lease(&cluster)
}

#[kubewright_testkit::test]
async fn a_leader_that_was_paused_writes_nothing_when_it_goes_on_unless_it_goes_past_the_fence() {
    paused(|_, _| app_operator::manager())
        .await
        .expect("only the holder of the Lease writes");
    found(paused(naive::writes_past_the_fence).await, "one_writer_per_lease");
}

#[kubewright_testkit::test]
async fn a_clock_that_is_set_back_changes_nothing_unless_one_waits_by_it() {
    let jump = async |_: &TestCluster, operator: &Operator, moment: Moment| {
        if moment == Moment::Before {
            operator.jump_clock(SignedDuration::from_hours(-1));
        }
    };
    let told = "has its clock moved";
    same_life(good, told, &jump).await.expect("the operator comes through");
    found(
        same_life(naive::trusts_the_wall_clock, told, &jump).await,
        "same_end_state",
    );
}
