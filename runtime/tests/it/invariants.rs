//! The invariants of ARCHITECTURE.md that one operator and one server can show, one test each, named by their numbers.
//! CONTRIBUTING.md says which line breaks which.

use std::collections::BTreeMap;
use std::sync::{Arc as StdArc, Mutex, PoisonError};
use std::time::Duration;

use kubewright::diagnostics::{Leadership, Phase, Reason};
use kubewright::k8s_openapi::api::coordination::v1::Lease;
use kubewright::k8s_openapi::jiff::SignedDuration;
use kubewright::prelude::*;
use kubewright_testkit::{Crash, Fault, TestCluster, Verb, What, oracles};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, Notes, config_map, holds, put};

/// Takes a second for each run, and notes which version of its App it saw, and whether it was alone.
#[controller(for = App, owns = ConfigMap, workers = 4)]
struct Slow {
    notes: Notes,
    /// Whether it writes nothing, so that no echo wakes it.
    reads_only: bool,
    running: StdArc<Mutex<BTreeMap<String, usize>>>,
}

impl Slow {
    fn new(notes: &Notes, reads_only: bool) -> Self {
        Self {
            notes: notes.clone(),
            reads_only,
            running: StdArc::default(),
        }
    }

    fn change(&self, name: &str, by: isize) -> usize {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(name.to_owned()).or_default();
        *count = count.saturating_add_signed(by);
        *count
    }
}

impl Reconciler for Slow {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let name = app.name_any();
        if self.change(&name, 1) > 1 {
            self.notes.add(format!("two at once for {name}"));
        }
        self.notes
            .add(format!("saw {}", app.resource_version().unwrap_or_default()));
        sleep(Duration::from_secs(1)).await;
        if !self.reads_only {
            cx.apply(config_map(&app)).await?;
        }
        self.change(&name, -1);
        Ok(Action::await_change())
    }
}

/// Makes an App and changes it ten times, the last time while it runs, at moments at which it runs and at moments at which it does not.
async fn restless(controller: Slow) -> TestCluster {
    let cluster = TestCluster::start();
    let _ = cluster.run(Manager::new("slow").controller(controller)).await;
    for i in 0..11 {
        put(&cluster, "a", &i.to_string()).await;
        sleep(Duration::from_millis(370)).await;
    }
    cluster.settled(Duration::from_secs(5)).await;
    cluster
}

#[kubewright_testkit::test]
async fn invariant_1_one_key_never_runs_twice_at_once() {
    let notes = Notes::default();
    let cluster = restless(Slow::new(&notes, false)).await;
    assert_eq!(notes.count("two at once for a"), 0, "{}", cluster.story().tail(40));
    assert!(cluster.story().reconciles("default/a").len() > 2);
}

#[kubewright_testkit::test]
async fn invariant_2_every_version_that_is_delivered_is_followed_by_a_run_that_starts_with_it_or_a_newer_one() {
    let notes = Notes::default();
    let cluster = restless(Slow::new(&notes, true)).await;
    let seen: Vec<u64> = notes
        .all()
        .iter()
        .filter_map(|note| note.strip_prefix("saw ")?.parse().ok())
        .collect();
    let runs = cluster.story().reconciles("default/a");
    assert_eq!(seen.len(), runs.len(), "each run notes what it saw");
    let mut delivered = 0;
    for entry in &cluster.story().events().of("apps").about("default/a") {
        let What::Event(event) = &entry.what else { continue };
        delivered += 1;
        let followed = cluster.story().all().filter(|later| {
            let started = later.run().map(|run| later.at - run.duration);
            started.is_some_and(|started| started >= entry.at)
        });
        let last = seen.last().copied().unwrap_or_default();
        assert!(
            !followed.is_empty() && last >= event.revision,
            "no run follows {entry}; the last one saw {last}\n{}",
            cluster.story().tail(60)
        );
    }
    assert_eq!(delivered, 11);
}

/// Notes which objects go.
#[controller(for = App)]
struct Mourner(Notes);

impl Reconciler for Mourner {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.0
            .add(format!("{} is {}", app.name_any(), app.uid().unwrap_or_default()));
        Ok(Action::await_change())
    }

    fn gone(&self, key: &ObjectKey) {
        self.0.add(format!("{} is gone", key.name));
    }
}

