//! Two replicas: one leads, the other waits: invariant 6.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kubewright::prelude::*;
use kubewright_testkit::{Operator, TestCluster};
use tokio::time::{Instant, sleep};

use crate::support::{App, config_map, holds, put};

#[controller(for = App, owns = ConfigMap, workers = 4)]
struct Plain;

impl Reconciler for Plain {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

async fn replica(cluster: &TestCluster, name: &str) -> Operator {
    let manager = Manager::new("plain").controller(Plain);
    cluster.operator(manager).replica(name).leader_election().start().await
}

async fn holder(cluster: &TestCluster) -> String {
    let lease = cluster.get::<Lease>("default/plain").await;
    let holder = lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity);
    holder.unwrap_or_default()
}

async fn followed_by(cluster: &TestCluster, name: &str) -> Duration {
    let start = Instant::now();
    cluster
        .eventually("the other replica leads", || async { holder(cluster).await == name })
        .await;
    start.elapsed()
}

#[kubewright_testkit::test]
async fn a_leader_that_is_killed_is_followed_within_twenty_seconds_by_one_that_works_on() {
    let cluster = TestCluster::start();
    let a = replica(&cluster, "a").await;
    followed_by(&cluster, "a").await;
    let b = replica(&cluster, "b").await;
    put(&cluster, "one", "1").await;
    cluster
        .wait_for::<ConfigMap>("default/one", |map| holds(map, "1"))
        .await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(b.writes_sent(), 0, "a follower writes nothing");
    a.crash();
    put(&cluster, "two", "2").await;
    let took = followed_by(&cluster, "b").await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    cluster
        .wait_for::<ConfigMap>("default/two", |map| holds(map, "2"))
        .await;
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_leader_that_stops_is_followed_within_three_seconds() {
    let cluster = TestCluster::start();
    let a = replica(&cluster, "a").await;
    followed_by(&cluster, "a").await;
    let b = replica(&cluster, "b").await;
    sleep(Duration::from_secs(30)).await;
    a.stop().await;
    let took = followed_by(&cluster, "b").await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    put(&cluster, "one", "1").await;
    cluster
        .wait_for::<ConfigMap>("default/one", |map| holds(map, "1"))
        .await;
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_leader_that_cannot_renew_ends_with_an_error_and_writes_nothing_after_its_lease() {
    let cluster = TestCluster::start();
    let a = replica(&cluster, "a").await;
    followed_by(&cluster, "a").await;
    // Somebody takes the Lease away, as an administrator might.
    let taken = serde_json::json!({ "spec": { "holderIdentity": "somebody-else" } });
    cluster.patch::<Lease>("default/plain", taken).await;
    let error = a.ended().await.expect_err("it lost the Lease");
    let line = error.to_string();
    assert!(
        line.contains("leadership of Lease default/plain was lost: `somebody-else` took it"),
        "{line}"
    );
    let before = cluster.requests().writes().count();
    put(&cluster, "one", "1").await;
    sleep(Duration::from_secs(10)).await;
    let after = cluster
        .requests()
        .writes()
        .filter(|request| request.user.ends_with(":plain"));
    assert!(after.iter().all(|request| request.resource != "configmaps"), "{after}");
    assert!(cluster.requests().writes().count() > before);
}

#[kubewright_testkit::test]
async fn an_election_without_a_right_to_the_lease_says_so_and_goes_on_once_it_is_granted() {
    let cluster = TestCluster::start();
    cluster.install::<App>().await;
    let manager = Manager::new("plain").controller(Plain);
    let health = manager.health().clone();
    let operator = cluster
        .operator(manager)
        .leader_election()
        .without_manifests()
        .start()
        .await;
    sleep(Duration::from_secs(20)).await;
    let error = health.status()["leader"]["lastError"].to_string();
    assert!(error.contains("`get` on `leases`"), "{error}");
    let everything = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: plain}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: plain, namespace: default}]
";
    cluster.apply_yaml(everything).await;
    put(&cluster, "one", "1").await;
    cluster
        .wait_for::<ConfigMap>("default/one", |map| holds(map, "1"))
        .await;
    operator.stop().await;
}

/// Writes ten times a second for as long as it may.
#[controller(for = App, owns = ConfigMap, name = "ticking")]
struct Ticking;

impl Reconciler for Ticking {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        for tick in 0_u64.. {
            let mut map = config_map(&app);
            map.data = Some([("value".to_owned(), tick.to_string())].into());
            cx.apply(map).await?;
            sleep(Duration::from_millis(100)).await;
        }
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_leader_that_was_frozen_past_its_lease_sends_no_write_when_it_goes_on() {
    let cluster = TestCluster::start();
    let manager = Manager::new("plain").controller(Ticking);
    let metrics = manager.metrics().clone();
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "one", "1").await;
    let ticked = |map: &ConfigMap| {
        map.data
            .iter()
            .flatten()
            .any(|(_, tick)| tick.parse::<u64>().is_ok_and(|n| n > 20))
    };
    cluster.wait_for::<ConfigMap>("default/one", ticked).await;
    let writes = || cluster.requests().of("configmaps").writes().count();
    // As under SIGSTOP, a takeover and SIGCONT: the clock goes on, nothing of the process does, then every timer is
    // due at once.
    let taken = serde_json::json!({ "spec": { "holderIdentity": "somebody-else" } });
    cluster.patch::<Lease>("default/plain", taken).await;
    let before = writes();
    tokio::time::advance(Duration::from_secs(60)).await;
    let error = operator.ended().await.expect_err("another replica has the Lease");
    assert!(error.to_string().contains("`somebody-else` took it"), "{error}");
    assert_eq!(writes(), before, "a write was sent after the Lease had run out");
    let metrics = metrics.encode(false);
    let refused = metrics
        .lines()
        .find_map(|line| line.strip_prefix("kubewright_fence_refusals_total "));
    // The write that was due, and its retries until the loss of the Lease is known.
    let refused: u64 = refused.and_then(|count| count.parse().ok()).expect("it is counted");
    assert!(refused >= 1, "the write that was due was held back");
}
