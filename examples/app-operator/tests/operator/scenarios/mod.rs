//! Things that go wrong in the life of an App. Each scenario is played with the operator, which ends where it would
//! have ended anyway, and with one that makes a common mistake, which is found out.

mod naive;
mod others;
mod replicas;
mod requests;
mod server;
mod watches;

use std::time::Duration;

use app_operator::api::App;
use kubewright::Manager;
use kubewright_testkit::{Operator, Snapshot, TestCluster, Violation, oracles};
use serde_json::json;

use crate::SAMPLE;

const MINUTE: Duration = Duration::from_secs(60);

/// Makes an operator in a cluster.
type Make = fn(&TestCluster) -> Manager;

/// The operator as it is.
fn good(_: &TestCluster) -> Manager {
    app_operator::manager()
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The operator runs; there is no App yet.
    Before,
    /// The App is made, and ready if all went well.
    Made,
    /// The App was changed, and its operator has had a minute.
    Changed,
}

/// What is left of a life: the cluster, and its end if every rule held.
struct Lived {
    cluster: TestCluster,
    end: Result<Snapshot, Violation>,
}

/// An App is made, changed and left alone, while `disturb` has its way at each moment. What faults are left are healed
/// in the end; ten minutes later every rule must hold.
async fn life(make: Make, disturb: impl AsyncFn(&TestCluster, &Operator, Moment)) -> Lived {
    let cluster = TestCluster::start();
    let operator = cluster.run(make(&cluster)).await;
    disturb(&cluster, &operator, Moment::Before).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.advance(MINUTE).await;
    disturb(&cluster, &operator, Moment::Made).await;
    change(&cluster).await;
    cluster.advance(MINUTE).await;
    disturb(&cluster, &operator, Moment::Changed).await;
    for fault in cluster.faults() {
        fault.heal();
    }
    cluster.advance(10 * MINUTE).await;
    let end = judged(&cluster).await;
    Lived { cluster, end }
}

/// The change that the App goes through.
async fn change(cluster: &TestCluster) {
    let change = json!({ "spec": { "image": "nginx:2", "config": { "GREETING": "good day" } } });
    cluster.patch::<App>("hello", change).await;
}

async fn judged(cluster: &TestCluster) -> Result<Snapshot, Violation> {
    oracles::converged(cluster, 5 * MINUTE).await?;
    oracles::no_duplicates(cluster)?;
    oracles::no_orphans(cluster)?;
    oracles::nothing_foreign_written(cluster)?;
    oracles::bounded_requests(cluster, 300, Duration::from_secs(10))?;
    // Rights are the administrator's, who may write the same ones down in another way.
    Ok(Snapshot::of(cluster).without("ClusterRole app-operator"))
}

/// How a life ends that nothing disturbs. Even a naive operator keeps the rules then.
async fn calm_end(make: Make) -> Snapshot {
    let lived = life(make, async |_: &TestCluster, _: &Operator, _: Moment| {}).await;
    lived.end.expect("undisturbed, every rule holds")
}

/// A life must end as without its disturbance, of which the story must tell in these words.
async fn same_life(
    make: Make,
    told: &str,
    disturb: impl AsyncFn(&TestCluster, &Operator, Moment),
) -> Result<(), Violation> {
    let calm = calm_end(make).await;
    let disturbed = life(make, disturb).await;
    assert_told(&disturbed.cluster, told);
    oracles::same_end_state(&calm, &disturbed.end?)
}

fn assert_told(cluster: &TestCluster, told: &str) {
    let story = cluster.story().to_string();
    assert!(story.contains(told), "{told:?} is not told in\n{story}");
}

/// The mistake was found, by this oracle.
fn found(result: Result<(), Violation>, oracle: &str) {
    let violation = result.expect_err("the mistake is found");
    assert_eq!(violation.oracle(), oracle, "{violation}");
}
