//! What must hold under load, with sick neighbours and through disturbances: invariants 2, 5, 6, 7 and 11.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kubewright::Kind;
use kubewright::kube::core::DynamicObject;
use kubewright::prelude::*;
use kubewright_testkit::{Fault, Operator, TestCluster, Verb, oracles};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{App, AppStatus, Notes, config_map, holds, put};

/// How many kinds the healthy controller watches beside its own.
const KINDS: usize = 98;

fn thing(number: usize) -> Kind {
    let (kind, plural) = (format!("Thing{number}"), format!("thing{number}s"));
    Kind::new("things.kubewright.dev", "v1", kind, plural, true)
}

fn thing_definition(number: usize) -> serde_json::Value {
    let kind = thing(number);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", kind.plural(), kind.group()) },
        "spec": {
            "group": kind.group(), "scope": "Namespaced",
            "names": { "kind": kind.kind(), "plural": kind.plural() },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    })
}

/// Is woken by many kinds.
struct OfMany(Notes);

impl Declare for OfMany {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let d = d.for_::<App>().crd::<App>().name("of-many").workers(4);
        (0..KINDS).fold(d, |d, number| {
            d.watches_dynamic(thing(number), |_: &DynamicObject| ["a"], |w| w)
        })
    }
}

impl Reconciler for OfMany {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.0.add("ran");
        Ok(Action::await_change())
    }
}

/// Watches a kind that may not be listed.
struct OfForbidden;

impl Declare for OfForbidden {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let map = |_: &DynamicObject| ["a"];
        d.for_::<App>()
            .name("of-forbidden")
            .watches_dynamic(thing(KINDS), map, |w| w)
    }
}

impl Reconciler for OfForbidden {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// Watches a kind that is not there.
struct OfMissing;

impl Declare for OfMissing {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let map = |_: &DynamicObject| ["a"];
        d.for_::<App>()
            .name("of-missing")
            .watches_dynamic(thing(KINDS + 1), map, |w| w)
    }
}

impl Reconciler for OfMissing {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// Reconciles of the healthy controller in ten seconds of changes.
async fn reconciles(cluster: &TestCluster, notes: &Notes) -> usize {
    let before = notes.all().len();
    for step in 0..200_usize {
        let kind = thing(step % KINDS);
        cluster
            .apply(&json!({
                "apiVersion": kind.api_version(), "kind": kind.kind(),
                "metadata": { "name": "t", "namespace": "default" }, "at": cluster.now().to_string(),
            }))
            .await;
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(1)).await;
    notes.all().len() - before
}

#[kubewright_testkit::test]
async fn of_a_hundred_kinds_one_forbidden_and_one_missing_take_nothing_from_the_others() {
    let cluster = TestCluster::start();
    for number in 0..=KINDS {
        cluster.apply(&thing_definition(number)).await;
    }
    let notes = Notes::default();
    let manager = || Manager::new("many").controller(OfMany(notes.clone()));
    let operator = cluster.run(manager()).await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("it runs", || async { !notes.all().is_empty() })
        .await;
    let healthy = reconciles(&cluster, &notes).await;
    operator.stop().await;

    let manager = manager().controller(OfForbidden).controller(OfMissing);
    let health = manager.health().clone();
    let operator = cluster.run(manager).await;
    let forbidden = thing(KINDS);
    for verb in [Verb::List, Verb::Watch] {
        drop(operator.withdraw(verb, forbidden.plural()).await);
    }
    cluster.cut_watches(forbidden.plural());
    sleep(Duration::from_secs(20)).await;
    let beside_sick = reconciles(&cluster, &notes).await;
    let told = health.status();
    let missing = told["controller of-missing"]["waitsFor"].to_string();
    assert!(missing.contains("install its CRD"), "{missing}");
    let watches = told["watches"].to_string();
    assert!(watches.contains("` on `thing98s`"), "{watches}");
    operator.stop().await;

    assert!(healthy > 150, "{healthy} reconciles");
    let lost = healthy.saturating_sub(beside_sick);
    assert!(
        lost * 20 <= healthy,
        "{healthy} reconciles without, {beside_sick} beside sick watches"
    );
}

/// Takes ten milliseconds; panics or hangs where it is told to.
#[controller(for = App, workers = 4, timeout = "30s")]
struct Moody;

impl Reconciler for Moody {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        match &*app.spec.value {
            "panic" => panic!("a bad day"),
            "hang" => std::future::pending().await,
            _ => sleep(Duration::from_millis(10)).await,
        }
        Ok(Action::await_change())
    }
}

/// The 99th percentile of the time from a change to its run.
async fn waiting(sick: bool) -> Duration {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("moody").controller(Moody)).await;
    if sick {
        put(&cluster, "panics", "panic").await;
        put(&cluster, "hangs", "hang").await;
    }
    sleep(Duration::from_secs(10)).await;
    let mut waits = Vec::new();
    for n in 0..300_u64 {
        let name = format!("a{}", n % 10);
        let written = cluster.now();
        put(&cluster, &name, &n.to_string()).await;
        sleep(Duration::from_millis(40)).await;
        let key = format!("default/{name}");
        let entry = cluster.story().since(written).about(&key);
        let run = entry.iter().find_map(|entry| Some((entry.at, entry.run()?.duration)));
        let (at, duration) = run.unwrap_or_else(|| panic!("no run of {name}\n{}", cluster.story().tail(20)));
        waits.push(at.duration_since(written).unsigned_abs().saturating_sub(duration));
    }
    operator.stop().await;
    waits.sort_unstable();
    waits[waits.len() * 99 / 100]
}

