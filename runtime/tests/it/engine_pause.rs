//! Held back by hand: objects and kinds that are paused, and a cap on deletions.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::diagnostics::Phase;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{App, Notes, config_map, put};

/// A kind whose status has conditions.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[kube(
    group = "it.kubewright.dev",
    version = "v1",
    kind = "Site",
    namespaced,
    status = "SiteStatus"
)]
struct SiteSpec {
    #[serde(default)]
    value: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct SiteStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    conditions: Vec<Condition>,
}

/// Reconciles what its spec says, and nothing else wakes it.
#[controller(for = Site, finalizer = "it.kubewright.dev/site", event_filter = generation_changed)]
struct Sites(Notes);

impl Reconciler for Sites {
    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Self>) -> Result<Action> {
        self.0.add(format!("{} {}", site.name_any(), site.spec.value));
        let before = site
            .status
            .as_ref()
            .map(|status| &*status.conditions)
            .unwrap_or_default();
        let conditions = kubewright::conditions::Conditions::new(before, site.metadata.generation, cx.now());
        let conditions = conditions
            .with("Ready", true, "Reconciled", "it is as it should be")
            .build();
        cx.apply_status(SiteStatus { conditions }).await?;
        Ok(Action::await_change())
    }
}

impl Cleanup for Sites {
    async fn cleanup(&self, site: Arc<Site>, _: &Context<Self>) -> Result<Action> {
        self.0.add(format!("clean {}", site.name_any()));
        Ok(Action::await_change())
    }
}

async fn put_site(cluster: &TestCluster, value: &str) {
    cluster
        .apply(&json!({
            "apiVersion": "it.kubewright.dev/v1", "kind": "Site",
            "metadata": { "name": "s", "namespace": "default" }, "spec": { "value": value },
        }))
        .await;
}

fn annotated(value: &Value) -> Value {
    json!({ "metadata": { "annotations": { "kubewright.dev/paused": value } } })
}

async fn conditions(cluster: &TestCluster) -> Vec<String> {
    let site = cluster.get::<Site>("default/s").await.expect("it is there");
    let mut all: Vec<String> = site
        .status
        .unwrap_or_default()
        .conditions
        .iter()
        .map(|condition| format!("{}={}", condition.type_, condition.status))
        .collect();
    all.sort();
    all
}

