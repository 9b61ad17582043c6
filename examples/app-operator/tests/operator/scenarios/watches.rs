//! Watches that break, lag, stand still, or say a thing twice.

use std::time::Duration;

use kubewright_testkit::{Events, Fault, OnWatch, Operator, TestCluster, Violation};

use super::{Make, Moment, found, good, naive, same_life};

/// Something goes wrong with watches from a moment on. Where it happens so often, it is since the naive operator has two
/// watches of Apps.
async fn from(moment: Moment, make: Make, told: &str, fault: Fault<OnWatch>) -> Result<(), Violation> {
    same_life(make, told, async |cluster: &TestCluster, _: &Operator, now| {
        if now == moment {
            cluster.inject(fault.clone());
        }
    })
    .await
}

#[kubewright_testkit::test]
async fn a_watch_that_breaks_goes_on_where_it_was_and_does_not_take_all_for_new() {
    for fault in [Fault::watch_cut_before_event(), Fault::watch_cut_after_event()] {
        let fault = fault.of("apps").times(2);
        let told = "MODIFIED apps default/hello";
        from(Moment::Made, good, told, fault.clone())
            .await
            .expect("the operator comes through");
        let naive = from(Moment::Made, naive::watches_by_itself, told, fault).await;
        found(naive, "same_end_state");
    }
}

#[kubewright_testkit::test]
async fn an_event_that_comes_twice_is_one_change() {
    let fault = || Fault::watch_duplicated().of("apps").event("ADDED").times(2);
    let told = "ADDED apps default/hello";
    from(Moment::Before, good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        from(Moment::Before, naive::watches_by_itself, told, fault()).await,
        "no_duplicates",
    );
}

#[kubewright_testkit::test]
async fn a_watch_whose_history_is_gone_lists_anew_and_does_not_take_all_for_new() {
    let fault = || Fault::watch_expired().of("apps").times(2);
    let told = "MODIFIED apps default/hello";
    from(Moment::Made, good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        from(Moment::Made, naive::watches_by_itself, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_frozen_watch_of_children_is_not_believed() {
    let fault = || Fault::watch_frozen().of("configmaps");
    let told = "configmaps default/hello";
    from(Moment::Before, good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        from(Moment::Before, naive::trusts_its_watch, told, fault()).await,
        "no_duplicates",
    );
}

#[kubewright_testkit::test]
async fn a_watch_of_children_that_lags_is_not_believed() {
    for fault in [
        Fault::watch_delayed(Duration::from_secs(90)),
        Fault::watch_delayed(Events(5)),
    ] {
        let fault = fault.of("configmaps");
        let told = "configmaps default/hello";
        from(Moment::Before, good, told, fault.clone())
            .await
            .expect("the operator comes through");
        found(
            from(Moment::Before, naive::trusts_its_watch, told, fault).await,
            "no_duplicates",
        );
    }
}
