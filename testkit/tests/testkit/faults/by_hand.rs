//! What goes wrong when the test says so.

use std::io::ErrorKind;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::api::{Api, ListParams};
use kubewright_testkit::{Fault, Verb};
use serde_json::json;

use super::{broken, cluster, code, create};
use crate::support::{App, copied, copier, put};

#[kubewright_testkit::test]
async fn a_restart_breaks_what_is_under_way_and_keeps_what_is_stored() {
    let (cluster, maps) = cluster();
    create(&maps, "a").await.expect("created");
    cluster.inject(
        Fault::slow(std::time::Duration::from_secs(10))
            .on(Verb::Create)
            .of("configmaps"),
    );
    let slow = tokio::spawn({
        let maps = maps.clone();
        async move { create(&maps, "b").await }
    });
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    cluster.restart_server().await;
    assert_eq!(broken(slow.await.expect("it ends")), ErrorKind::ConnectionReset);
    assert!(cluster.get::<ConfigMap>("a").await.is_some());
    assert!(cluster.get::<ConfigMap>("b").await.is_none());
    assert!(cluster.story().to_string().contains("API server: restarts"));
}

#[kubewright_testkit::test]
async fn a_server_that_is_down_answers_nobody_but_the_test_until_it_is_healed() {
    let (cluster, maps) = cluster();
    let down = cluster.take_server_down().await;
    assert_eq!(
        broken(maps.list(&ListParams::default()).await),
        ErrorKind::ConnectionRefused
    );
    cluster
        .apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
        .await;
    down.heal();
    assert_eq!(code(maps.get("a").await), 200);
}

#[kubewright_testkit::test]
async fn a_page_after_a_compaction_is_answered_410_with_a_way_to_go_on() {
    let (cluster, maps) = cluster();
    for name in ["a", "b", "c"] {
        create(&maps, name).await.expect("created");
    }
    let page = maps
        .list(&ListParams::default().limit(1))
        .await
        .expect("the first page");
    let token = page.metadata.continue_.expect("more follows");
    create(&maps, "d").await.expect("created");
    cluster.compact();
    let next = ListParams::default().limit(1).continue_token(&token);
    assert_eq!(code(maps.list(&next).await), 410);
}

#[kubewright_testkit::test]
async fn a_right_that_is_withdrawn_is_missing_until_it_is_restored() {
    let (cluster, _) = cluster();
    let operator = cluster.run(copier()).await;
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    let client = cluster.client_as(operator.user(), &[]);
    let maps = Api::<ConfigMap>::namespaced(client, "default");
    let withdrawn = operator.withdraw(Verb::List, "configmaps").await;
    assert_eq!(code(maps.list(&ListParams::default()).await), 403);
    assert_eq!(code(maps.get("a").await), 200, "the other verbs stay");
    withdrawn.restore().await;
    assert_eq!(code(maps.list(&ListParams::default()).await), 200);
    operator.stop().await;
}

#[kubewright_testkit::test]
#[should_panic(expected = "has no right to delete nodes")]
async fn a_right_that_nobody_has_cannot_be_withdrawn() {
    let (cluster, _) = cluster();
    let operator = cluster.run(copier()).await;
    let _ = operator.withdraw(Verb::Delete, "nodes").await;
}

#[kubewright_testkit::test]
async fn a_kind_that_is_removed_is_not_served_until_it_is_restored() {
    let (cluster, _) = cluster();
    cluster.install::<App>().await;
    put(&cluster, "a", "one").await;
    let apps = Api::<App>::namespaced(cluster.client(), "default");
    let removed = cluster.remove_kind::<App>().await;
    assert_eq!(code(apps.list(&ListParams::default()).await), 404);
    removed.restore().await;
    assert_eq!(apps.list(&ListParams::default()).await.expect("served").items.len(), 0);
}

#[kubewright_testkit::test]
async fn an_actor_edits_applies_recreates_and_deletes_under_its_own_name() {
    let (cluster, _) = cluster();
    let jane = cluster.actor("jane");
    let made = jane
        .create::<ConfigMap>(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "l": "1" } },
            "data": { "k": "1" },
        }))
        .await;
    let edited = jane.edit::<ConfigMap>("a", json!({ "data": { "k": "2" } })).await;
    let fields = edited.metadata.managed_fields.unwrap_or_default();
    assert!(
        fields.iter().all(|entry| entry.manager.as_deref() == Some("jane")),
        "{fields:?}"
    );
    let again = jane.recreate::<ConfigMap>("a").await;
    assert_ne!(again.metadata.uid, made.metadata.uid);
    assert_eq!((again.metadata.labels, again.data), (made.metadata.labels, edited.data));
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "3" } });
    let applied = jane.apply::<ConfigMap>(&map).await;
    assert_eq!(applied.data.unwrap_or_default()["k"], "3");

    jane.add_finalizer::<ConfigMap>("a", "jane.dev/hold").await;
    jane.delete::<ConfigMap>("a").await;
    let held = cluster.get::<ConfigMap>("a").await.expect("the finalizer holds it");
    assert!(held.metadata.deletion_timestamp.is_some());
    jane.remove_finalizer::<ConfigMap>("a", "jane.dev/hold").await;
    cluster.wait_gone::<ConfigMap>("a").await;
    assert!(cluster.story().by("jane").writes().count() >= 8, "{}", cluster.story());
}
