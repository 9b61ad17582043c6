//! What a context does while its cache is behind the server.

use std::time::Duration;

use http::StatusCode;
use kubewright::Kind;
use kubewright::cache::{ApplyMemory, InformerSpec, Reader};
use kubewright::client::{Fault, Origin};
use kubewright::context::{Context, Patch, Primary, Shared};
use kubewright::delta::Header;
use kubewright::events::Recorder;
use kubewright::metrics::Metrics;
use kubewright::prelude::*;
use serde_json::json;

use crate::cache_rig::{MANAGER, Rig, config_map, config_maps, key};

/// Owns ConfigMaps; what it does, the tests do by its context.
#[controller(for = Secret, owns = ConfigMap)]
struct Keeper;

impl Reconciler for Keeper {
    async fn reconcile(&self, _: Arc<Secret>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// A primary object with a context, over a cache that a test can hold back.
struct Desk {
    rig: Rig,
    shared: Shared,
    header: Arc<Header>,
}

impl Desk {
    async fn start() -> Self {
        let rig = Rig::start();
        let secret =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "app", "namespace": "default" } });
        rig.cluster.apply(&secret).await;
        let secrets = rig.synced(&InformerSpec::all(&Kind::of::<Secret>())).await;
        let maps = rig.synced(&InformerSpec::all(&config_maps())).await;
        let header = secrets.get(&key("app")).expect("it was listed").header_arc();
        let (recorder, _) = Recorder::pair("keeper", Metrics::default());
        let shared = Shared {
            declared: Arc::new(Declaration::<Keeper>::of().declared().clone()),
            reader: Reader::new([secrets, maps]),
            transport: rig.transport.clone(),
            memory: Arc::new(ApplyMemory::new()),
            env: rig.cluster.env().clone(),
            recorder,
            field_manager: MANAGER.into(),
        };
        Self { rig, shared, header }
    }

    /// The context of one more run.
    fn context(&self) -> Context<Keeper> {
        let primary = Primary {
            kind: Kind::of::<Secret>(),
            header: Arc::clone(&self.header),
        };
        Context::new(self.shared.clone(), primary, Origin::part("test"))
    }

    async fn value(&self, name: &str) -> Option<String> {
        let map = self.rig.cluster.get::<ConfigMap>(&format!("default/{name}")).await?;
        map.data?.get("value").cloned()
    }
}

fn child(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(config_map(name, value)).expect("a ConfigMap")
}

