//! What becomes of the faults in an operator: it comes to the same end, sends a bounded number of requests meanwhile, and
//! is silent then.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::{Events, Fault, OnRequest, OnWatch, Operator, TestCluster, Verb, oracles};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{App, copied, copier, put};

/// An operator at rest, with the App `a` copied.
async fn running() -> (TestCluster, Operator) {
    let cluster = TestCluster::start();
    let operator = cluster.run(copier()).await;
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    sleep(Duration::from_secs(40)).await;
    (cluster, operator)
}

/// Ends a test: the copy belongs to its App, and nothing more is sent.
async fn at_rest(cluster: &TestCluster, operator: Operator) {
    let copy = cluster.get::<ConfigMap>("a").await.expect("the copy is there");
    let app = cluster.get::<App>("a").await.expect("the App is there");
    let owners = copy.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners.len(), 1, "{owners:?}");
    assert_eq!(Some(&owners[0].uid), app.metadata.uid.as_ref());
    if let Err(violation) = oracles::converged(cluster, Duration::from_secs(300)).await {
        panic!("{violation}");
    }
    operator.stop().await;
}

fn of_copies(operator: &Operator) -> usize {
    operator.requests().of("configmaps").writes().count()
}

fn faults_of_writes() -> Vec<Fault<OnRequest>> {
    let times = |fault: Fault<OnRequest>| fault.times(2);
    vec![
        times(Fault::status(500)),
        times(Fault::status(500).after_effect()),
        times(Fault::status(503)),
        times(Fault::status(503).after_effect()),
        times(Fault::status(504)),
        times(Fault::status(504).after_effect()),
        times(Fault::conflict()),
        times(Fault::throttled(Duration::from_secs(5))),
        times(Fault::timeout()),
        times(Fault::timeout().after_effect()),
        times(Fault::cut()),
        times(Fault::cut().after_effect()),
        times(Fault::unreachable()),
        times(Fault::slow(Duration::from_secs(10))),
        times(Fault::slow(Duration::from_secs(10)).after_effect()),
        times(Fault::slow(Duration::from_secs(45))),
        times(Fault::slow(Duration::from_secs(45)).after_effect()),
    ]
}

#[kubewright_testkit::test]
async fn whatever_befalls_a_write_it_is_done_in_the_end_and_once() {
    for fault in faults_of_writes() {
        let (cluster, operator) = running().await;
        let before = of_copies(&operator);
        let fault = cluster.inject(fault.on(Verb::Patch).of("configmaps"));
        put(&cluster, "a", "two").await;
        copied(&cluster, "a", "two").await;
        // Who waits for an answer that never comes gives up after half a minute.
        sleep(Duration::from_secs(120)).await;
        at_rest(&cluster, operator).await;
        fault.assert_fired();
        let sent = cluster.story().writes().of("configmaps").by("copier").count() - before;
        assert!(
            sent <= 4,
            "{fault}: {sent} writes\n{}",
            cluster.story().since(cluster.env().now())
        );
        let changes = cluster
            .story()
            .writes()
            .of("configmaps")
            .by("copier")
            .effective()
            .count();
        assert_eq!(changes, 2, "{fault}: created once, changed once");
    }
}

#[kubewright_testkit::test]
async fn whatever_befalls_lists_and_watches_at_the_start_the_operator_comes_up() {
    let faults = || {
        let mut faults: Vec<Fault<OnRequest>> = vec![
            Fault::status(500),
            Fault::status(503),
            Fault::status(504),
            Fault::throttled(Duration::from_secs(5)),
            Fault::timeout(),
            Fault::cut(),
            Fault::unreachable(),
            Fault::slow(Duration::from_secs(10)),
            Fault::slow(Duration::from_secs(45)),
            Fault::status(400),
            Fault::status(422),
        ];
        faults = faults.into_iter().map(|fault| fault.times(3)).collect();
        faults
    };
    for resource in ["apps", "configmaps"] {
        for fault in faults() {
            let cluster = TestCluster::builder()
                .fault(fault.on(Verb::Watch).on(Verb::List).of(resource))
                .start();
            let operator = cluster.run(copier()).await;
            put(&cluster, "a", "one").await;
            copied(&cluster, "a", "one").await;
            at_rest(&cluster, operator).await;
            for fault in cluster.faults() {
                fault.assert_fired();
            }
        }
    }
}

