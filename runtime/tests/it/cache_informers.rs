//! Who shares an informer, how long it runs, and what it keeps.

use std::time::Duration;

use kubewright::cache::{InformerSpec, StripPath};
use kubewright::context::Query;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::core::{DynamicObject, PartialObjectMeta};
use kubewright::prelude::*;
use kubewright::{Declaration, Declare, Kind, Owns, Reads, ReadsMetadata};
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};

use crate::cache_rig::{Rig, Seen, config_map, config_maps, key};
use crate::support::{App, Notes, put};

#[kubewright_testkit::test]
async fn an_informer_that_nobody_needs_stops_and_begins_anew_for_the_next() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "1")).await;
    let spec = InformerSpec::all(&config_maps());
    let (first, second) = (rig.synced(&spec).await, rig.informers.informer(&spec));
    let looking = first.downgrade();
    drop(first);
    rig.moment().await;
    assert_eq!(rig.informers.all().len(), 1, "somebody holds it still");
    assert!(second.get(&key("a")).is_some());
    // An own write waits for it to see it; it must not wait for ever.
    rig.wire.hold();
    rig.apply(&config_map("a", "2")).await.expect("applied");
    assert_eq!(rig.informers.overlay().len(), 1);
    drop(second);
    rig.moment().await;
    assert!(rig.informers.all().is_empty());
    assert!(looking.upgrade().is_none(), "what it held is given back");
    assert!(rig.informers.overlay().is_empty());
    rig.wire.release();
    let before = rig.cluster.requests().count();
    tokio::time::sleep(Duration::from_secs(900)).await;
    let asked = rig.cluster.requests().since(before);
    assert_eq!(asked.of("configmaps").count(), 0, "it asks for nothing any more");
    let again = rig.synced(&spec).await;
    let seen = Seen::by(&again);
    rig.moment().await;
    assert_eq!(seen.take(), ["a+"]);
}

#[kubewright_testkit::test]
async fn who_subscribes_late_hears_what_is_there_and_who_leaves_hears_no_more() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "1")).await;
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    rig.cluster.apply(&config_map("b", "1")).await;
    rig.moment().await;
    let late = Seen::by(&informer);
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&count);
    let sink: kubewright::cache::Sink = std::sync::Arc::new(move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    informer.subscribe(std::sync::Arc::clone(&sink));
    rig.moment().await;
    assert_eq!(late.take(), ["a+", "b+"]);
    let heard = count.load(std::sync::atomic::Ordering::Relaxed);
    assert!(heard >= 2, "{heard}");
    informer.unsubscribe(&sink);
    rig.cluster.apply(&config_map("c", "1")).await;
    rig.moment().await;
    assert_eq!(late.take(), ["c+"]);
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), heard);
}

#[kubewright_testkit::test]
async fn what_is_stripped_is_not_kept_and_its_change_is_a_change_all_the_same() {
    let rig = Rig::start();
    let mut object = config_map("a", "1");
    object["metadata"]["annotations"] = json!({ "example.com/large": "x".repeat(500), "small": "y" });
    object["data"]["unread"] = "z".into();
    rig.cluster.apply(&object).await;
    let paths = ["metadata.annotations['example.com/large']", "data.unread"];
    let paths = paths.map(|path| StripPath::parse(path).expect("valid"));
    let informer = rig.synced(&InformerSpec::all(&config_maps()).strip(paths)).await;
    let kept = || informer.get(&key("a")).expect("there");
    let json = kept().decode::<Value>().expect("JSON");
    assert_eq!(json["metadata"]["annotations"], json!({ "small": "y" }));
    assert_eq!(json["data"], json!({ "value": "1" }));
    let seen = Seen::by(&informer);
    rig.moment().await;
    seen.take();
    let before = kept();
    let changed = json!({ "data": { "unread": "changed" } });
    rig.cluster.patch::<ConfigMap>("a", changed).await;
    rig.moment().await;
    assert_eq!(seen.take(), ["a~"]);
    assert_ne!(kept().header().spec_digest, before.header().spec_digest);
    assert_eq!(kept().decode::<Value>().expect("JSON")["data"], json!({ "value": "1" }));
}

