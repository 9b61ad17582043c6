//! What wakes a key: invariants 1, 2 and 7.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, Notes, config_map, holds, put};

/// Applies one ConfigMap and the status.
#[controller(for = App, owns = ConfigMap, workers = 4)]
struct Plain;

impl Reconciler for Plain {
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
async fn what_converged_is_silent_for_an_hour() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("plain").controller(Plain)).await;
    for n in 0..100 {
        put(&cluster, &format!("a{n}"), "1").await;
    }
    for n in 0..100 {
        let seen = |app: &App| app.status.as_ref().is_some_and(|status| status.seen == "1");
        cluster.wait_for::<App>(&format!("default/a{n}"), seen).await;
    }
    sleep(Duration::from_secs(5)).await;
    let writes = operator
        .requests()
        .writes()
        .filter(|request| request.resource != "events");
    assert_eq!(
        writes.count(),
        200,
        "one apply and one status apply for each App:\n{writes}"
    );
    let before = operator.requests().count();
    sleep(Duration::from_secs(3600)).await;
    let after = operator.requests().since(before).beyond_watches_and_leases();
    assert!(after.is_empty(), "a converged operator sent:\n{after}");
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_child_that_somebody_changed_or_deleted_is_put_right() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("plain").controller(Plain)).await;
    put(&cluster, "a", "1").await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    cluster
        .patch::<ConfigMap>("default/a", json!({ "data": { "value": "wrong" } }))
        .await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    let old = cluster.get::<ConfigMap>("default/a").await.expect("it is there");
    cluster.delete::<ConfigMap>("default/a").await;
    let other = |map: &ConfigMap| holds(map, "1") && map.metadata.uid != old.metadata.uid;
    cluster.wait_for::<ConfigMap>("default/a", other).await;
    operator.stop().await;
}

/// Takes its time, and checks that no key is reconciled twice at once.
#[controller(for = App, workers = 8)]
struct Slow {
    running: Arc<Mutex<BTreeMap<String, u32>>>,
    seen: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Reconciler for Slow {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let name = app.name_any();
        {
            let mut running = self.running.lock().expect("no panic");
            let now = running.entry(name.clone()).or_default();
            *now += 1;
            assert_eq!(*now, 1, "two reconciles of {name} at once");
        }
        let took = cx.rng().next_u64() % 400;
        sleep(Duration::from_millis(took)).await;
        *self.running.lock().expect("no panic").entry(name.clone()).or_default() -= 1;
        self.seen.lock().expect("no panic").insert(name, app.spec.value.clone());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_key_is_never_with_two_workers_and_its_last_version_is_always_seen() {
    let cluster = TestCluster::start();
    let slow = Slow {
        running: Arc::default(),
        seen: Arc::default(),
    };
    let seen = Arc::clone(&slow.seen);
    let operator = cluster.run(Manager::new("slow").controller(slow)).await;
    for round in 0..40 {
        for name in ["a", "b", "c"] {
            put(&cluster, name, &round.to_string()).await;
        }
        sleep(Duration::from_millis(cluster.env().next_u64() % 150)).await;
    }
    cluster
        .eventually("the last version of every App was reconciled", || async {
            let seen = seen.lock().expect("no panic");
            ["a", "b", "c"]
                .iter()
                .all(|name| seen.get(*name).is_some_and(|value| value == "39"))
        })
        .await;
    let failed: Vec<String> = cluster
        .story()
        .runs()
        .iter()
        .filter(|run| !run.outcome.is_success())
        .map(|run| run.outcome.to_string())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    operator.stop().await;
}

/// Is woken by ConfigMaps named in no owner reference, through a map function that waits.
#[controller(for = App, watches(ConfigMap, map = app_of))]
struct Mapped {
    notes: Notes,
}

async fn app_of(map: Arc<ConfigMap>) -> Vec<String> {
    sleep(Duration::from_millis(50)).await;
    map.data
        .iter()
        .flatten()
        .filter(|(key, _)| *key == "app")
        .map(|(_, app)| app.clone())
        .collect()
}

impl Reconciler for Mapped {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(app.name_any());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_map_function_is_asked_about_the_object_before_and_after() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let mapped = Mapped { notes: notes.clone() };
    let operator = cluster.run(Manager::new("mapped").controller(mapped)).await;
    put(&cluster, "a", "1").await;
    put(&cluster, "b", "1").await;
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: ref, namespace: default}, data: {app: a}}";
    cluster.apply_yaml(text).await;
    cluster
        .eventually("a was woken by the ConfigMap", || async { notes.count("a") >= 2 })
        .await;
    sleep(Duration::from_secs(1)).await;
    let (a, b) = (notes.count("a"), notes.count("b"));
    cluster
        .patch::<ConfigMap>("default/ref", json!({ "data": { "app": "b" } }))
        .await;
    cluster
        .eventually("the old and the new reference were woken", || async {
            notes.count("a") == a + 1 && notes.count("b") == b + 1
        })
        .await;
    operator.stop().await;
}

/// Wakes only for changes of the spec.
#[controller(for = App, event_filter = predicates::generation_changed())]
struct Filtered {
    notes: Notes,
}

use kubewright::predicates;

impl Reconciler for Filtered {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(app.spec.value.clone());
        Ok(Action::await_change())
    }

    fn gone(&self, key: &ObjectKey) {
        self.notes.add(format!("gone {key}"));
    }
}

#[kubewright_testkit::test]
async fn a_filter_drops_what_it_should_and_never_a_deletion_or_a_recreation() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let filtered = Filtered { notes: notes.clone() };
    let operator = cluster.run(Manager::new("filtered").controller(filtered)).await;
    put(&cluster, "a", "1").await;
    cluster.eventually("it ran", || async { notes.all() == ["1"] }).await;
    cluster
        .patch::<App>("default/a", json!({ "metadata": { "labels": { "x": "y" } } }))
        .await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(notes.all(), ["1"]);
    put(&cluster, "a", "2").await;
    cluster
        .eventually("it ran again", || async { notes.all() == ["1", "2"] })
        .await;
    cluster.delete::<App>("default/a").await;
    cluster
        .eventually("the deletion arrived", || async {
            notes.all() == ["1", "2", "gone default/a"]
        })
        .await;
    put(&cluster, "a", "2").await;
    cluster
        .eventually("the new object ran", || async { notes.all().len() == 4 })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_run_knows_what_woke_it() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("plain").controller(Plain)).await;
    put(&cluster, "a", "1").await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    cluster.settled(Duration::from_secs(2)).await;
    let before = cluster.story().reconciles("default/a").len();
    put(&cluster, "a", "2").await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "2")).await;
    cluster.settled(Duration::from_secs(2)).await;
    let runs = cluster.story().reconciles("default/a");
    assert_eq!(runs[0].reasons.to_string(), "App default/a created");
    assert_eq!(runs[before].reasons.to_string(), "App default/a changed (spec.value)");
    operator.stop().await;
}
