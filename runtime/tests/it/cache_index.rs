//! Indexes that a controller declares: what a map function and a reconcile find by them.

use std::time::Duration;

use kubewright::declaration::by_index;
use kubewright::prelude::*;
use kubewright::{Declaration, Declare, Reads};
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, Notes, put};

/// Notes which ConfigMaps name the App in their data, however they are called.
struct Indexed(Notes);

impl Declare for Indexed {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .index("value", |app: &App| [app.spec.value.clone()])
            .watches_with::<ConfigMap, _>(
                |map: &ConfigMap| apps(map),
                |watch| {
                    watch.index("app", |map: &ConfigMap| {
                        let found = apps(map);
                        assert!(!found.iter().any(|app| app == "panic"), "as asked for");
                        found
                    })
                },
            )
    }
}

impl Reads<ConfigMap> for Indexed {}
impl Reads<App> for Indexed {}

fn apps(map: &ConfigMap) -> Vec<String> {
    let named = map.data.iter().flatten().filter(|(key, _)| key.starts_with("app"));
    named.map(|(_, app)| app.clone()).collect()
}

impl Reconciler for Indexed {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let name = app.metadata.name.clone().unwrap_or_default();
        let maps = cx.by_index::<ConfigMap>("app", &name)?;
        let maps: Vec<&str> = maps.iter().filter_map(|map| map.metadata.name.as_deref()).collect();
        let alike = cx.by_index::<App>("value", &app.spec.value)?.len();
        let missing = cx.by_index::<App>("no such", "x").map(drop);
        let missing = missing.expect_err("there is no such index").to_string();
        assert!(missing.contains("has no index `no such`"), "{missing}");
        self.0.add(format!("{name}: {} alike {alike}", maps.join(" ")));
        Ok(Action::await_change())
    }
}

async fn map(cluster: &TestCluster, name: &str, apps: &[&str]) {
    let data: serde_json::Map<String, serde_json::Value> = apps
        .iter()
        .enumerate()
        .map(|(index, app)| (format!("app{index}"), json!(app)))
        .collect();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": data });
    cluster.apply(&map).await;
}

#[kubewright_testkit::test]
async fn an_index_follows_every_change_and_a_panic_in_it_stops_nothing() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster
        .run(Manager::new("indexed").controller(Indexed(notes.clone())))
        .await;
    let moment = || tokio::time::sleep(Duration::from_secs(2));
    put(&cluster, "a", "same").await;
    put(&cluster, "b", "same").await;
    moment().await;
    map(&cluster, "two", &["a", "b"]).await;
    map(&cluster, "one", &["a"]).await;
    moment().await;
    let last = |name: &str| {
        let all = notes.all();
        let of = all.iter().rev().find(|note| note.starts_with(name));
        of.cloned().unwrap_or_default()
    };
    assert_eq!(last("a"), "a: one two alike 2");
    assert_eq!(last("b"), "b: two alike 2");
    map(&cluster, "one", &["b"]).await;
    moment().await;
    assert_eq!(last("a"), "a: two alike 2");
    assert_eq!(last("b"), "b: one two alike 2");
    map(&cluster, "one", &["panic"]).await;
    cluster.delete::<ConfigMap>("default/two").await;
    moment().await;
    assert_eq!(last("a"), "a:  alike 2");
    assert_eq!(last("b"), "b:  alike 2");
    map(&cluster, "three", &["a"]).await;
    moment().await;
    assert_eq!(last("a"), "a: three alike 2");
    operator.stop().await;
}

/// Wakes the Apps that name a ConfigMap, found by an index of the Apps.
struct Users(Notes);

impl Declare for Users {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let place = |namespace: Option<&String>, name: &str| format!("{}/{name}", namespace.map_or("", String::as_str));
        d.for_::<App>()
            .crd::<App>()
            .name("users")
            .index("uses", move |app: &App| {
                [place(app.metadata.namespace.as_ref(), &app.spec.value)]
            })
            .watches::<ConfigMap, _>(by_index("uses", move |map: &ConfigMap| {
                [place(
                    map.metadata.namespace.as_ref(),
                    map.metadata.name.as_deref().unwrap_or_default(),
                )]
            }))
            .watches::<Secret, _>(by_index("no such", |_: &Secret| ["x"]))
    }
}

impl Reads<ConfigMap> for Users {}
impl Reads<Secret> for Users {}
impl Reads<App> for Users {}

impl Reconciler for Users {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.0.add(app.metadata.name.clone().unwrap_or_default());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_change_wakes_those_that_an_index_finds_and_nobody_else() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    cluster
        .run(Manager::new("users").controller(Users(notes.clone())))
        .await;
    for (app, used) in [("a", "one"), ("b", "one"), ("c", "two")] {
        put(&cluster, app, used).await;
    }
    cluster.settled(Duration::from_secs(10)).await;
    let woken_by = async |name: &str, value: &str| {
        let before = notes.all().len();
        map(&cluster, name, &[value]).await;
        cluster.settled(Duration::from_secs(10)).await;
        let mut woken = notes.all().split_off(before);
        woken.sort();
        woken
    };
    assert_eq!(woken_by("one", "x").await, ["a", "b"]);
    put(&cluster, "b", "two").await;
    cluster.settled(Duration::from_secs(10)).await;
    assert_eq!(woken_by("one", "y").await, ["a"]);
    assert_eq!(woken_by("two", "y").await, ["b", "c"]);
    assert_eq!(woken_by("three", "y").await, [""; 0]);
}
