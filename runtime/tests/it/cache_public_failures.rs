//! Failures that operators in the field have reported most, each of which must not happen here. What only the watch itself
//! can show is in `watch/watcher_tests.rs`: "too large resource version", versions that are gone in all their forms.

use std::time::Duration;

use kubewright::cache::{InformerSpec, Reader};
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::predicates;
use kubewright::prelude::*;
use kubewright::{Declaration, Declare, Owns, Reads};
use kubewright_testkit::{Fault, TestCluster, Verb};
use serde_json::json;

use crate::cache_rig::{Rig, config_map, config_maps, key, value_of};
use crate::support::{App, Notes, put};

#[kubewright_testkit::test]
async fn a_version_that_is_too_old_leads_to_a_list_and_not_to_silence() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer.clone()]);
    let lists = informer.status().lists;
    let expired = rig
        .cluster
        .inject(Fault::watch_expired().of("configmaps").by("rig").times(1));
    rig.cluster.apply(&config_map("a", "1")).await;
    rig.cluster.apply(&config_map("b", "1")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    expired.assert_fired();
    assert_eq!(
        (value_of(&reader, "a"), value_of(&reader, "b")),
        ("1".to_owned(), "1".to_owned())
    );
    assert!(informer.status().lists > lists);
}

#[kubewright_testkit::test]
async fn one_429_ends_no_watch() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer.clone()]);
    let busy = Fault::throttled(Duration::from_secs(3))
        .on(Verb::Watch)
        .of("configmaps")
        .by("rig");
    let busy = rig.cluster.inject(busy.times(1));
    rig.wire.cut();
    rig.cluster.apply(&config_map("a", "1")).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    busy.assert_fired();
    assert_eq!(value_of(&reader, "a"), "1");
    assert!(informer.status().healthy);
}

#[kubewright_testkit::test]
async fn what_is_written_between_list_and_watch_is_not_lost() {
    let rig = Rig::start();
    // Pages, so that there is a gap between the two.
    let unstreamed = kubewright::client::Fault::Answer(http::StatusCode::UNPROCESSABLE_ENTITY, "no".into());
    rig.wire.fault("watch", unstreamed);
    let late = kubewright::client::Fault::Delay(Duration::from_secs(2), Duration::ZERO);
    rig.wire.fault("watch", late);
    rig.cluster.apply(&config_map("gone", "1")).await;
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    rig.cluster.apply(&config_map("a", "1")).await;
    rig.cluster.delete::<ConfigMap>("gone").await;
    assert_eq!(value_of(&reader, "a"), "missing", "the watch has not begun");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(value_of(&reader, "a"), "1");
    assert_eq!(value_of(&reader, "gone"), "missing");
}

#[kubewright_testkit::test]
async fn an_event_that_comes_twice_brings_nothing_back() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let twice = rig.cluster.inject(Fault::watch_duplicated().of("configmaps").by("rig"));
    for _ in 0..3 {
        rig.cluster.apply(&config_map("a", "1")).await;
        rig.cluster.delete::<ConfigMap>("a").await;
    }
    rig.moment().await;
    twice.assert_fired();
    assert!(informer.get(&key("a")).is_none());
}

/// Notes the uid of each App that it sees; only changes of the generation wake it.
struct Uids(Notes);

impl Declare for Uids {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .event_filter(predicates::generation_changed())
    }
}

impl Reads<App> for Uids {}

impl Reconciler for Uids {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.0.add(app.metadata.uid.clone().unwrap_or_default());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn an_object_recreated_with_the_same_generation_is_reconciled_whatever_the_predicate_and_the_watch_say() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    cluster.run(Manager::new("uids").controller(Uids(notes.clone()))).await;
    put(&cluster, "a", "x").await;
    cluster.settled(Duration::from_secs(10)).await;
    let uid = async || cluster.get::<App>("default/a").await.and_then(|app| app.metadata.uid);
    let first = uid().await.expect("there");
    // Deleted and made again while nobody watches, and without a history that would tell.
    let frozen = cluster.inject(Fault::watch_frozen().of("apps"));
    cluster.delete::<App>("default/a").await;
    put(&cluster, "a", "x").await;
    cluster.compact();
    cluster.cut_watches("apps");
    frozen.heal();
    cluster.settled(Duration::from_secs(60)).await;
    let second = uid().await.expect("there");
    assert_ne!(first, second);
    assert_eq!(notes.count(&second), 1, "{:?}", notes.all());
}

/// Writes a ConfigMap with the keys that the App lists, and a Deployment whose quantities the server writes otherwise.
struct Sets;

impl Declare for Sets {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>().crd::<App>().owns::<ConfigMap>().owns::<Deployment>()
    }
}

impl Owns<ConfigMap> for Sets {}
impl Owns<Deployment> for Sets {}
impl Reads<App> for Sets {}

impl Reconciler for Sets {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let mut map = crate::support::config_map(&app);
        let keys = app.spec.value.split(' ').filter(|key| !key.is_empty());
        map.data = Some(keys.map(|key| (key.to_owned(), "x".to_owned())).collect());
        cx.apply(map).await?;
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": { "name": app.metadata.name },
            "spec": {
                "selector": { "matchLabels": { "app": "a" } },
                "template": {
                    "metadata": { "labels": { "app": "a" } },
                    "spec": { "containers": [{
                        "name": "main", "image": "nginx",
                        "resources": { "requests": { "cpu": "0.5", "memory": "1024Mi" } },
                    }] },
                },
            },
        }))?;
        cx.apply(deployment).await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_field_that_is_no_longer_set_goes_away_and_half_a_cpu_is_applied_once() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("sets").controller(Sets)).await;
    put(&cluster, "a", "one two").await;
    cluster.settled(Duration::from_secs(30)).await;
    let keys = async || {
        let map = cluster.get::<ConfigMap>("default/a").await.expect("there");
        map.data.into_iter().flatten().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys().await, ["one", "two"]);
    // Once, and perhaps once more, as the cluster's own controller writes a revision into it.
    let deployments = operator.requests().writes().of("deployments").count();
    assert!(deployments <= 2, "{}", cluster.story().tail(40));
    put(&cluster, "a", "two").await;
    cluster.settled(Duration::from_secs(30)).await;
    assert_eq!(keys().await, ["two"]);
    assert_eq!(operator.requests().writes().of("deployments").count(), deployments);
    // A restart finds nothing remembered, and may apply what the server wrote otherwise once.
    operator.stop().await;
    let before = cluster.requests().count();
    let again = cluster.run(Manager::new("sets").controller(Sets)).await;
    cluster.settled(Duration::from_secs(60)).await;
    for value in ["two ", " two"] {
        put(&cluster, "a", value).await;
        cluster.settled(Duration::from_secs(30)).await;
    }
    let writes = cluster.requests().since(before).by(again.user()).writes();
    assert!(writes.clone().of("deployments").count() <= 1, "{writes}");
    assert_eq!(writes.of("configmaps").count(), 0);
}
