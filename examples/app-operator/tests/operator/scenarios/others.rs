//! Somebody else works in the cluster.

use app_operator::api::App;
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright_testkit::{Operator, TestCluster, Violation, oracles};
use serde_json::json;

use super::{MINUTE, Make, Moment, assert_told, found, good, life, naive, same_life};
use crate::{SAMPLE, condition};

#[kubewright_testkit::test]
async fn what_somebody_else_has_edited_is_put_right_unless_one_looks_away() {
    let edit = async |cluster: &TestCluster, _: &Operator, moment: Moment| {
        if moment == Moment::Changed {
            let patch = json!({ "spec": { "selector": { "app.kubernetes.io/name": "another" } } });
            cluster.actor("someone-else").edit::<Service>("hello", patch).await;
        }
    };
    let told = "someone-else patch  services default/hello → 200";
    same_life(good, told, &edit).await.expect("the operator comes through");
    found(same_life(naive::looks_away, told, &edit).await, "same_end_state");
}

#[kubewright_testkit::test]
async fn what_somebody_else_has_deleted_comes_back_unless_one_looks_away() {
    let delete = async |cluster: &TestCluster, _: &Operator, moment: Moment| {
        if moment == Moment::Changed {
            cluster.actor("someone-else").delete::<Service>("hello").await;
        }
    };
    let told = "someone-else delete services default/hello → 200";
    same_life(good, told, &delete)
        .await
        .expect("the operator comes through");
    found(same_life(naive::looks_away, told, &delete).await, "same_end_state");
}

#[kubewright_testkit::test]
async fn what_somebody_else_has_made_anew_is_theirs_unless_names_are_seized() {
    async fn lived(make: Make) -> (TestCluster, Result<(), Violation>) {
        let lived = life(
            make,
            async |cluster: &TestCluster, operator: &Operator, moment: Moment| {
                if moment == Moment::Changed {
                    // So that the operator is not the first to make it anew.
                    operator.partition();
                    cluster.actor("someone-else").recreate::<Service>("hello").await;
                    operator.reconnect();
                }
            },
        )
        .await;
        assert_told(&lived.cluster, "someone-else create services default/hello → 201");
        (lived.cluster, lived.end.map(drop))
    }
    let (cluster, end) = lived(good).await;
    end.expect("every rule holds");
    let app = cluster.get::<App>("hello").await.expect("the App is there");
    assert_eq!(condition(&app, "Ready").map(|c| &*c.reason), Some("NameTaken"));
    found(lived(naive::seizes_names).await.1, "nothing_foreign_written");
}

/// Somebody else holds the App by a finalizer of their own while it is deleted.
async fn held(make: Make) -> (TestCluster, Result<(), Violation>) {
    let cluster = TestCluster::start();
    let operator = cluster.run(make(&cluster)).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.advance(MINUTE).await;
    let other = cluster.actor("someone-else");
    other.add_finalizer::<App>("hello", "someone-else.dev/wait").await;
    other.delete::<App>("hello").await;
    cluster.advance(5 * MINUTE).await;
    assert_told(&cluster, "someone-else patch  apps default/hello → 200");
    drop(operator);
    let end = oracles::nothing_foreign_written(&cluster);
    (cluster, end)
}

#[kubewright_testkit::test]
async fn a_finalizer_of_somebody_else_stays_unless_all_are_cleared() {
    let (cluster, end) = held(good).await;
    end.expect("every rule holds");
    let app = cluster
        .get::<App>("hello")
        .await
        .expect("somebody else still holds the App");
    assert_eq!(app.metadata.finalizers.unwrap_or_default(), ["someone-else.dev/wait"]);
    assert!(
        cluster.get::<Service>("hello").await.is_none(),
        "our own clean-up is done"
    );
    cluster
        .actor("someone-else")
        .remove_finalizer::<App>("hello", "someone-else.dev/wait")
        .await;
    cluster.wait_gone::<ConfigMap>("hello").await;

    found(held(naive::clears_finalizers).await.1, "nothing_foreign_written");
}

#[kubewright_testkit::test]
async fn an_app_that_somebody_else_deletes_takes_its_children_with_it_unless_they_have_no_owner() {
    async fn deleted(make: Make) -> (TestCluster, Result<(), Violation>) {
        let cluster = TestCluster::start();
        let operator = cluster.run(make(&cluster)).await;
        cluster.apply_yaml(SAMPLE).await;
        cluster.advance(MINUTE).await;
        cluster.actor("someone-else").delete::<App>("hello").await;
        cluster.wait_gone::<App>("hello").await;
        cluster.advance(MINUTE).await;
        assert_told(&cluster, "someone-else delete apps default/hello → 200");
        drop(operator);
        let end = oracles::no_orphans(&cluster);
        (cluster, end)
    }
    let (cluster, end) = deleted(good).await;
    end.expect("every rule holds");
    assert!(cluster.get::<ConfigMap>("hello").await.is_none());
    found(deleted(naive::creates_without_owner).await.1, "no_orphans");
}
