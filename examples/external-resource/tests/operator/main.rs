//! Directories come and go with their objects.

mod scenarios;

use std::fs;
use std::time::Duration;

use external_resource::{Directory, manager};
use kubewright_testkit::{Crash, TestCluster};
use serde_json::json;

const SAMPLE: &str = include_str!("../../directory.yaml");

fn is_ready(directory: &Directory) -> bool {
    let conditions = directory.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    conditions
        .iter()
        .any(|c| c.type_ == "Ready" && c.status == "True" && c.observed_generation == directory.metadata.generation)
}

#[kubewright_testkit::test]
async fn a_directory_follows_its_object_and_goes_with_it() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cluster = TestCluster::start();
    let operator = cluster.run(manager(root.path())).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<Directory>("notes", is_ready).await;
    let path = root.path().join("default/notes");
    assert_eq!(
        fs::read_to_string(path.join("today.txt")).expect("written"),
        "Water the plants.\n"
    );

    cluster
        .patch::<Directory>("notes", json!({ "spec": { "files": { "readme.txt": null } } }))
        .await;
    cluster.wait_for::<Directory>("notes", is_ready).await;
    assert!(!path.join("readme.txt").exists());

    cluster.delete::<Directory>("notes").await;
    cluster.wait_gone::<Directory>("notes").await;
    assert!(!path.exists());
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn an_object_is_kept_until_its_directory_is_removed() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cluster = TestCluster::start();
    let operator = cluster.run(manager(root.path())).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<Directory>("notes", is_ready).await;
    operator.stop().await;

    // Nobody is there to clean up: the finalizer holds the object.
    cluster.delete::<Directory>("notes").await;
    cluster
        .stays("the object waits for its clean-up", Duration::from_secs(60), || async {
            cluster.get::<Directory>("notes").await.is_some()
        })
        .await;
    let operator = cluster.run(manager(root.path())).await;
    cluster.wait_gone::<Directory>("notes").await;
    assert!(!root.path().join("default/notes").exists());
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn nothing_is_written_to_disk_before_the_finalizer_holds_the_object() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cluster = TestCluster::start();
    let operator = cluster
        .operator(manager(root.path()))
        .crash(Crash::BeforeWrite(1))
        .start()
        .await;
    cluster.apply_yaml(SAMPLE).await;
    cluster
        .eventually("the operator dies", || async { !operator.is_running() })
        .await;
    assert!(!root.path().join("default").exists());
}

#[kubewright_testkit::test]
async fn a_wrong_spec_is_told_and_not_retried() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cluster = TestCluster::start();
    let operator = cluster.run(manager(root.path())).await;
    cluster.apply_yaml(&SAMPLE.replace("today.txt", "../today.txt")).await;
    cluster
        .wait_for::<Directory>("notes", |d| {
            let conditions = d.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
            conditions
                .iter()
                .any(|c| c.reason == "NotWritten" && c.message.contains("no file name"))
        })
        .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let runs = cluster.story().reconciles("default/notes").len();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(cluster.story().reconciles("default/notes").len(), runs);
    operator.stop().await;
}