fn faults_of_events() -> Vec<Fault<OnWatch>> {
    vec![
        Fault::watch_cut_before_event().times(2),
        Fault::watch_cut_after_event().times(2),
        Fault::watch_duplicated(),
        Fault::watch_expired().times(2),
        Fault::watch_delayed(Duration::from_secs(20)),
    ]
}

#[kubewright_testkit::test]
async fn whatever_befalls_a_watch_a_change_and_a_deletion_are_seen() {
    for fault in faults_of_events() {
        let (cluster, operator) = running().await;
        let fault = cluster.inject(fault);
        put(&cluster, "a", "two").await;
        copied(&cluster, "a", "two").await;
        cluster.actor("jane").delete::<ConfigMap>("a").await;
        copied(&cluster, "a", "two").await;
        at_rest(&cluster, operator).await;
        fault.assert_fired();
    }
}

#[kubewright_testkit::test]
async fn own_writes_are_not_undone_by_a_view_that_does_not_show_them_yet() {
    for fault in [
        Fault::watch_frozen().of("configmaps"),
        Fault::watch_delayed(Events(1)).of("configmaps"),
        Fault::watch_delayed(Duration::from_secs(60)).of("configmaps"),
    ] {
        let (cluster, operator) = running().await;
        let before = of_copies(&operator);
        let fault = cluster.inject(fault);
        for value in ["two", "three", "four"] {
            put(&cluster, "a", value).await;
            copied(&cluster, "a", value).await;
        }
        sleep(Duration::from_secs(600)).await;
        assert_eq!(of_copies(&operator) - before, 3, "{fault}");
        fault.assert_fired();
        fault.heal();
        copied(&cluster, "a", "four").await;
        at_rest(&cluster, operator).await;
    }
}

#[kubewright_testkit::test]
async fn a_frozen_view_of_the_primary_hides_changes_until_it_is_healed_and_from_no_new_replica() {
    let (cluster, operator) = running().await;
    let frozen = cluster.inject(Fault::watch_frozen().of("apps"));
    put(&cluster, "a", "two").await;
    let stale = || async {
        cluster
            .get::<ConfigMap>("a")
            .await
            .is_some_and(|map| map.data.is_some_and(|d| d["value"] == "one"))
    };
    cluster.stays("the copy is old", Duration::from_secs(300), stale).await;
    operator.crash();
    // First lists are of the newest state, whatever the watch cache shows.
    let next = cluster.operator(copier()).replica("next").start().await;
    copied(&cluster, "a", "two").await;
    put(&cluster, "a", "three").await;
    frozen.heal();
    copied(&cluster, "a", "three").await;
    at_rest(&cluster, next).await;
}

