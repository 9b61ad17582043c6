//! Finalizers, clean-up and deletion.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, Notes, put};

/// Keeps something outside the cluster for each App.
#[controller(for = App, finalizer = "it.kubewright.dev/outside", backoff(min = "1s", max = "5s"))]
struct Outside {
    notes: Notes,
}

impl Reconciler for Outside {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        assert!(
            app.metadata.deletion_timestamp.is_none(),
            "reconcile of a deleting object"
        );
        let guarded = app.finalizers().iter().any(|name| name == "it.kubewright.dev/outside");
        assert!(guarded, "reconciled before the finalizer was there");
        self.notes.add(format!("made {}", app.name_any()));
        Ok(Action::await_change())
    }

    fn gone(&self, key: &ObjectKey) {
        self.notes.add(format!("gone {}", key.name));
    }
}

impl Cleanup for Outside {
    async fn cleanup(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        assert!(app.metadata.deletion_timestamp.is_some(), "cleanup of a live object");
        self.notes.add(format!("cleaned {}", app.name_any()));
        match &*app.spec.value {
            "stuck" if self.notes.count(&format!("cleaned {}", app.name_any())) < 3 => Err("still in use".into()),
            _ => Ok(Action::await_change()),
        }
    }
}

async fn outside(cluster: &TestCluster) -> (kubewright_testkit::Operator, Notes) {
    let notes = Notes::default();
    let controller = Outside { notes: notes.clone() };
    (cluster.run(Manager::new("outside").controller(controller)).await, notes)
}

#[kubewright_testkit::test]
async fn the_finalizer_comes_before_the_first_reconcile_and_goes_after_a_clean_up() {
    let cluster = TestCluster::start();
    let (operator, notes) = outside(&cluster).await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("it ran", || async { notes.count("made a") >= 1 })
        .await;
    cluster.settled(Duration::from_secs(2)).await;
    cluster.delete::<App>("default/a").await;
    cluster.wait_gone::<App>("default/a").await;
    cluster
        .eventually("gone was called", || async { notes.count("gone a") == 1 })
        .await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(notes.count("cleaned a"), 1);
    assert_eq!(notes.all().last().map(String::as_str), Some("gone a"));
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_clean_up_that_fails_keeps_the_object_and_is_tried_again() {
    let cluster = TestCluster::start();
    let (operator, notes) = outside(&cluster).await;
    put(&cluster, "a", "stuck").await;
    cluster
        .eventually("it ran", || async { notes.count("made a") >= 1 })
        .await;
    cluster.delete::<App>("default/a").await;
    cluster
        .eventually("clean-up was tried", || async { notes.count("cleaned a") >= 1 })
        .await;
    assert!(cluster.get::<App>("default/a").await.is_some());
    cluster.wait_gone::<App>("default/a").await;
    assert_eq!(notes.count("cleaned a"), 3);
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn finalizers_of_others_stay_in_their_order_and_their_objects_are_left_alone() {
    let cluster = TestCluster::start();
    let (operator, _) = outside(&cluster).await;
    operator.stop().await;
    put(&cluster, "a", "1").await;
    let others = json!({ "metadata": { "finalizers": ["x.dev/first", "x.dev/second"] } });
    cluster.patch::<App>("default/a", others).await;
    let (operator, notes) = outside(&cluster).await;
    cluster
        .eventually("it ran", || async { notes.count("made a") >= 1 })
        .await;
    let app = cluster.get::<App>("default/a").await.expect("it is there");
    assert_eq!(
        app.finalizers(),
        ["x.dev/first", "x.dev/second", "it.kubewright.dev/outside"]
    );
    cluster.delete::<App>("default/a").await;
    cluster
        .eventually("it was cleaned", || async { notes.count("cleaned a") == 1 })
        .await;
    let ours_gone = |app: &App| app.finalizers() == ["x.dev/first", "x.dev/second"];
    cluster.wait_for::<App>("default/a", ours_gone).await;
    let (made, runs) = (notes.count("made a"), notes.all().len());
    cluster
        .patch::<App>("default/a", json!({ "metadata": { "labels": { "x": "y" } } }))
        .await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(
        (notes.count("made a"), notes.all().len()),
        (made, runs),
        "neither is called while others hold it"
    );
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_deletion_that_happened_while_the_operator_was_away_is_cleaned_up() {
    let cluster = TestCluster::start();
    let (operator, notes) = outside(&cluster).await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("it ran", || async { notes.count("made a") >= 1 })
        .await;
    operator.stop().await;
    cluster.delete::<App>("default/a").await;
    assert!(
        cluster.get::<App>("default/a").await.is_some(),
        "the finalizer holds it"
    );
    let (operator, notes) = outside(&cluster).await;
    cluster.wait_gone::<App>("default/a").await;
    assert_eq!(notes.count("cleaned a"), 1);
    operator.stop().await;
}

/// A later release, with another finalizer.
#[controller(
    for = App,
    name = "outside",
    finalizer = "it.kubewright.dev/outside-v2",
    retired_finalizers = ["it.kubewright.dev/outside"]
)]
struct Later {
    notes: Notes,
}

impl Reconciler for Later {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(app.finalizers().join(" "));
        Ok(Action::await_change())
    }
}

impl Cleanup for Later {
    async fn cleanup(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(format!("cleaned {}", app.name_any()));
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_finalizer_of_an_earlier_release_is_replaced_and_one_on_a_deleted_object_is_cleaned_up() {
    let cluster = TestCluster::start();
    let (operator, notes) = outside(&cluster).await;
    put(&cluster, "stays", "1").await;
    put(&cluster, "goes", "1").await;
    cluster
        .eventually("both ran", || async {
            notes.count("made stays") >= 1 && notes.count("made goes") >= 1
        })
        .await;
    operator.stop().await;
    cluster.delete::<App>("default/goes").await;
    let notes = Notes::default();
    let later = Later { notes: notes.clone() };
    let operator = cluster.run(Manager::new("outside").controller(later)).await;
    cluster.wait_gone::<App>("default/goes").await;
    assert_eq!(notes.count("cleaned goes"), 1);
    let replaced = |app: &App| app.finalizers() == ["it.kubewright.dev/outside-v2"];
    cluster.wait_for::<App>("default/stays", replaced).await;
    assert_eq!(
        notes.all().iter().find(|note| note.contains('/')).map(String::as_str),
        Some("it.kubewright.dev/outside-v2")
    );
    operator.stop().await;
}
