//! Reads never go behind own writes, and the overlay that sees to it empties.

use std::time::Duration;

use kubewright::cache::{InformerSpec, Lookup, Reader};
use kubewright::client::Fault;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::cache_rig::{Rig, Seen, config_map, config_maps, key, value_of};

#[kubewright_testkit::test]
async fn an_own_write_is_read_at_once_and_never_behind() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    rig.wire.hold();
    for value in ["1", "2", "3"] {
        rig.apply(&config_map("a", value)).await.expect("applied");
        assert_eq!(value_of(&reader, "a"), value);
    }
    let listed = reader.list(&config_maps(), Some("default"), None).expect("known");
    assert!(listed.iter().any(|object| &*object.key().name == "a"));
    rig.wire.release();
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert_eq!(value_of(&reader, "a"), "3");
    }
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "3");
    assert!(rig.informers.overlay().is_empty(), "{:?}", rig.informers.overlay());
}

#[kubewright_testkit::test]
async fn a_foreign_write_after_an_own_one_is_not_hidden() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    rig.wire.hold();
    rig.apply(&config_map("a", "ours")).await.expect("applied");
    rig.cluster
        .patch::<ConfigMap>("a", json!({ "data": { "value": "theirs" } }))
        .await;
    assert_eq!(value_of(&reader, "a"), "ours");
    rig.wire.release();
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "theirs");
    assert!(rig.informers.overlay().is_empty());
}

#[kubewright_testkit::test]
async fn an_own_deletion_is_seen_at_once_and_a_recreation_by_others_is_not_hidden() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "old")).await;
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer.clone()]);
    let seen = Seen::by(&informer);
    rig.moment().await;
    seen.take();
    rig.wire.hold();
    rig.delete(&config_maps(), &key("a")).await.expect("deleted");
    assert_eq!(value_of(&reader, "a"), "missing");
    assert!(informer.get(&key("a")).is_some(), "the watch has not said so yet");
    rig.cluster.apply(&config_map("a", "new")).await;
    rig.wire.release();
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "new");
    assert_eq!(seen.take(), ["a-", "a+"]);
    assert!(rig.informers.overlay().is_empty());
}

#[kubewright_testkit::test]
async fn an_object_that_lingers_for_its_finalizers_is_read_as_deleting() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    let mut object = config_map("a", "1");
    object["metadata"]["finalizers"] = json!(["demo.dev/test"]);
    rig.apply(&object).await.expect("applied");
    rig.wire.hold();
    rig.delete(&config_maps(), &key("a")).await.expect("accepted");
    let Lookup::Found(deleting) = reader.get(&config_maps(), &key("a")) else {
        panic!("it lingers");
    };
    assert!(deleting.header().is_deleting());
    let remove = br#"[{"op":"remove","path":"/metadata/finalizers/0"}]"#;
    rig.json_patch(&config_maps(), &key("a"), remove)
        .await
        .expect("patched");
    assert_eq!(
        value_of(&reader, "a"),
        "missing",
        "without its last finalizer it is gone"
    );
    rig.wire.release();
    rig.moment().await;
    assert!(rig.informers.overlay().is_empty());
}

#[kubewright_testkit::test]
async fn what_never_enters_the_selector_leaves_no_trace() {
    let rig = Rig::start();
    let spec = InformerSpec::all(&config_maps()).labels(Some("value=in".to_owned()));
    let informer = rig.synced(&spec).await;
    let reader = Reader::new([informer]);
    rig.apply(&config_map("a", "out")).await.expect("applied");
    assert_eq!(value_of(&reader, "a"), "out");
    rig.delete(&config_maps(), &key("a")).await.expect("deleted");
    assert_eq!(value_of(&reader, "a"), "OutsideSelector");
    // Neither write ever reaches this watch; a bookmark, or the version of a list, settles both.
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert!(rig.informers.overlay().is_empty(), "{:?}", rig.informers.overlay());
}

#[kubewright_testkit::test]
async fn an_unknown_outcome_is_read_from_the_server() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    for fault in [Fault::HangAfter, Fault::CutAfter] {
        rig.wire.hold();
        rig.wire.fault("patch", fault);
        let error = rig.apply(&config_map("a", "1")).await.expect_err("no answer");
        assert!(error.outcome_unknown(), "{error}");
        assert_eq!(value_of(&reader, "a"), "InDoubt");
        rig.get(&config_maps(), &key("a")).await.expect("it took effect");
        assert_eq!(value_of(&reader, "a"), "1");
        rig.wire.fault("delete", Fault::CutAfter);
        rig.delete(&config_maps(), &key("a")).await.expect_err("no answer");
        assert_eq!(value_of(&reader, "a"), "InDoubt");
        assert!(
            rig.get(&config_maps(), &key("a"))
                .await
                .expect_err("gone")
                .is_not_found()
        );
        assert_eq!(value_of(&reader, "a"), "missing");
        rig.wire.release();
        rig.moment().await;
        assert_eq!(value_of(&reader, "a"), "missing");
    }
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert!(rig.informers.overlay().is_empty(), "{:?}", rig.informers.overlay());
}

#[kubewright_testkit::test]
async fn a_write_dropped_by_its_caller_is_in_doubt() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    rig.wire.fault("patch", Fault::HangAfter);
    let applying = config_map("a", "1");
    let write = rig.apply(&applying);
    assert!(tokio::time::timeout(Duration::from_secs(1), write).await.is_err());
    assert_eq!(value_of(&reader, "a"), "InDoubt");
}

#[kubewright_testkit::test]
async fn a_write_that_was_surely_not_sent_leaves_no_doubt() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer]);
    rig.wire.fault("patch", Fault::CutBefore);
    let error = rig.apply(&config_map("a", "1")).await.expect_err("refused");
    assert!(!error.outcome_unknown());
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert_eq!(value_of(&reader, "a"), "missing");
}
