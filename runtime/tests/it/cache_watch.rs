//! What an informer holds follows the server, whatever happens to the watch.

use kubewright::cache::{InformerSpec, Reader};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};

use crate::cache_rig::{MANAGER, Rig, Seen, WIDGETS, config_map, config_maps, key, value_of, widgets};

#[kubewright_testkit::test]
async fn an_informer_follows_what_others_write() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer.clone()]);
    let seen = Seen::by(&informer);
    rig.cluster.apply(&config_map("a", "1")).await;
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "1");
    rig.cluster
        .patch::<ConfigMap>("a", json!({ "data": { "value": "2" } }))
        .await;
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "2");
    rig.delete(&config_maps(), &key("a")).await.expect("deleted");
    rig.moment().await;
    assert_eq!(value_of(&reader, "a"), "missing");
    assert_eq!(seen.take(), ["a+", "a~", "a-"]);
}

#[kubewright_testkit::test]
async fn a_deletion_missed_during_a_disconnect_is_found_and_a_recreation_is_not_taken_for_it() {
    let rig = Rig::start();
    for name in ["kept", "deleted", "recreated"] {
        rig.cluster.apply(&config_map(name, "old")).await;
    }
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let reader = Reader::new([informer.clone()]);
    let seen = Seen::by(&informer);
    rig.moment().await;
    seen.take();
    let before = informer.get(&key("recreated")).expect("there").header().uid.clone();
    rig.wire.hold();
    for name in ["deleted", "recreated"] {
        rig.cluster.delete::<ConfigMap>(name).await;
    }
    rig.cluster.apply(&config_map("recreated", "old")).await;
    rig.cluster.server().compact();
    rig.wire.cut();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(value_of(&reader, "kept"), "old");
    assert_eq!(value_of(&reader, "deleted"), "missing");
    assert_ne!(informer.get(&key("recreated")).expect("there").header().uid, before);
    let mut changes = seen.take();
    changes.sort();
    assert_eq!(changes, ["deleted-", "recreated+", "recreated-"]);
    let status = informer.status();
    assert!(status.healthy && status.lists >= 2, "{status:?}");
}

#[kubewright_testkit::test]
async fn a_watch_that_the_server_ends_goes_on_without_a_list() {
    let rig = Rig::start();
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let lists = informer.status().lists;
    let seen = Seen::by(&informer);
    rig.cluster.server().end_watches();
    rig.cluster.apply(&config_map("a", "1")).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(seen.take(), ["a+"]);
    assert_eq!(informer.status().lists, lists);
}

#[kubewright_testkit::test]
async fn a_permission_granted_later_is_used_without_a_restart() {
    let cluster = TestCluster::start();
    let client = cluster.client_as("op", &[]);
    let rig = Rig::over(cluster, client);
    let informer = rig.informers.informer(&InformerSpec::all(&config_maps()));
    rig.moment().await;
    let status = informer.status();
    assert_eq!(status.last_code, Some(403), "{status:?}");
    let error = status.last_error.expect("shown at once");
    assert!(error.contains("User \"op\" cannot"), "{error}");
    assert!(error.contains("in apiGroup ``: apply the RBAC"), "{error}");
    rig.cluster
        .apply_yaml(
            "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: op }
rules: [{ apiGroups: [''], resources: [configmaps], verbs: [get, list, watch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: op }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: op }]
",
        )
        .await;
    rig.synced(&InformerSpec::all(&config_maps())).await;
    assert!(informer.status().healthy);
}

#[kubewright_testkit::test]
async fn a_kind_installed_later_is_watched_without_a_restart() {
    let rig = Rig::start();
    let informer = rig.informers.informer(&InformerSpec::all(&widgets()));
    rig.moment().await;
    let error = informer.status().last_error.expect("shown at once");
    assert!(error.contains("install its CRD"), "{error}");
    rig.cluster.apply_yaml(WIDGETS).await;
    rig.synced(&InformerSpec::all(&widgets())).await;
    rig.apply(
        &json!({ "apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": { "name": "w", "namespace": "default" } }),
    )
    .await
    .expect("applied");
    rig.moment().await;
    assert!(informer.get(&key("w")).is_some());
}

#[kubewright_testkit::test]
async fn objects_that_enter_and_leave_a_selector_come_and_go() {
    let rig = Rig::start();
    let spec = InformerSpec::all(&config_maps()).labels(Some("value=in".to_owned()));
    let informer = rig.synced(&spec).await;
    let seen = Seen::by(&informer);
    rig.cluster.apply(&config_map("a", "out")).await;
    for value in ["in", "out", "in"] {
        let labels = json!({ "metadata": { "labels": { "value": value } } });
        rig.cluster.patch::<ConfigMap>("a", labels).await;
        rig.moment().await;
    }
    assert_eq!(seen.take(), ["a+", "a-", "a+"]);
    let named = InformerSpec::all(&config_maps()).fields(Some("metadata.name=b".to_owned()));
    let named = rig.synced(&named).await;
    rig.cluster.apply(&config_map("b", "x")).await;
    rig.moment().await;
    assert_eq!(named.list(None, None).len(), 1);
}

#[kubewright_testkit::test]
async fn metadata_alone_is_kept_where_only_metadata_is_asked_for() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "secret")).await;
    let informer = rig.synced(&InformerSpec::all(&config_maps()).metadata_only(true)).await;
    rig.cluster.apply(&config_map("b", "secret")).await;
    rig.moment().await;
    for name in ["a", "b"] {
        let object = informer
            .get(&key(name))
            .expect("there")
            .decode::<Value>()
            .expect("JSON");
        assert_eq!(object["kind"], "PartialObjectMetadata");
        assert!(object.get("data").is_none());
        assert_eq!(object["metadata"]["labels"]["value"], "secret");
    }
}

#[kubewright_testkit::test]
async fn only_our_own_managed_fields_are_kept() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "1")).await;
    rig.apply(&config_map("a", "1")).await.expect("applied");
    let informer = rig.synced(&InformerSpec::all(&config_maps())).await;
    let object = informer.get(&key("a")).expect("there").decode::<Value>().expect("JSON");
    let managers: Vec<_> = object["metadata"]["managedFields"]
        .as_array()
        .expect("kept")
        .iter()
        .map(|entry| entry["manager"].as_str().expect("named").to_owned())
        .collect();
    assert_eq!(managers, [MANAGER]);
}

#[kubewright_testkit::test]
async fn many_objects_are_listed_in_pages_and_none_is_lost() {
    let rig = Rig::start();
    for number in 0..1_203 {
        rig.cluster.apply(&config_map(&format!("m{number}"), "x")).await;
    }
    // The streamed list is refused once, as by a server that has none.
    let refusal = r#"{"kind":"Status","code":422,"reason":"Invalid","message":"sendInitialEvents is forbidden"}"#;
    rig.wire.fault(
        "watch",
        kubewright::client::Fault::Answer(http::StatusCode::UNPROCESSABLE_ENTITY, refusal.into()),
    );
    let informer = rig
        .synced(&InformerSpec::all(&config_maps()).namespace(Some("default")))
        .await;
    let ours = informer.list(None, None).len();
    assert!((1_203..=1_204).contains(&ours), "{ours}");
}

#[kubewright_testkit::test]
async fn a_quiet_informer_asks_for_nothing() {
    let rig = Rig::start();
    let _held = rig.synced(&InformerSpec::all(&config_maps())).await;
    rig.moment().await;
    let before = rig.cluster.requests().count();
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    let asked = rig.cluster.requests().since(before);
    assert_eq!(
        asked.iter().filter(|request| request.resource == "configmaps").count(),
        0
    );
}
