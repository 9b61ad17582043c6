//! What is missing at the start and comes later: no restart is needed.

use std::time::Duration;

use app_operator::api::App;
use app_operator::manager;
use kubewright::manifests::Manifests;
use kubewright_testkit::TestCluster;

use crate::{SAMPLE, is_ready};

fn manifests() -> Manifests {
    let manager = manager();
    let declared = manager.declarations().into_iter().cloned();
    Manifests::new(manager.name(), "default", declared)
}

#[kubewright_testkit::test]
async fn a_definition_that_comes_later_is_picked_up() {
    let cluster = TestCluster::start();
    for object in manifests().rbac() {
        cluster.apply(&object).await;
    }
    let operator = cluster.operator(manager()).without_manifests().start().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(operator.is_running(), "a missing definition does not end the operator");
    let asked = operator.requests().of("apps").refused();
    assert!(
        !asked.is_empty() && asked.count() < 60,
        "asked {} times in a minute",
        asked.count()
    );

    for object in manifests().crds() {
        cluster.apply(&object).await;
    }
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_permission_that_comes_later_is_picked_up() {
    let cluster = TestCluster::start();
    for object in manifests().crds() {
        cluster.apply(&object).await;
    }
    let operator = cluster.operator(manager()).without_manifests().start().await;
    cluster.apply_yaml(SAMPLE).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(operator.is_running(), "a missing permission does not end the operator");
    assert!(operator.requests().writes().filter(|r| r.code < 400).is_empty());

    for object in manifests().rbac() {
        cluster.apply(&object).await;
    }
    cluster.wait_for::<App>("hello", is_ready).await;
    operator.stop().await;
}

#[test]
fn a_build_without_dev_holds_no_api_server() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "-p",
            "app-operator",
            "--no-default-features",
            "-e",
            "normal",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let tree = String::from_utf8_lossy(&tree.stdout);
    assert!(tree.contains("kubewright v"), "{tree}");
    assert!(!tree.contains("kubewright-apiserver"), "{tree}");
}