#[kubewright_testkit::test]
async fn invariant_4_a_deletion_missed_is_found_and_a_recreated_object_is_another() {
    let notes = Notes::default();
    let cluster = TestCluster::start();
    let operator = cluster
        .run(Manager::new("mourner").controller(Mourner(notes.clone())))
        .await;
    for name in ["deleted", "recreated", "kept"] {
        put(&cluster, name, "1").await;
    }
    cluster.settled(Duration::from_secs(2)).await;

    // While nothing reaches the operator, history is made and forgotten.
    operator.partition();
    cluster.server().end_watches();
    cluster.delete::<App>("deleted").await;
    cluster.delete::<App>("recreated").await;
    put(&cluster, "recreated", "1").await;
    cluster.server().compact();
    sleep(Duration::from_secs(5)).await;
    let back = cluster.now();
    operator.reconnect();
    sleep(Duration::from_secs(120)).await;

    assert_eq!(notes.count("deleted is gone"), 1, "{}", cluster.story().tail(40));
    let runs = cluster.story().since(back).about("default/recreated").runs();
    let reasons: Vec<&Reason> = runs.iter().flat_map(|run| run.reasons.as_slice()).collect();
    let deleted = reasons.iter().any(|reason| matches!(reason, Reason::Deleted { .. }));
    let created = reasons.iter().any(|reason| matches!(reason, Reason::Created { .. }));
    assert!(deleted && created, "a deletion and a creation, not {reasons:?}");
    let new = cluster.get::<App>("recreated").await.and_then(|app| app.uid());
    assert_eq!(notes.count(&format!("recreated is {}", new.unwrap_or_default())), 1);
    assert!(
        cluster.story().since(back).about("default/kept").runs().is_empty(),
        "nothing is new about it"
    );
}

/// Runs every minute, whether anything has changed or not.
#[controller(for = App, owns = ConfigMap, resync = "1m")]
struct Resyncing;

impl Reconciler for Resyncing {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        cx.apply_status(crate::support::AppStatus {
            seen: app.spec.value.clone(),
        })
        .await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn invariant_7_converged_means_silent_through_an_hour_of_resyncs() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("resyncing").controller(Resyncing)).await;
    put(&cluster, "a", "1").await;
    put(&cluster, "b", "1").await;
    oracles::converged(&cluster, Duration::from_secs(60))
        .await
        .expect("it comes to rest");
    let then = cluster.now();
    sleep(Duration::from_secs(3600)).await;
    let hour = cluster.story().since(then);
    assert!(hour.runs().len() >= 100, "resyncs ran: {}", hour.runs().len());
    let sent = hour.beyond_watches_and_leases();
    assert!(sent.is_empty(), "{sent}");
    operator.stop().await;
}

/// Keeps something outside, and one child whose name the server chooses.
#[controller(for = App, owns = ConfigMap, finalizer = "it.kubewright.dev/outside", backoff(min = "1s", max = "5s"))]
struct Guarded {
    outside: Notes,
}

impl Reconciler for Guarded {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        self.outside.add(format!("make {}", app.name_any()));
        if cx.children::<ConfigMap>()?.is_empty() {
            let mut map = config_map(&app);
            map.metadata.name = None;
            map.metadata.generate_name = Some("child-".to_owned());
            cx.create(map).await?;
        }
        cx.apply_status(crate::support::AppStatus {
            seen: app.spec.value.clone(),
        })
        .await?;
        Ok(Action::await_change())
    }
}

impl Cleanup for Guarded {
    async fn cleanup(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.outside.add(format!("remove {}", app.name_any()));
        Ok(Action::await_change())
    }
}

fn guarded(outside: &Notes) -> Manager {
    let outside = outside.clone();
    Manager::new("guarded").controller(Guarded { outside })
}

#[kubewright_testkit::test]
async fn invariant_8_killed_between_any_two_calls_and_started_again_it_ends_the_same() {
    let calm = {
        let cluster = TestCluster::start();
        let _ = cluster.run(guarded(&Notes::default())).await;
        put(&cluster, "a", "1").await;
        oracles::all(&cluster).await.expect("every rule holds");
        oracles::Snapshot::of(&cluster)
    };
    for write in 1..=3 {
        for crash in [Crash::BeforeWrite(write), Crash::AfterWrite(write)] {
            let cluster = TestCluster::start();
            let first = cluster.operator(guarded(&Notes::default())).crash(crash).start().await;
            put(&cluster, "a", "1").await;
            first.crashed().await;
            sleep(Duration::from_secs(30)).await;
            let second = cluster.run(guarded(&Notes::default())).await;
            oracles::all(&cluster)
                .await
                .unwrap_or_else(|v| panic!("{crash:?}: {v}"));
            let end = oracles::Snapshot::of(&cluster);
            oracles::same_end_state(&calm, &end).unwrap_or_else(|v| panic!("{crash:?}: {v}"));
            second.stop().await;
        }
    }
}

