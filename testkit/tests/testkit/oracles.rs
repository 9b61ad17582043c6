//! Oracles: silent about a good operator, and each finds its mistake.

use std::time::Duration;

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::api::{Api, ListParams};
use kubewright::prelude::Manager;
use kubewright_testkit::{Snapshot, TestCluster, Violation, oracles};
use serde_json::json;

use crate::naive::{Mistake, naive};
use crate::support::{App, copied, copier, put};

const THEIRS: &str = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: theirs }, data: { value: old } }";

/// An App comes, changes and stays; answers the cluster with whatever came of it.
async fn lived(manager: impl FnOnce(&TestCluster) -> Manager) -> TestCluster {
    let cluster = TestCluster::start();
    cluster.apply_yaml(THEIRS).await;
    // The operator is not stopped: it is the test's end that ends it.
    let _ = cluster.run(manager(&cluster)).await;
    put(&cluster, "a", "one").await;
    cluster.advance(Duration::from_secs(30)).await;
    cluster.patch::<App>("a", json!({ "spec": { "value": "two" } })).await;
    cluster.advance(Duration::from_secs(30)).await;
    cluster
}

async fn with(mistake: Mistake) -> TestCluster {
    lived(|cluster| naive(cluster, mistake)).await
}

/// The violation that was found, which names these.
fn found(result: Result<(), Violation>, oracle: &str, parts: &[&str]) {
    let violation = result.expect_err("the mistake is found");
    assert_eq!(violation.oracle(), oracle);
    let text = violation.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[kubewright_testkit::test]
async fn a_good_operator_breaks_no_rule() {
    let cluster = lived(|_| copier()).await;
    copied(&cluster, "a", "two").await;
    oracles::all(&cluster).await.expect("all is well");
    oracles::bounded_requests(&cluster, 20, Duration::from_secs(1)).expect("few requests");
    cluster.delete::<App>("a").await;
    cluster.wait_gone::<ConfigMap>("a").await;
    oracles::all(&cluster).await.expect("all is well after the end too");
}

#[kubewright_testkit::test]
async fn a_child_without_an_owner_is_an_orphan() {
    let cluster = with(Mistake::CreatesWithoutOwner).await;
    let parts = ["configmaps default/a, made by copier, has no controller"];
    found(oracles::no_orphans(&cluster), "no_orphans", &parts);
}

#[kubewright_testkit::test]
async fn a_child_whose_owner_is_gone_is_an_orphan() {
    let cluster = TestCluster::start();
    let owner = &cluster.apply_yaml(THEIRS).await[0];
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client_named("mine"), "default");
    let child = json!({ "metadata": { "name": "child", "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": owner["metadata"]["uid"],
    }] } });
    maps.create(
        &Default::default(),
        &serde_json::from_value(child).expect("a ConfigMap"),
    )
    .await
    .expect("created");
    oracles::no_orphans(&cluster).expect("its owner lives");
    // Gone before the garbage collector has had its turn.
    let store = cluster.server().store();
    let stored = store.find("configmaps", "default", "theirs").expect("it is there");
    store.remove(&stored).expect("nobody else changes it");
    found(
        oracles::no_orphans(&cluster),
        "no_orphans",
        &["default/child", "is gone"],
    );
    cluster.wait_gone::<ConfigMap>("child").await;
    oracles::no_orphans(&cluster).expect("it was collected");
}

#[kubewright_testkit::test]
async fn children_that_were_made_twice_are_duplicates() {
    let cluster = with(Mistake::GeneratesNames).await;
    found(
        oracles::no_duplicates(&cluster),
        "no_duplicates",
        &["configmaps default/copy-", "made by copier"],
    );
    let by_name = |object: &serde_json::Value| object["metadata"]["name"].as_str().map(str::to_owned);
    oracles::no_duplicates_by(&cluster, by_name).expect("no two have one name");
}

#[kubewright_testkit::test]
async fn a_write_to_a_strangers_object_is_found() {
    let cluster = with(Mistake::EditsStrangers).await;
    let parts = ["copier changed configmaps default/theirs", "it has no controller"];
    found(
        oracles::nothing_foreign_written(&cluster),
        "nothing_foreign_written",
        &parts,
    );
}

#[kubewright_testkit::test]
async fn a_write_to_the_spec_of_a_primary_is_found() {
    let cluster = with(Mistake::EditsThePrimary).await;
    let parts = [
        "apps.testkit.kubewright.dev default/a",
        "more than status and finalizers (spec",
    ];
    found(
        oracles::nothing_foreign_written(&cluster),
        "nothing_foreign_written",
        &parts,
    );
}