#[kubewright_testkit::test]
async fn a_key_that_panics_and_one_that_hangs_do_not_move_what_others_wait() {
    let healthy = waiting(false).await;
    let beside_sick = waiting(true).await;
    assert!(
        beside_sick <= healthy.mul_f64(1.05) + Duration::from_millis(1),
        "{healthy:?} alone, {beside_sick:?} beside a key that panics and one that hangs"
    );
}

/// Applies a ConfigMap and the status.
#[controller(for = App, owns = ConfigMap, workers = 4, backoff(min = "100ms", max = "10s"))]
struct Plain;

impl Reconciler for Plain {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        Ok(Action::await_change())
    }
}

#[derive(Clone, Copy, Debug)]
enum Disturbance {
    Partition,
    ClockForward,
    ClockBack,
    Restart,
    Compaction,
    Failures,
}

async fn disturb(cluster: &TestCluster, operator: &Operator, disturbance: Disturbance) {
    match disturbance {
        Disturbance::Partition => {
            operator.partition();
            sleep(Duration::from_secs(60)).await;
            operator.reconnect();
        }
        Disturbance::ClockForward => operator.jump_clock(SignedDuration::from_hours(1)),
        Disturbance::ClockBack => operator.jump_clock(SignedDuration::from_hours(-1)),
        Disturbance::Restart => cluster.restart_server().await,
        Disturbance::Compaction => {
            cluster.compact();
            cluster.cut_watches("apps");
            cluster.cut_watches("configmaps");
        }
        Disturbance::Failures => {
            let failing = cluster.inject(Fault::status(500).probability(0.3));
            sleep(Duration::from_secs(60)).await;
            failing.heal();
        }
    }
}

#[kubewright_testkit::test]
async fn whatever_happens_to_network_clock_and_server_the_operator_comes_to_the_same_end() {
    use Disturbance::{ClockBack, ClockForward, Compaction, Failures, Partition, Restart};
    for disturbance in [Partition, ClockForward, ClockBack, Restart, Compaction, Failures] {
        let cluster = TestCluster::start();
        let start = async |name: &str| {
            let operator = cluster.operator(Manager::new("plain").controller(Plain)).replica(name);
            operator.leader_election().start().await
        };
        let (a, b) = (start("a").await, start("b").await);
        for n in 0..10 {
            put(&cluster, &format!("a{n}"), "1").await;
        }
        let changes = async {
            for value in 2..=6 {
                for n in 0..10 {
                    put(&cluster, &format!("a{n}"), &value.to_string()).await;
                }
                sleep(Duration::from_secs(12)).await;
            }
        };
        tokio::join!(disturb(&cluster, &a, disturbance), changes);
        // A leader that lost its Lease ended; whoever restarts it does.
        let again = if a.is_running() { None } else { Some(start("c").await) };
        sleep(Duration::from_secs(60)).await;
        for n in 0..10 {
            let name = format!("default/a{n}");
            let map = cluster.get::<ConfigMap>(&name).await;
            assert!(map.is_some_and(|map| holds(&map, "6")), "{disturbance:?}: {name}");
        }
        oracles::one_writer_per_lease(&cluster).unwrap_or_else(|v| panic!("{disturbance:?}: {v}"));
        oracles::no_duplicates(&cluster).unwrap_or_else(|v| panic!("{disturbance:?}: {v}"));
        oracles::converged(&cluster, Duration::from_secs(60))
            .await
            .unwrap_or_else(|v| panic!("{disturbance:?}: {v}"));
        for operator in [Some(b), again, a.is_running().then_some(a)].into_iter().flatten() {
            operator.stop().await;
        }
    }
}

/// Takes as many seconds as the App's value says.
#[controller(for = App, workers = 100)]
struct Lengthy(Notes);

impl Reconciler for Lengthy {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.0.add("begun");
        sleep(Duration::from_secs(app.spec.value.parse()?)).await;
        self.0.add("done");
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn stopped_in_the_middle_of_a_hundred_reconciles_each_ends_or_is_cancelled_at_the_deadline() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("lengthy").controller(Lengthy(notes.clone()));
    let operator = cluster.operator(manager).leader_election().start().await;
    for n in 0..120 {
        put(&cluster, &format!("a{n}"), if n % 2 == 0 { "20" } else { "100000" }).await;
    }
    cluster
        .eventually("a hundred run", || async { notes.count("begun") == 100 })
        .await;
    let begun = Instant::now();
    // It ends without an error, or this panics.
    operator.stop().await;
    let took = begun.elapsed();
    assert!((30..32).contains(&took.as_secs()), "{took:?}: the deadline is 30 s");
    assert_eq!(notes.count("begun"), 100, "nothing was begun after that");
    assert!(
        (45..=55).contains(&notes.count("done")),
        "{} ended",
        notes.count("done")
    );
    let lease = cluster
        .get::<Lease>("default/lengthy")
        .await
        .and_then(|lease| lease.spec);
    assert_eq!(lease.and_then(|lease| lease.holder_identity).unwrap_or_default(), "");
}