#[kubewright_testkit::test]
async fn a_paused_object_is_left_alone_shows_it_by_a_condition_and_goes_on_afterwards() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster
        .run(Manager::new("sites").controller(Sites(notes.clone())))
        .await;
    put_site(&cluster, "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    assert_eq!(conditions(&cluster).await, ["Ready=True"]);

    cluster.patch::<Site>("default/s", annotated(&json!("true"))).await;
    cluster.settled(Duration::from_secs(2)).await;
    assert_eq!(conditions(&cluster).await, ["Paused=True", "Ready=True"]);
    let before = notes.all();
    put_site(&cluster, "2").await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(notes.all(), before, "it was reconciled while it is paused");
    let last = cluster.story().reconciles("default/s").pop().expect("it ran");
    assert_eq!(last.phase, Phase::Paused);

    // A new process knows from the object alone what is paused.
    operator.stop().await;
    let operator = cluster
        .run(Manager::new("sites").controller(Sites(notes.clone())))
        .await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(notes.all(), before);
    cluster.patch::<Site>("default/s", annotated(&Value::Null)).await;
    cluster
        .eventually("it goes on, whatever the filter says", || async {
            notes.count("s 2") > 0
        })
        .await;
    cluster.settled(Duration::from_secs(2)).await;
    assert_eq!(
        conditions(&cluster).await,
        ["Ready=True"],
        "the condition is gone, the author's stays"
    );
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_paused_object_is_not_cleaned_up_either() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster
        .run(Manager::new("sites").controller(Sites(notes.clone())))
        .await;
    put_site(&cluster, "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    cluster.patch::<Site>("default/s", annotated(&json!("true"))).await;
    cluster.delete::<Site>("default/s").await;
    sleep(Duration::from_secs(60)).await;
    assert!(cluster.get::<Site>("default/s").await.is_some());
    assert_eq!(notes.count("clean s"), 0);
    cluster.patch::<Site>("default/s", annotated(&json!("false"))).await;
    cluster.wait_gone::<Site>("default/s").await;
    assert_eq!(notes.count("clean s"), 1);
    operator.stop().await;
}

/// Applies as many ConfigMaps as the App's value says.
#[controller(for = App, owns = ConfigMap, backoff(min = "1s", max = "10s"))]
struct Many(Notes);

impl Reconciler for Many {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        self.0.add(app.spec.value.clone());
        let count: usize = app.spec.value.parse()?;
        let maps = (0..count).map(|n| {
            let mut map = config_map(&app);
            map.metadata.name = Some(format!("{}-{n}", app.name_any()));
            map
        });
        cx.apply_set(maps).await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn where_the_status_has_no_conditions_an_event_tells_of_the_pause_once() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster.run(Manager::new("many").controller(Many(notes.clone()))).await;
    put(&cluster, "a", "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    cluster.patch::<App>("default/a", annotated(&json!("true"))).await;
    put(&cluster, "a", "2").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(notes.count("2"), 0);
    cluster.patch::<App>("default/a", annotated(&Value::Null)).await;
    cluster
        .eventually("it goes on", || async { notes.count("2") > 0 })
        .await;
    cluster.settled(Duration::from_secs(5)).await;
    let events = cluster.list::<Event>().await;
    let told: Vec<&str> = events
        .iter()
        .filter(|event| event.series.is_none())
        .filter_map(|event| event.reason.as_deref())
        .filter(|reason| matches!(*reason, "Paused" | "Resumed"))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_kind_that_the_lease_pauses_waits_and_loses_nothing() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("many").controller(Many(notes.clone()));
    let health = manager.health().clone();
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "a", "1").await;
    cluster.eventually("it ran", || async { notes.count("1") > 0 }).await;
    cluster.settled(Duration::from_secs(2)).await;
    let pause = annotated(&json!("apps.it.kubewright.dev"));
    cluster.patch::<Lease>("default/many", pause).await;
    let paused = || health.status()["controller many"]["paused"] == json!(true);
    cluster.eventually("the pause is seen", || async { paused() }).await;
    put(&cluster, "a", "2").await;
    put(&cluster, "b", "3").await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(notes.count("2") + notes.count("3"), 0);
    cluster.patch::<Lease>("default/many", annotated(&Value::Null)).await;
    cluster
        .eventually("what was woken meanwhile ran", || async {
            notes.count("2") > 0 && notes.count("3") > 0
        })
        .await;
    assert!(!paused());
    // An operator that is told to stop while its kind is paused does.
    cluster.patch::<Lease>("default/many", annotated(&json!("*"))).await;
    cluster.eventually("the pause is seen", || async { paused() }).await;
    put(&cluster, "a", "4").await;
    sleep(Duration::from_secs(5)).await;
    let begun = tokio::time::Instant::now();
    operator.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[kubewright_testkit::test]
async fn no_minute_sees_more_deletions_than_the_cap_and_all_is_deleted_in_the_end() {
    let cluster = TestCluster::start();
    let manager = Manager::new("many").controller(Many(Notes::default()));
    let metrics = manager.metrics().clone();
    let operator = cluster
        .operator(manager)
        .options(|options| options.deletes_per_minute = Some(4))
        .start()
        .await;
    put(&cluster, "a", "10").await;
    let count = async || {
        let maps = cluster.list::<ConfigMap>().await;
        maps.iter().filter(|map| map.name_any().starts_with("a-")).count()
    };
    cluster
        .eventually("ten are there", || async { count().await == 10 })
        .await;
    cluster.settled(Duration::from_secs(2)).await;
    put(&cluster, "a", "0").await;
    sleep(Duration::from_secs(45)).await;
    assert_eq!(count().await, 6, "four within the first minute");
    let told = cluster
        .story()
        .reconciles("default/a")
        .pop()
        .expect("it ran")
        .outcome
        .to_string();
    assert!(told.contains("4 deletions within a minute are the most"), "{told}");
    let held_back = metrics.encode(false);
    assert!(
        !held_back.contains("kubewright_deletes_held_back_total 0"),
        "{held_back}"
    );
    cluster
        .eventually("the rest follows", || async { count().await <= 2 })
        .await;
    sleep(Duration::from_secs(90)).await;
    assert_eq!(count().await, 0);
    operator.stop().await;
}
