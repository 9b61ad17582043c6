//! Which requests are hit, and what is said of rules that make no sense.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::api::Api;
use kubewright_testkit::{Events, Fault, TestCluster, Verb};

use super::{cluster, code, create};

#[kubewright_testkit::test]
async fn a_rule_picks_by_verb_resource_name_and_number() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(
        Fault::status(500)
            .on(Verb::Create)
            .of("configmaps")
            .named("b")
            .nth(2)
            .times(2),
    );
    let mut codes = Vec::new();
    for name in ["a", "b", "b", "b", "b"] {
        codes.push(code(create(&maps, name).await));
    }
    assert_eq!(codes, [200, 200, 500, 500, 409]);
    assert_eq!(code(maps.get("b").await), 200);
    assert_eq!(fault.fired(), 2);
}

#[kubewright_testkit::test]
async fn what_a_probability_hits_follows_from_the_seed_and_from_no_other_fault() {
    async fn hits(seed: u64, before: bool) -> Vec<u16> {
        let cluster = TestCluster::builder().seed(seed).start();
        let maps = Api::<ConfigMap>::namespaced(cluster.client(), "default");
        let fault = cluster.inject(Fault::status(500).on(Verb::Get).of("configmaps").probability(0.5));
        if before {
            // Draws of its own.
            cluster.inject(Fault::status(500).on(Verb::Create).of("configmaps").probability(0.5));
            for name in ["a", "b", "c"] {
                let _ = create(&maps, name).await;
            }
        }
        let mut codes = Vec::new();
        for _ in 0..40 {
            codes.push(code(maps.get("none").await));
        }
        assert!((10..=30).contains(&fault.fired()), "{}", fault.fired());
        codes
    }
    let first = hits(7, false).await;
    assert_eq!(first, hits(7, true).await);
    assert_ne!(first, hits(8, false).await);
}

#[kubewright_testkit::test]
async fn faults_of_the_builder_are_in_force_from_the_start_and_their_handles_can_be_had() {
    let cluster = TestCluster::builder()
        .fault(Fault::status(500).on(Verb::Create).of("configmaps").times(1))
        .start();
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), "default");
    assert_eq!(code(create(&maps, "a").await), 500);
    assert_eq!(code(create(&maps, "a").await), 200);
    let [fault] = &*cluster.faults() else {
        panic!("there is one");
    };
    fault.assert_fired();
    assert_eq!(fault.to_string(), "status 500 on create of configmaps, 1 times");
}

#[kubewright_testkit::test]
async fn each_time_that_a_fault_fires_is_a_line_of_the_story() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(Fault::status(500).of("configmaps").times(1));
    let _ = create(&maps, "a").await;
    fault.heal();
    let lines = cluster.story().faults().to_string();
    assert!(
        lines.contains("status 500 of configmaps, 1 times: client: create configmaps default/a is answered 500"),
        "{lines}"
    );
    assert!(lines.contains("is healed"), "{lines}");
}

#[kubewright_testkit::test]
#[should_panic(expected = "never fired: nothing came that its rule fits")]
async fn a_fault_that_never_fired_is_a_failure_for_who_asks() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(Fault::status(500).of("secrets"));
    let _ = create(&maps, "a").await;
    fault.assert_fired();
}

#[kubewright_testkit::test]
#[should_panic(expected = "write `deployments` instead of `Deployment`")]
async fn a_resource_is_named_by_its_plural() {
    let (cluster, _) = cluster();
    cluster.inject(Fault::status(500).of("Deployment"));
}

#[kubewright_testkit::test]
#[should_panic(expected = "a get has no effect for something to happen after")]
async fn nothing_happens_after_the_effect_of_a_read() {
    let (cluster, _) = cluster();
    cluster.inject(Fault::cut().after_effect().on(Verb::Get));
}

#[kubewright_testkit::test]
#[should_panic(expected = "a view lags for a whole watch")]
async fn a_view_lags_for_no_single_object() {
    let (cluster, _) = cluster();
    cluster.inject(Fault::watch_frozen().of("configmaps").named("a"));
}

#[test]
#[should_panic(expected = "the first is nth(1)")]
fn there_is_no_number_nothing() {
    let _ = Fault::status(500).nth(0);
}

#[test]
#[should_panic(expected = "more than 0 and at most 1")]
fn a_probability_lies_between_nothing_and_one() {
    let _ = Fault::status(500).probability(1.5);
}

#[test]
#[should_panic(expected = "an error has a code from 400 to 599")]
fn a_success_is_no_fault() {
    let _ = Fault::status(200);
}

#[test]
#[should_panic(expected = "Fault::throttled() happens before a request has any effect")]
fn throttling_comes_before_any_effect() {
    let _ = Fault::throttled(std::time::Duration::from_secs(1)).after_effect();
}

#[kubewright_testkit::test]
async fn a_fault_that_names_the_test_hits_its_own_helpers_and_nobody_else() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(Fault::status(500).by("test").of("configmaps").times(1));
    assert_eq!(code(create(&maps, "a").await), 200);
    let yaml = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}";
    let refused = cluster
        .try_apply_yaml(yaml)
        .await
        .expect_err("the fault hits it")
        .to_string();
    assert!(
        refused.contains("configmap/b: Internal error occurred: injected by the test"),
        "{refused}"
    );
    cluster.apply_yaml(yaml).await;
    fault.assert_fired();
}

#[test]
#[should_panic(expected = "a delay of 18446744073709551615.999999999s never ends; write `Fault::watch_frozen()`")]
fn a_delay_that_never_ends_has_another_name() {
    let _ = Fault::watch_delayed(std::time::Duration::MAX);
}

#[kubewright_testkit::test(timeout = "2h")]
#[should_panic(expected = "2 h of the test's time have passed")]
async fn a_request_that_is_slower_than_any_clock_is_a_request_that_never_ends() {
    let (cluster, maps) = cluster();
    cluster.inject(Fault::slow(std::time::Duration::MAX).of("configmaps"));
    let _ = create(&maps, "a").await;
}

#[test]
#[should_panic(expected = "a delay of nothing")]
fn a_delay_is_longer_than_nothing() {
    let _ = Fault::watch_delayed(Events(0));
}