#[kubewright_testkit::test]
async fn a_set_leaves_alone_what_names_the_primary_as_one_owner_among_others() {
    let desk = Desk::start().await;
    let mut shared = config_map("shared", "theirs");
    shared["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "v1", "kind": "Secret", "name": "app", "uid": &*desk.header.uid }]);
    desk.rig.cluster.apply(&shared).await;
    desk.rig.moment().await;
    let cx = desk.context();
    cx.apply_set([child("mine", "1"), child("also", "1")])
        .await
        .expect("applied");
    desk.rig.moment().await;
    let cx = desk.context();
    cx.apply_set([child("mine", "1")]).await.expect("applied");
    assert!(cx.children_gone::<ConfigMap>().await.is_ok());
    desk.rig.moment().await;
    assert!(cx.children_gone::<ConfigMap>().await.expect("asked"));
    assert_eq!(desk.value("also").await, None);
    assert_eq!(desk.value("shared").await.as_deref(), Some("theirs"));
}

#[kubewright_testkit::test]
async fn a_patch_never_touches_a_strangers_object_that_the_cache_has_not_seen() {
    let desk = Desk::start().await;
    let patches = [
        Patch::merge(json!({ "data": { "value": "seized" } })),
        Patch::json(json!([{ "op": "replace", "path": "/data/value", "value": "seized" }])),
        Patch::strategic(json!({ "data": { "value": "seized" } })),
    ];
    let cx = desk.context();
    cx.apply(child("replaced", "1")).await.expect("applied");
    desk.rig.moment().await;
    desk.rig.wire.hold();
    desk.rig.cluster.delete::<ConfigMap>("default/replaced").await;
    for name in ["new", "replaced"] {
        desk.rig.cluster.apply(&config_map(name, "theirs")).await;
    }
    for patch in patches {
        let patch = patch.expect("JSON");
        for name in ["new", "replaced"] {
            let error = cx.patch::<ConfigMap>(name, patch.clone()).await.expect_err("not ours");
            assert!(!error.to_string().is_empty());
            assert_eq!(desk.value(name).await.as_deref(), Some("theirs"), "{patch:?}");
        }
    }
}

#[kubewright_testkit::test]
async fn a_patch_of_the_primarys_own_child_is_sent() {
    let desk = Desk::start().await;
    let cx = desk.context();
    cx.apply(child("mine", "1")).await.expect("applied");
    for (patch, value) in [
        (Patch::merge(json!({ "data": { "value": "2" } })), "2"),
        (
            Patch::json(json!([{ "op": "replace", "path": "/data/value", "value": "3" }])),
            "3",
        ),
        (Patch::strategic(json!({ "data": { "value": "4" } })), "4"),
    ] {
        cx.patch::<ConfigMap>("mine", patch.expect("JSON")).await.expect("ours");
        assert_eq!(desk.value("mine").await.as_deref(), Some(value));
    }
}

#[kubewright_testkit::test]
async fn children_of_unknown_outcome_are_asked_for_before_they_are_said_to_be_gone() {
    let desk = Desk::start().await;
    desk.rig.wire.hold();
    let cx = desk.context();
    desk.rig.wire.fault("patch", Fault::CutAfter);
    cx.apply(child("late", "1")).await.expect_err("no answer");
    assert!(cx.children_gone::<ConfigMap>().await.expect("asked"));
    assert_eq!(desk.value("late").await, None);
}

#[kubewright_testkit::test]
async fn what_nobody_watches_is_not_remembered() {
    let desk = Desk::start().await;
    let mut shared = desk.shared.clone();
    shared.reader = Reader::new([]);
    let primary = Primary {
        kind: Kind::of::<Secret>(),
        header: Arc::clone(&desk.header),
    };
    let cx = Context::<Keeper>::new(shared, primary, Origin::part("test"));
    cx.apply(child("a", "1")).await.expect("applied");
    assert!(desk.shared.memory.is_empty());
    desk.context().apply(child("b", "1")).await.expect("applied");
    assert_eq!(desk.shared.memory.len(), 1);
}

#[kubewright_testkit::test]
async fn a_server_that_fails_leaves_the_outcome_of_a_write_unknown() {
    let desk = Desk::start().await;
    for code in [500, 502, 503, 504] {
        let code = StatusCode::from_u16(code).expect("a code");
        desk.rig.wire.fault("patch", Fault::Answer(code, bytes::Bytes::new()));
        desk.context().apply(child("a", "1")).await.expect_err("told at once");
        assert_eq!(desk.shared.reader.in_doubt(&config_maps(), None), [key("a")], "{code}");
        assert!(desk.context().get::<ConfigMap>("a").await.expect("asked").is_none());
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert!(desk.shared.reader.in_doubt(&config_maps(), None).is_empty(), "{code}");
    }
}

#[kubewright_testkit::test]
async fn an_endless_retry_after_stalls_nobody_and_panics_nowhere() {
    let rig = Rig::start();
    let body = br#"{"kind":"Status","code":503,"details":{"retryAfterSeconds":18446744073709551615}}"#;
    let informer = rig.informers.informer(&InformerSpec::all(&config_maps()));
    rig.wire.fault(
        "watch",
        Fault::Answer(StatusCode::SERVICE_UNAVAILABLE, bytes::Bytes::from_static(body)),
    );
    tokio::time::timeout(Duration::from_secs(2 * 3600), informer.synced())
        .await
        .expect("an hour at most");
}
