//! An API server that restarts, forgets, forbids, or no longer knows the kind.

use std::cell::RefCell;

use app_operator::api::App;
use kubewright_testkit::{Operator, TestCluster, Verb};

use super::{MINUTE, Make, Moment, found, good, naive, same_life};
use crate::SAMPLE;

#[kubewright_testkit::test]
async fn a_restart_of_the_server_is_no_news() {
    let restart = async |cluster: &TestCluster, _: &Operator, moment: Moment| {
        if moment == Moment::Made {
            cluster.restart_server().await;
        }
    };
    let told = "API server: restarts";
    same_life(good, told, &restart)
        .await
        .expect("the operator comes through");
    found(
        same_life(naive::watches_by_itself, told, &restart).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn what_compaction_has_skipped_is_found_by_listing_and_is_no_news() {
    let compact = async |cluster: &TestCluster, _: &Operator, moment: Moment| {
        if moment == Moment::Made {
            cluster.compact();
            cluster.cut_watches("apps");
        }
    };
    let told = "etcd: compacts its history";
    same_life(good, told, &compact)
        .await
        .expect("the operator comes through");
    found(
        same_life(naive::watches_by_itself, told, &compact).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_right_that_is_withdrawn_and_given_back_needs_no_restart() {
    async fn lived(make: Make) -> Result<(), kubewright_testkit::Violation> {
        let taken = RefCell::new(None);
        same_life(
            make,
            "→ 403",
            async |_: &TestCluster, operator: &Operator, moment| match moment {
                Moment::Before => {}
                Moment::Made => {
                    let withdrawn = operator.withdraw(Verb::Patch, "configmaps").await;
                    taken.replace(Some(withdrawn));
                }
                Moment::Changed => {
                    let withdrawn = taken.take().expect("it was withdrawn when the App was made");
                    withdrawn.restore().await;
                }
            },
        )
        .await
    }
    lived(good).await.expect("the operator comes through");
    found(lived(naive::swallows_errors).await, "same_end_state");
}

#[kubewright_testkit::test]
async fn a_kind_that_goes_and_comes_back_needs_no_restart() {
    let vanish = async |cluster: &TestCluster, _: &Operator, moment: Moment| {
        if moment == Moment::Made {
            let removed = cluster.remove_kind::<App>().await;
            cluster.advance(MINUTE).await;
            removed.restore().await;
            cluster.apply_yaml(SAMPLE).await;
            cluster.advance(5 * MINUTE).await;
        }
    };
    let told = "is deleted with all its objects";
    same_life(good, told, &vanish)
        .await
        .expect("the operator comes through");
    found(
        same_life(naive::watches_by_itself, told, &vanish).await,
        "same_end_state",
    );
}