#[kubewright_testkit::test]
async fn a_field_taken_from_an_autoscaler_is_found_and_one_taken_back_from_a_person_is_not() {
    let cluster = with(Mistake::OwnsReplicas).await;
    cluster.scale::<Deployment>("a", 3).await;
    cluster.patch::<App>("a", json!({ "spec": { "value": "three" } })).await;
    cluster.advance(Duration::from_secs(30)).await;
    oracles::nothing_foreign_written(&cluster).expect("drift by hand may be repaired");

    cluster
        .apply(&json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": { "name": "a", "namespace": "default" },
            "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" },
                "minReplicas": 2, "maxReplicas": 5,
            },
        }))
        .await;
    cluster.advance(Duration::from_secs(30)).await;
    cluster.patch::<App>("a", json!({ "spec": { "value": "four" } })).await;
    cluster.advance(Duration::from_secs(30)).await;
    let parts = [
        "deployments.apps default/a",
        "took spec.replicas from a controller of the cluster",
    ];
    found(
        oracles::nothing_foreign_written(&cluster),
        "nothing_foreign_written",
        &parts,
    );
}

#[kubewright_testkit::test]
async fn an_operator_that_never_rests_is_found() {
    let cluster = with(Mistake::NeverRests).await;
    let silence = Duration::from_secs(60);
    found(
        oracles::converged(&cluster, silence).await,
        "converged",
        &["patch  configmaps default/a"],
    );
}

#[kubewright_testkit::test]
async fn a_key_that_keeps_failing_is_found() {
    let cluster = with(Mistake::Fails).await;
    let silence = Duration::from_secs(60);
    found(
        oracles::converged(&cluster, silence).await,
        "converged",
        &["default/a", "not today"],
    );
}

#[kubewright_testkit::test]
async fn a_storm_is_found() {
    let cluster = TestCluster::start();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client_named("mine"), "default");
    for _ in 0..30 {
        maps.list(&ListParams::default()).await.expect("listed");
        cluster.advance(Duration::from_millis(10)).await;
    }
    oracles::bounded_requests(&cluster, 30, Duration::from_secs(10)).expect("30 are allowed");
    let result = oracles::bounded_requests(&cluster, 20, Duration::from_secs(10));
    found(
        result,
        "bounded_requests",
        &["mine sent more than 20", "21 × list configmaps → 200"],
    );
    oracles::bounded_requests(&cluster, 20, Duration::from_millis(100)).expect("no more at a time");
}

#[kubewright_testkit::test]
async fn a_replica_that_writes_without_the_lease_is_found() {
    let cluster = TestCluster::start();
    let first = cluster.operator(copier()).replica("a").leader_election().start().await;
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    let second = cluster.operator(copier()).replica("b").leader_election().start().await;
    cluster.advance(Duration::from_secs(30)).await;
    oracles::one_writer_per_lease(&cluster).expect("only the leader wrote");

    // The other replica has a way around its fence.
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client_named("b"), "default");
    maps.delete("a", &Default::default()).await.expect("deleted");
    let parts = ["b wrote configmaps default/a", "while a held default/copier"];
    found(oracles::one_writer_per_lease(&cluster), "one_writer_per_lease", &parts);
    found(
        oracles::one_writer_of(&cluster, "copier", &["a", "b"]),
        "one_writer_per_lease",
        &parts,
    );
    drop((first, second));
}

#[kubewright_testkit::test]
async fn runs_with_other_seeds_end_in_the_same_state_and_what_differs_is_shown() {
    async fn run(seed: u64, image: &str) -> Snapshot {
        let cluster = TestCluster::builder().seed(seed).start();
        let web = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "default" },
            "spec": {
                "replicas": 3, "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "web", "image": image }] },
                },
            },
        });
        cluster.apply(&web).await;
        let ready = json!({ "status": { "readyReplicas": 3 } });
        cluster.wait_for_fields::<Deployment>("web", ready).await;
        cluster.advance(Duration::from_secs(seed)).await;
        Snapshot::of(&cluster).without("ReplicaSet")
    }
    let first = run(1, "nginx:1").await;
    oracles::same_end_state(&first, &run(9, "nginx:1").await).expect("only the seed differs");
    let other = run(1, "nginx:2").await;
    let parts = [
        "Deployment default/web differs",
        "-            \"image\": \"nginx:1\"",
        "+            \"image\": \"nginx:2\"",
    ];
    found(oracles::same_end_state(&first, &other), "same_end_state", &parts);
    let without = other.without("Deployment");
    found(
        oracles::same_end_state(&first, &without),
        "same_end_state",
        &["Deployment default/web is missing"],
    );
    found(
        oracles::same_end_state(&without, &first),
        "same_end_state",
        &["should not be there"],
    );
}