#[kubewright_testkit::test]
async fn a_large_collection_is_read_page_by_page_as_it_was_at_one_moment() {
    let rig = Rig::start();
    for number in 0..1_203 {
        rig.cluster.apply(&config_map(&format!("m{number:04}"), "x")).await;
    }
    let origin = kubewright::client::Origin::part("test");
    let params = kubewright::client::ListParams::default();
    let mut pages = rig.transport.pages(&origin, &config_maps(), Some("default"), params);
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.expect("listed").items.len());
        // What comes later belongs to another moment.
        rig.cluster.apply(&config_map(&format!("z{}", sizes.len()), "x")).await;
    }
    assert_eq!(sizes[..2], [500, 500]);
    let own = sizes.iter().sum::<usize>();
    assert!((1_203..=1_204).contains(&own), "{sizes:?}");
}

/// Reads ConfigMaps by their metadata, without a type, and as children: three watches of one kind by two controllers.
struct Bodies(Notes);
struct Names(Notes);

impl Declare for Bodies {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .name("bodies")
            .owns::<ConfigMap>()
            .watches_dynamic(config_maps(), |_: &DynamicObject| ["a"], |w| w)
    }
}

impl Owns<ConfigMap> for Bodies {}
impl Reads<App> for Bodies {}

impl Reconciler for Bodies {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let map = cx.apply(crate::support::config_map(&app)).await?;
        let read = cx
            .dynamic(&config_maps())
            .get(map.metadata.name.clone().unwrap_or_default())
            .await?;
        self.0.add(format!(
            "{}",
            read.is_some_and(|read| read.data["data"]["value"] == "x")
        ));
        Ok(Action::await_change())
    }
}

impl Declare for Names {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .name("names")
            .watches_metadata::<ConfigMap, _>(|map: &PartialObjectMeta<ConfigMap>| map.metadata.name.clone(), |w| w)
    }
}

impl ReadsMetadata<ConfigMap> for Names {}
impl Reads<PartialObjectMeta<ConfigMap>> for Names {}
impl Reads<App> for Names {}

impl Reconciler for Names {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let name = app.metadata.name.clone().unwrap_or_default();
        let one = cx.get::<PartialObjectMeta<ConfigMap>>(&name).await?;
        let all = cx
            .list::<PartialObjectMeta<ConfigMap>>(Query::namespace("default"))
            .await?;
        let there = one.is_some() && all.iter().any(|map| map.metadata.name.as_deref() == Some(&*name));
        self.0.add(format!("{there}"));
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn typed_dynamic_and_metadata_reads_of_a_kind_are_served_by_one_informer() {
    for metadata_alone in [false, true] {
        let cluster = TestCluster::start();
        let (bodies, names) = (Notes::default(), Notes::default());
        // The one that needs less comes first.
        let mut manager = Manager::new("shared").controller(Names(names.clone()));
        if !metadata_alone {
            manager = manager.controller(Bodies(bodies.clone()));
        }
        let operator = cluster.run(manager).await;
        put(&cluster, "a", "x").await;
        if metadata_alone {
            cluster.apply(&config_map("a", "x")).await;
        }
        cluster.settled(Duration::from_secs(30)).await;
        assert_eq!(names.all().last().map(String::as_str), Some("true"));
        assert_eq!(
            bodies.all().last().map(String::as_str),
            (!metadata_alone).then_some("true")
        );
        let maps = cluster.requests().by(operator.user()).of("configmaps");
        let reads: Vec<String> = maps
            .iter()
            .filter(|r| r.verb != "patch")
            .map(|r| r.verb.clone())
            .collect();
        assert_eq!(
            reads,
            ["watch"],
            "one streamed list that goes on as the watch, and no live read"
        );
    }
}

#[kubewright_testkit::test]
async fn a_kind_watched_for_its_metadata_has_none_of_its_bodies() {
    let rig = Rig::start();
    let kind = Kind::of::<ConfigMap>();
    rig.informers.plan([
        InformerSpec::all(&kind).metadata_only(true),
        InformerSpec::all(&kind).namespace(Some("default")),
    ]);
    let metadata = rig.synced(&InformerSpec::all(&kind).metadata_only(true)).await;
    assert!(
        metadata.spec().metadata_only,
        "a part of the bodies serves nobody who wants all of the metadata"
    );
}