#[kubewright_testkit::test]
async fn invariant_8_started_again_nothing_runs_before_all_that_it_watches_was_listed() {
    let cluster = TestCluster::start();
    let first = cluster.run(guarded(&Notes::default())).await;
    put(&cluster, "a", "1").await;
    cluster.settled(Duration::from_secs(5)).await;
    first.crash();

    // The children are known later than what owns them.
    let late = Duration::from_secs(20);
    let slow = cluster.inject(Fault::slow(late).on(Verb::List).on(Verb::Watch).of("configmaps"));
    let then = cluster.now();
    let second = cluster.run(guarded(&Notes::default())).await;
    put(&cluster, "a", "2").await;
    sleep(late * 3).await;
    slow.assert_fired();
    let runs = cluster.story().since(then);
    let first_run = runs.iter().find(|entry| entry.run().is_some());
    let began = first_run.expect("it ran in the end").at.duration_since(then);
    assert!(began >= SignedDuration::from_secs(20), "it ran after {began:#}\n{runs}");
    let own = |map: &ConfigMap| map.name_any().starts_with("child-");
    let children = cluster.list::<ConfigMap>().await;
    assert_eq!(children.iter().filter(|map| own(map)).count(), 1, "{runs}");
    oracles::no_duplicates(&cluster).expect("nothing was made twice");
    second.stop().await;
}

#[kubewright_testkit::test]
async fn invariant_8_what_was_made_outside_before_a_crash_is_removed_though_the_object_went_meanwhile() {
    for write in 1..=3 {
        for crash in [Crash::BeforeWrite(write), Crash::AfterWrite(write)] {
            let outside = Notes::default();
            let cluster = TestCluster::start();
            let first = cluster.operator(guarded(&outside)).crash(crash).start().await;
            put(&cluster, "a", "1").await;
            first.crashed().await;
            cluster.delete::<App>("a").await;
            sleep(Duration::from_secs(30)).await;
            let second = cluster.run(guarded(&outside)).await;
            cluster.wait_gone::<App>("a").await;
            let all = outside.all();
            let left = all.last().is_some_and(|last| last == "make a");
            assert!(
                !left,
                "{crash:?}: made and never removed: {all:?}\n{}",
                cluster.story().tail(40)
            );
            second.stop().await;
        }
    }
}

#[kubewright_testkit::test]
async fn invariant_11_stopping_drains_what_runs_gives_the_lease_back_and_loses_nothing() {
    let notes = Notes::default();
    let cluster = TestCluster::start();
    let manager = || Manager::new("slow").controller(Slow::new(&notes, false));
    let first = cluster.operator(manager()).replica("a").leader_election().start().await;
    cluster
        .eventually("a leads", || async { !cluster.story().leadership().by("a").is_empty() })
        .await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("it runs", || async {
            notes.all().iter().any(|note| note.starts_with("saw"))
        })
        .await;
    // In the middle of the run, and with a change that the run has not seen.
    put(&cluster, "a", "2").await;
    put(&cluster, "b", "1").await;
    first.stop().await;

    let map = cluster
        .get::<ConfigMap>("a")
        .await
        .expect("the run that was under way has ended");
    assert!(holds(&map, "1"));
    let lease = cluster.get::<Lease>("slow").await.and_then(|lease| lease.spec);
    let holder = lease.and_then(|lease| lease.holder_identity).unwrap_or_default();
    assert_eq!(holder, "", "the Lease was given back");
    let released = |entry: &kubewright_testkit::Entry| matches!(entry.what, What::Leadership(Leadership::Released));
    assert_eq!(cluster.story().by("a").filter(released).count(), 1);
    oracles::one_writer_per_lease(&cluster).expect("nothing was written after that");

    let second = cluster.operator(manager()).replica("b").leader_election().start().await;
    cluster.wait_for::<ConfigMap>("a", |map| holds(map, "2")).await;
    cluster.wait_for::<ConfigMap>("b", |map| holds(map, "1")).await;
    second.stop().await;
}

#[kubewright_testkit::test]
async fn invariant_13_nothing_is_written_that_is_not_owned() {
    let cluster = TestCluster::start();
    put_owned_by_another(&cluster).await;
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "free", "namespace": "default" },
            "data": { "value": "nobody's" },
        }))
        .await;
    let operator = cluster.run(Manager::new("resyncing").controller(Resyncing)).await;
    for name in ["free", "owned"] {
        put(&cluster, name, "1").await;
    }
    sleep(Duration::from_secs(300)).await;
    for (name, value) in [("free", "nobody's"), ("owned", "somebody's")] {
        let map = cluster.get::<ConfigMap>(name).await.expect("it is still there");
        assert!(
            holds(&map, value),
            "{name}: {:?}\n{}",
            map.data,
            cluster.story().tail(40)
        );
        let runs = cluster.story().reconciles(&format!("default/{name}"));
        let told = runs.iter().filter(|run| run.phase == Phase::Reconcile);
        let told = told.map(|run| run.outcome.to_string()).collect::<Vec<_>>();
        assert!(
            told.iter().all(|text| text.contains("exists and is not ours")),
            "{told:?}"
        );
    }
    oracles::nothing_foreign_written(&cluster).expect("strangers' objects are left alone");
    operator.stop().await;
}

/// A ConfigMap that another object controls.
async fn put_owned_by_another(cluster: &TestCluster) {
    let owner = cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "owner", "namespace": "default" },
        }))
        .await;
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "owned", "namespace": "default", "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
                "controller": true,
            }] },
            "data": { "value": "somebody's" },
        }))
        .await;
}