#[kubewright_testkit::test]
async fn a_deletion_missed_while_history_was_compacted_is_found() {
    let (cluster, operator) = running().await;
    let away = cluster.inject(Fault::unreachable().on(Verb::Watch).on(Verb::List));
    assert!(cluster.cut_watches("configmaps") > 0);
    cluster.actor("jane").delete::<ConfigMap>("a").await;
    cluster.compact();
    sleep(Duration::from_secs(20)).await;
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    away.heal();
    copied(&cluster, "a", "one").await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn after_a_restart_of_the_server_every_watch_lists_anew_once_and_goes_on() {
    let (cluster, operator) = running().await;
    let before = operator.requests().count();
    cluster.restart_server().await;
    sleep(Duration::from_secs(60)).await;
    let sent = operator.requests().count() - before;
    // Per watch: one that is answered 410, one that lists by streaming.
    assert!((2..=6).contains(&sent), "{sent} requests\n{}", cluster.story());
    put(&cluster, "a", "two").await;
    copied(&cluster, "a", "two").await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn an_outage_is_asked_after_ever_more_seldom_and_over_within_a_minute_of_its_end() {
    let (cluster, operator) = running().await;
    let down = cluster.take_server_down().await;
    put(&cluster, "a", "two").await;
    sleep(Duration::from_secs(120)).await;
    let early = down.fired();
    sleep(Duration::from_secs(600)).await;
    let late = down.fired() - early;
    // Two watches, each at most once in 30 s.
    assert!(
        (20..=50).contains(&late),
        "{late} tries in ten minutes, {early} in the first two"
    );
    let back = Instant::now();
    down.heal();
    copied(&cluster, "a", "two").await;
    assert!(back.elapsed() < Duration::from_secs(60), "{:?}", back.elapsed());
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn an_operator_that_starts_while_the_server_is_down_comes_up_once_it_is_back() {
    let cluster = TestCluster::start();
    let stopped = cluster.run(copier()).await;
    stopped.stop().await;
    let down = cluster.take_server_down().await;
    let operator = cluster.run(copier()).await;
    sleep(Duration::from_secs(600)).await;
    assert!(operator.is_running());
    down.heal();
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    at_rest(&cluster, operator).await;
}

async fn refused(cluster: &TestCluster, fault: &str) {
    cluster
        .eventually("a run fails and names the missing right", || async {
            cluster
                .story()
                .reconciles("default/a")
                .iter()
                .any(|run| run.outcome.to_string().contains(fault))
        })
        .await;
}

#[kubewright_testkit::test]
async fn a_right_to_write_that_is_withdrawn_is_named_and_its_return_is_noticed() {
    let (cluster, operator) = running().await;
    let withdrawn = operator.withdraw(Verb::Patch, "configmaps").await;
    put(&cluster, "a", "two").await;
    refused(&cluster, "`patch` on `configmaps`").await;
    withdrawn.restore().await;
    copied(&cluster, "a", "two").await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn rights_to_read_that_are_withdrawn_stop_a_watch_only_until_they_return() {
    let (cluster, operator) = running().await;
    let watch = operator.withdraw(Verb::Watch, "configmaps").await;
    let list = operator.withdraw(Verb::List, "configmaps").await;
    cluster.cut_watches("configmaps");
    sleep(Duration::from_secs(300)).await;
    // The other watch and the writes go on.
    put(&cluster, "a", "two").await;
    copied(&cluster, "a", "two").await;
    cluster.actor("jane").delete::<ConfigMap>("a").await;
    watch.restore().await;
    list.restore().await;
    let back = Instant::now();
    copied(&cluster, "a", "two").await;
    assert!(back.elapsed() < Duration::from_secs(60), "{:?}", back.elapsed());
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn a_kind_that_goes_and_comes_back_is_reconciled_again() {
    let (cluster, operator) = running().await;
    let removed = cluster.remove_kind::<App>().await;
    sleep(Duration::from_secs(300)).await;
    assert!(operator.is_running());
    removed.restore().await;
    put(&cluster, "a", "two").await;
    copied(&cluster, "a", "two").await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn a_kind_that_goes_takes_what_its_objects_owned_with_it() {
    let (cluster, operator) = running().await;
    let removed = cluster.remove_kind::<App>().await;
    cluster.wait_gone::<ConfigMap>("a").await;
    removed.restore().await;
    put(&cluster, "a", "two").await;
    copied(&cluster, "a", "two").await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn what_another_actor_edits_deletes_and_holds_by_a_finalizer_is_put_right() {
    let (cluster, operator) = running().await;
    let jane = cluster.actor("jane");
    jane.edit::<ConfigMap>("a", json!({ "data": { "value": "hers" } }))
        .await;
    copied(&cluster, "a", "one").await;
    jane.add_finalizer::<ConfigMap>("a", "jane.dev/hold").await;
    jane.delete::<ConfigMap>("a").await;
    sleep(Duration::from_secs(60)).await;
    jane.remove_finalizer::<ConfigMap>("a", "jane.dev/hold").await;
    cluster
        .eventually("there is a new copy", || async {
            cluster
                .get::<ConfigMap>("a")
                .await
                .is_some_and(|map| map.metadata.deletion_timestamp.is_none())
        })
        .await;
    at_rest(&cluster, operator).await;
}

#[kubewright_testkit::test]
async fn a_strangers_object_of_the_same_name_is_left_alone_until_it_goes() {
    let (cluster, operator) = running().await;
    let jane = cluster.actor("jane");
    operator.pause();
    let hers = jane.recreate::<ConfigMap>("a").await;
    operator.resume();
    put(&cluster, "a", "two").await;
    sleep(Duration::from_secs(120)).await;
    let now = cluster.get::<ConfigMap>("a").await.expect("it is there");
    assert_eq!((now.metadata.uid, now.data), (hers.metadata.uid, hers.data));
    jane.delete::<ConfigMap>("a").await;
    copied(&cluster, "a", "two").await;
    at_rest(&cluster, operator).await;
}
