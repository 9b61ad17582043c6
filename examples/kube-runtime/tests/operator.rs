//! The operator meets faults, and the oracles judge it: all that the testkit needs of it is that it takes a
//! `kube::Client`.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testkit::{Fault, TestCluster, oracles};
use on_kube_runtime::{Note, operate};
use serde_json::json;

/// A cluster that knows Notes, and the operator in it. It ends with the test.
fn running() -> TestCluster {
    let cluster = TestCluster::builder().crd::<Note>().start();
    tokio::spawn(operate(cluster.client_named("note-operator")));
    cluster
}

async fn write(cluster: &TestCluster, text: &str) {
    cluster
        .apply(&json!({
            "apiVersion": "demo.dev/v1", "kind": "Note", "metadata": { "name": "a", "namespace": "default" },
            "spec": { "text": text },
        }))
        .await;
}

async fn copied(cluster: &TestCluster, text: &str) {
    cluster
        .wait_for_fields::<ConfigMap>("a", json!({ "data": { "text": text } }))
        .await;
}

#[kubewright_testkit::test]
async fn a_note_is_copied_and_goes_with_its_copy() {
    let cluster = running();
    write(&cluster, "one").await;
    copied(&cluster, "one").await;
    oracles::all(&cluster).await.expect("every rule holds");
    cluster.delete::<Note>("a").await;
    cluster.wait_gone::<ConfigMap>("a").await;
}

#[kubewright_testkit::test]
async fn a_write_that_fails_is_tried_again() {
    let cluster = running();
    let failing = cluster.inject(Fault::status(500).of("configmaps").named("default/a").times(2));
    write(&cluster, "one").await;
    copied(&cluster, "one").await;
    failing.assert_fired();
    let writes = cluster.story().by("note-operator").writes();
    assert_eq!(writes.refused().count(), 2, "{}", cluster.story());
    oracles::all(&cluster).await.expect("every rule holds");
}

// Not compared: the jitter of kube-runtime's backoff comes from `fastrand`, which is seeded by the machine's clock.
#[kubewright_testkit::test(repeat = 1)]
async fn a_watch_that_breaks_loses_nothing() {
    let cluster = running();
    write(&cluster, "one").await;
    copied(&cluster, "one").await;
    let breaking = cluster.inject(Fault::watch_cut_before_event().of("notes").times(1));
    write(&cluster, "two").await;
    copied(&cluster, "two").await;
    breaking.assert_fired();
    cluster.restart_server().await;
    write(&cluster, "three").await;
    copied(&cluster, "three").await;
    oracles::all(&cluster).await.expect("every rule holds");
    oracles::bounded_requests(&cluster, 50, Duration::from_secs(10)).expect("no storm");
}

#[kubewright_testkit::test]
async fn what_somebody_else_edits_or_deletes_is_put_right() {
    let cluster = running();
    write(&cluster, "one").await;
    copied(&cluster, "one").await;
    let other = cluster.actor("someone-else");
    other
        .edit::<ConfigMap>("a", json!({ "data": { "text": "another" } }))
        .await;
    copied(&cluster, "one").await;
    other.delete::<ConfigMap>("a").await;
    copied(&cluster, "one").await;
    oracles::all(&cluster).await.expect("every rule holds");
}
