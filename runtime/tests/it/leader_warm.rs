//! A standby with warm caches: it takes over at once, and not before it has what its predecessor wrote last.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kubewright::prelude::*;
use kubewright_testkit::{Fault, Operator, TestCluster};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{App, Notes, config_map, holds, put};

#[controller(for = App, owns = ConfigMap, workers = 4, warmup)]
struct Warm(Notes);

impl Reconciler for Warm {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        self.0.add(format!("{} {}", app.name_any(), app.spec.value));
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

async fn replica(cluster: &TestCluster, name: &str, notes: &Notes) -> Operator {
    let manager = Manager::new("warm").controller(Warm(notes.clone()));
    cluster.operator(manager).replica(name).leader_election().start().await
}

async fn leads(cluster: &TestCluster, name: &str) {
    let holder = async || {
        let lease = cluster.get::<Lease>("default/warm").await;
        lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity)
    };
    let what = format!("{name} leads");
    cluster
        .eventually(&what, || async { holder().await.as_deref() == Some(name) })
        .await;
}

/// Watches of Apps that a replica opened.
fn watches(cluster: &TestCluster, replica: &str) -> usize {
    cluster.story().requests().by(replica).of("apps").verb("watch").count()
}

#[kubewright_testkit::test]
async fn a_warm_standby_works_within_three_seconds_and_lists_no_bodies() {
    let cluster = TestCluster::start();
    let (of_a, of_b) = (Notes::default(), Notes::default());
    let a = replica(&cluster, "a", &of_a).await;
    leads(&cluster, "a").await;
    let b = replica(&cluster, "b", &of_b).await;
    for n in 0..200 {
        put(&cluster, &format!("a{n}"), "1").await;
    }
    cluster.settled(Duration::from_secs(30)).await;
    assert!(of_b.all().is_empty(), "a standby reconciles nothing");
    assert_eq!(b.writes_sent(), 0);
    assert_eq!(watches(&cluster, "b"), 1, "its caches are filled before it leads");

    let begun = Instant::now();
    a.stop().await;
    cluster
        .eventually("b has looked at every App", || async { of_b.all().len() >= 200 })
        .await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(watches(&cluster, "b"), 1, "the watch that was there goes on");
    assert_eq!(b.writes_sent(), 0, "what its predecessor wrote is as it should be");
    put(&cluster, "late", "1").await;
    cluster
        .wait_for::<ConfigMap>("default/late", |map| holds(map, "1"))
        .await;
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_standby_whose_cache_is_behind_reconciles_nothing_before_it_has_caught_up() {
    let cluster = TestCluster::start();
    let (of_a, of_b) = (Notes::default(), Notes::default());
    let a = replica(&cluster, "a", &of_a).await;
    leads(&cluster, "a").await;
    let b = replica(&cluster, "b", &of_b).await;
    for name in ["changed", "deleted", "quiet"] {
        put(&cluster, name, "1").await;
    }
    cluster.settled(Duration::from_secs(10)).await;
    // What b watches stands still, while its requests go through.
    let frozen = cluster.inject(Fault::watch_frozen().of("apps").by("b"));
    put(&cluster, "changed", "2").await;
    put(&cluster, "made", "2").await;
    cluster.delete::<App>("default/deleted").await;
    cluster.settled(Duration::from_secs(5)).await;
    a.stop().await;
    leads(&cluster, "b").await;
    sleep(Duration::from_secs(20)).await;
    assert!(
        of_b.all().is_empty(),
        "it reconciled from a cache that is behind: {:?}",
        of_b.all()
    );
    frozen.heal();
    cluster
        .eventually("b goes on", || async { of_b.count("made 2") > 0 })
        .await;
    cluster.settled(Duration::from_secs(5)).await;
    let mut seen = of_b.all();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["changed 2", "made 2", "quiet 1"]);
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_list_that_fails_holds_back_its_own_controller_alone_and_is_tried_again() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let a = replica(&cluster, "a", &Notes::default()).await;
    leads(&cluster, "a").await;
    let b = replica(&cluster, "b", &notes).await;
    put(&cluster, "one", "1").await;
    cluster.settled(Duration::from_secs(5)).await;
    let broken = cluster.inject(
        Fault::status(500)
            .on(kubewright_testkit::Verb::List)
            .of("configmaps")
            .by("b"),
    );
    a.stop().await;
    leads(&cluster, "b").await;
    sleep(Duration::from_secs(10)).await;
    assert!(notes.all().is_empty() && broken.fired() > 1);
    broken.heal();
    cluster
        .eventually("it goes on", || async { notes.count("one 1") == 1 })
        .await;
    b.stop().await;
}

/// Runs on every replica, over the kind that a leader-bound controller reads too.
#[controller(for = App, needs_leader = false)]
struct Everywhere;

impl Reconciler for Everywhere {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// Begins its caches under the Lease.
#[controller(for = App, owns = ConfigMap)]
struct Cold(Notes);

impl Reconciler for Cold {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        self.0.add(format!("{} {}", app.name_any(), app.spec.value));
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_controller_of_the_leader_shares_the_cache_of_one_that_runs_everywhere_once_it_has_caught_up() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = |notes: &Notes| {
        Manager::new("warm")
            .controller(Cold(notes.clone()))
            .controller(Everywhere)
    };
    let start = async |name: &str, notes: &Notes| {
        let operator = cluster.operator(manager(notes)).replica(name);
        operator.leader_election().start().await
    };
    let a = start("a", &Notes::default()).await;
    leads(&cluster, "a").await;
    let b = start("b", &notes).await;
    put(&cluster, "one", "1").await;
    cluster.settled(Duration::from_secs(5)).await;
    assert_eq!(
        (watches(&cluster, "a"), watches(&cluster, "b")),
        (1, 1),
        "one watch of Apps each"
    );
    let frozen = cluster.inject(Fault::watch_frozen().of("apps").by("b"));
    put(&cluster, "one", "2").await;
    cluster.settled(Duration::from_secs(5)).await;
    a.stop().await;
    leads(&cluster, "b").await;
    sleep(Duration::from_secs(10)).await;
    assert!(notes.all().is_empty(), "{:?}", notes.all());
    frozen.heal();
    cluster
        .eventually("it goes on", || async { notes.count("one 2") > 0 })
        .await;
    assert_eq!(notes.count("one 1"), 0);
    assert_eq!(watches(&cluster, "b"), 1);
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_lease_that_a_controller_runtime_operator_left_is_taken_over_once_it_has_run_out() {
    let cluster = TestCluster::start();
    cluster
        .apply(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": "warm", "namespace": "default" },
            "spec": {
                "holderIdentity": "operator-7d9c5b6f4-x2x8p_8a0c7f7e-3d0a-4b1c-9a63-2b1f6a5c9d10",
                "leaseDurationSeconds": 15, "leaseTransitions": 7,
                "acquireTime": "2019-05-01T08:00:00.000000Z", "renewTime": "2019-05-01T08:59:58.123456Z",
            },
        }))
        .await;
    let begun = Instant::now();
    let operator = replica(&cluster, "a", &Notes::default()).await;
    put(&cluster, "one", "1").await;
    cluster
        .wait_for::<ConfigMap>("default/one", |map| holds(map, "1"))
        .await;
    // Whatever its times say: they are of another clock.
    let waited = begun.elapsed().as_secs();
    assert!((15..20).contains(&waited), "{waited} s");
    let lease = cluster.get::<Lease>("default/warm").await.and_then(|lease| lease.spec);
    assert_eq!(lease.and_then(|spec| spec.lease_transitions), Some(8));
    operator.stop().await;
}
