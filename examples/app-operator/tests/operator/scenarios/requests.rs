//! Requests that fail, are late, or whose answer is lost.

use std::time::Duration;

use kubewright_testkit::{Fault, OnRequest, Operator, TestCluster, Verb, Violation};

use super::{Make, Moment, found, good, naive, same_life};

/// Something goes wrong with requests when the App is changed.
async fn when_changed(make: Make, told: &str, fault: Fault<OnRequest>) -> Result<(), Violation> {
    same_life(make, told, async |cluster: &TestCluster, _: &Operator, moment| {
        if moment == Moment::Made {
            cluster.inject(fault.clone());
        }
    })
    .await
}

/// Something goes wrong with requests when the App is made.
async fn when_made(make: Make, told: &str, fault: Fault<OnRequest>) -> Result<(), Violation> {
    same_life(make, told, async |cluster: &TestCluster, _: &Operator, moment| {
        if moment == Moment::Before {
            cluster.inject(fault.clone());
        }
    })
    .await
}

#[kubewright_testkit::test]
async fn an_internal_error_is_tried_again_which_an_operator_that_swallows_errors_does_not() {
    let fault = || Fault::status(500).of("configmaps").times(1);
    let told = "patch configmaps default/hello is answered 500";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::swallows_errors, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_conflict_is_tried_again_which_an_operator_that_swallows_errors_does_not() {
    let fault = || Fault::conflict().of("configmaps").times(5);
    let told = "patch configmaps default/hello is answered 409";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::swallows_errors, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_gateway_timeout_is_tried_again_which_an_operator_that_swallows_errors_does_not() {
    let fault = || Fault::status(504).of("configmaps").times(20);
    let told = "patch configmaps default/hello is answered 504";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::swallows_errors, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_throttled_operator_waits_as_it_is_told_and_one_that_retries_at_once_makes_a_storm() {
    let fault = || Fault::throttled(Duration::from_secs(5)).of("configmaps");
    let told = "patch configmaps default/hello is answered 429";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::retries_at_once, told, fault()).await,
        "bounded_requests",
    );
}

#[kubewright_testkit::test]
async fn a_slow_write_is_known_to_take_effect_in_the_end_unless_names_are_noted_afterwards() {
    let slow = || Fault::slow(Duration::from_secs(5)).of("configmaps").times(1);
    let fault = || slow().on(Verb::Create).on(Verb::Patch);
    let told = "waits 5s";
    when_made(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_made(naive::notes_the_name_afterwards, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_request_that_is_never_answered_is_given_up_and_tried_again() {
    let fault = || Fault::timeout().of("configmaps").times(1);
    let told = "patch configmaps default/hello is never answered";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::swallows_errors, told, fault()).await,
        "same_end_state",
    );
}

#[kubewright_testkit::test]
async fn a_lost_answer_makes_no_duplicate_unless_names_are_noted_afterwards() {
    for fault in [Fault::timeout(), Fault::cut(), Fault::status(500), Fault::status(504)] {
        let fault = fault.after_effect().of("configmaps").times(1);
        let told = "configmaps default/hello took effect, and";
        when_made(good, told, fault.clone())
            .await
            .expect("the operator comes through");
        let told = "configmaps in default took effect, and";
        let naive = when_made(naive::notes_the_name_afterwards, told, fault).await;
        found(naive, "same_end_state");
    }
}

#[kubewright_testkit::test]
async fn a_broken_connection_is_mended_which_an_operator_that_swallows_errors_does_not() {
    let fault = || Fault::cut().of("configmaps").times(1);
    let told = "patch configmaps default/hello loses its connection";
    when_changed(good, told, fault())
        .await
        .expect("the operator comes through");
    found(
        when_changed(naive::swallows_errors, told, fault()).await,
        "same_end_state",
    );
}
