//! What befalls requests, as a client sees it.

use std::io::ErrorKind;
use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube;
use kubewright::kube::api::{Api, ListParams, Patch, PatchParams};
use kubewright_testkit::{Fault, Verb};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{broken, cluster, code, create};

#[kubewright_testkit::test]
async fn an_error_comes_instead_of_a_write_or_after_it() {
    for (after, found) in [(false, false), (true, true)] {
        let (cluster, maps) = cluster();
        let mut fault = Fault::status(500).on(Verb::Create).of("configmaps");
        if after {
            fault = fault.after_effect();
        }
        let fault = cluster.inject(fault);
        assert_eq!(code(create(&maps, "a").await), 500);
        assert_eq!(cluster.get::<ConfigMap>("a").await.is_some(), found);
        assert_eq!(fault.fired(), 1);
        fault.heal();
        assert_eq!(code(create(&maps, "b").await), 200);
        assert_eq!(fault.fired(), 1);
    }
}

#[kubewright_testkit::test]
async fn a_status_has_the_reason_of_its_code_and_names_the_object() {
    let (cluster, maps) = cluster();
    for (code, reason) in [
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        let fault = cluster.inject(Fault::status(code).on(Verb::Get).of("configmaps"));
        let Err(kube::Error::Api(status)) = maps.get("a").await else {
            panic!("{code} is an error");
        };
        assert_eq!((status.code, &*status.reason), (code, reason));
        assert_eq!(status.details.expect("it has details").name, "a");
        fault.heal();
    }
}

#[kubewright_testkit::test]
async fn a_conflict_leaves_the_object_as_it_was() {
    let (cluster, maps) = cluster();
    create(&maps, "a").await.expect("created");
    let fault = cluster.inject(Fault::conflict().of("configmaps").named("default/a"));
    let patch = Patch::Merge(json!({ "data": { "k": "v" } }));
    let Err(kube::Error::Api(status)) = maps.patch("a", &PatchParams::default(), &patch).await else {
        panic!("a conflict is an error");
    };
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    assert!(cluster.get::<ConfigMap>("a").await.expect("it is there").data.is_none());
    fault.assert_fired();
}

#[kubewright_testkit::test]
async fn a_throttled_client_is_told_how_long_to_wait() {
    let (cluster, _) = cluster();
    let fault = cluster.inject(Fault::throttled(Duration::from_millis(2500)).of("configmaps").times(1));
    let request = http::Request::get("/api/v1/namespaces/default/configmaps")
        .body(kube::client::Body::empty())
        .expect("a request");
    let answer = cluster.client().send(request).await.expect("an answer");
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "3");
    assert_eq!(fault.fired(), 1);
}

#[kubewright_testkit::test]
async fn an_answer_that_never_comes_leaves_the_client_to_its_own_timeout() {
    for (after, found) in [(false, false), (true, true)] {
        let (cluster, maps) = cluster();
        let mut fault = Fault::timeout().of("configmaps").nth(1);
        if after {
            fault = fault.after_effect();
        }
        let fault = cluster.inject(fault);
        let answer = timeout(Duration::from_secs(3600), create(&maps, "a")).await;
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!(cluster.get::<ConfigMap>("a").await.is_some(), found);
        assert_eq!(code(create(&maps, "b").await), 200, "one alone was hit");
        fault.assert_fired();
    }
}

#[kubewright_testkit::test]
async fn a_connection_breaks_before_or_after_the_write_or_does_not_come_about() {
    let faults = [
        (Fault::cut(), ErrorKind::ConnectionReset, false),
        (Fault::cut().after_effect(), ErrorKind::ConnectionReset, true),
        (Fault::unreachable(), ErrorKind::ConnectionRefused, false),
    ];
    for (fault, kind, found) in faults {
        let (cluster, maps) = cluster();
        let fault = cluster.inject(fault.of("configmaps").times(1));
        assert_eq!(broken(create(&maps, "a").await), kind);
        assert_eq!(cluster.get::<ConfigMap>("a").await.is_some(), found);
        assert_eq!(code(create(&maps, "b").await), 200);
        fault.assert_fired();
    }
}

#[kubewright_testkit::test]
async fn a_slow_write_is_late_itself_or_late_to_be_answered() {
    for (after, found) in [(false, false), (true, true)] {
        let (cluster, maps) = cluster();
        let mut fault = Fault::slow(Duration::from_secs(10)).of("configmaps");
        if after {
            fault = fault.after_effect();
        }
        cluster.inject(fault);
        let began = Instant::now();
        let slow = tokio::spawn(async move { create(&maps, "a").await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(cluster.get::<ConfigMap>("a").await.is_some(), found);
        assert_eq!(code(slow.await.expect("it ends")), 200);
        assert!(began.elapsed() >= Duration::from_secs(10));
        assert!(began.elapsed() < Duration::from_secs(11));
    }
}

#[kubewright_testkit::test]
async fn a_read_that_is_answered_late_is_an_old_answer() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(
        Fault::slow(Duration::from_secs(10))
            .after_effect()
            .on(Verb::List)
            .of("configmaps"),
    );
    let slow = tokio::spawn({
        let maps = maps.clone();
        async move { maps.list(&ListParams::default()).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    create(&maps, "late").await.expect("created");
    let list = slow.await.expect("it ends").expect("it is answered");
    assert!(
        list.items
            .iter()
            .all(|map| map.metadata.name.as_deref() != Some("late"))
    );
    fault.assert_fired();
}

#[kubewright_testkit::test]
async fn history_that_is_gone_hits_later_pages_alone() {
    let (cluster, maps) = cluster();
    for name in ["a", "b", "c"] {
        create(&maps, name).await.expect("created");
    }
    let fault = cluster.inject(Fault::expired().of("configmaps"));
    let page = maps
        .list(&ListParams::default().limit(1))
        .await
        .expect("the first page");
    let token = page.metadata.continue_.expect("more follows");
    assert_eq!(
        code(maps.list(&ListParams::default().limit(1).continue_token(&token)).await),
        410
    );
    assert_eq!(fault.fired(), 1);
}

#[kubewright_testkit::test]
async fn a_watch_that_goes_on_from_what_is_gone_is_answered_410() {
    let (cluster, _) = cluster();
    let fault = cluster.inject(Fault::expired().on(Verb::Watch).of("configmaps"));
    let open = async |query: &str| {
        let request = http::Request::get(format!("/api/v1/configmaps?watch=1&timeoutSeconds=1{query}"))
            .body(kube::client::Body::empty())
            .expect("a request");
        cluster
            .client()
            .send(request)
            .await
            .expect("an answer")
            .status()
            .as_u16()
    };
    assert_eq!(open("").await, 200);
    assert_eq!(open("&resourceVersion=5").await, 410);
    assert_eq!(fault.fired(), 1);
}

#[kubewright_testkit::test]
async fn faults_hit_replicas_and_clients_and_neither_the_test_nor_actors_unless_they_are_named() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(Fault::status(503).of("configmaps"));
    assert_eq!(code(create(&maps, "a").await), 503);
    cluster
        .apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}")
        .await;
    let jane = cluster.actor("jane");
    jane.edit::<ConfigMap>("b", json!({ "data": { "k": "v" } })).await;
    fault.heal();
    let of_jane = cluster.inject(Fault::status(503).of("configmaps").by("jane"));
    assert_eq!(code(create(&maps, "a").await), 200);
    let hers = Api::<ConfigMap>::namespaced(jane.client(), "default");
    assert_eq!(code(hers.get("a").await), 503);
    assert_eq!(of_jane.fired(), 1);
}
