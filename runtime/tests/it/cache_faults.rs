//! The client's own rules: what is repeated, what is held back, what an error says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use kubewright::client::{
    ClientError, Fault, Origin, PatchType, Preconditions, Recorder, RequestRecord, Transport, WriteFence,
};

use crate::cache_rig::{MANAGER, Rig, config_map, config_maps, key};

fn busy(code: u16) -> Fault {
    Fault::Answer(
        StatusCode::from_u16(code).expect("a code"),
        bytes::Bytes::from_static(b"busy"),
    )
}

#[kubewright_testkit::test]
async fn a_429_is_repeated_for_reads_and_writes() {
    let rig = Rig::start();
    rig.wire.fault("patch", busy(429));
    rig.wire.fault("patch", busy(429));
    rig.apply(&config_map("a", "1")).await.expect("the third try");
    rig.wire.fault("get", busy(429));
    rig.get(&config_maps(), &key("a")).await.expect("the second try");
}

#[kubewright_testkit::test]
async fn a_503_or_504_is_repeated_for_reads_alone() {
    let rig = Rig::start();
    for code in [503, 504] {
        rig.wire.fault("patch", busy(code));
        let error = rig.apply(&config_map("a", "1")).await.expect_err("told at once");
        assert_eq!(error.code(), Some(code));
        assert_eq!(error.outcome_unknown(), code == 504);
        rig.wire.fault("list", busy(code));
        let origin = Origin::part("test");
        let params = kubewright::client::ListParams::default();
        rig.transport
            .list(&origin, &config_maps(), None, &params)
            .await
            .expect("the second try");
    }
}

#[kubewright_testkit::test]
async fn a_closed_fence_lets_reads_pass_and_sends_no_write() {
    let rig = Rig::start();
    rig.cluster.apply(&config_map("a", "1")).await;
    let fence = WriteFence::closed(rig.cluster.env().clone());
    let transport = rig.transport.fenced(fence.clone());
    let origin = Origin::part("test");
    let before = rig.cluster.requests().writes().count();
    transport
        .get(&origin, &config_maps(), &key("a"))
        .await
        .expect("reads pass");
    let delete = transport
        .delete(&origin, &config_maps(), &key("a"), Preconditions::default())
        .await;
    assert!(matches!(
        delete,
        Err(ClientError::FenceClosed {
            outcome_unknown: false,
            ..
        })
    ));
    // A client for the user's own calls is fenced as well.
    let maps: kubewright::kube::Api<kubewright::k8s_openapi::api::core::v1::ConfigMap> =
        kubewright::kube::Api::namespaced(transport.client(&origin), "default");
    assert!(maps.delete("a", &Default::default()).await.is_err());
    assert_eq!(fence.refused(), 2);
    assert_eq!(rig.cluster.requests().writes().count(), before);
    fence.open_until(Duration::from_secs(1_000_000));
    maps.delete("a", &Default::default()).await.expect("the fence is open");
}

#[kubewright_testkit::test]
async fn a_write_in_flight_is_given_up_when_the_lease_runs_out() {
    let rig = Rig::start();
    let fence = WriteFence::closed(rig.cluster.env().clone());
    fence.open_until(rig.cluster.env().boot_time() + Duration::from_secs(2));
    let transport = rig.transport.fenced(fence.clone());
    rig.wire.fault("patch", Fault::HangAfter);
    let body = config_map("a", "1").to_string().into_bytes();
    let started = tokio::time::Instant::now();
    let error = transport
        .apply(
            &Origin::part("test"),
            &config_maps(),
            &key("a"),
            None,
            body,
            MANAGER,
            true,
        )
        .await
        .expect_err("given up");
    assert!(error.outcome_unknown(), "{error}");
    assert_eq!(started.elapsed().as_secs(), 2);
    assert_eq!(fence.abandoned(), 1);
}

#[derive(Default)]
struct Records(Mutex<Vec<String>>);

impl Recorder for Records {
    fn request(&self, record: &RequestRecord) {
        let who = record.origin.as_ref().map_or("nobody", |origin| &origin.controller);
        let what = record.target.as_ref().map(ToString::to_string).unwrap_or_default();
        let line = format!("{who}: {what} {}", record.code.unwrap_or_default());
        self.0.lock().expect("unpoisoned").push(line);
    }
}

#[kubewright_testkit::test]
async fn every_request_is_recorded_with_who_made_it_and_names_the_operator() {
    let rig = Rig::start();
    let records = Arc::new(Records::default());
    let transport = Transport::builder(rig.cluster.client(), rig.cluster.env().clone())
        .operator("op", "1.2.3")
        .recorder(Arc::clone(&records) as _)
        .build();
    let origin = Origin::reconcile("apps".into(), key("web"), 1);
    let patch = br#"{"data":{"value":"2"}}"#.to_vec();
    let body = config_map("a", "1").to_string().into_bytes();
    transport
        .create(&origin, &config_maps(), &key("a"), body, MANAGER)
        .await
        .expect("created");
    transport
        .patch(
            &origin,
            &config_maps(),
            &key("a"),
            None,
            PatchType::Merge,
            patch,
            MANAGER,
        )
        .await
        .expect("patched");
    let missing = transport.get(&Origin::part("probe"), &config_maps(), &key("b")).await;
    assert!(missing.expect_err("no such object").is_not_found());
    assert_eq!(
        *records.0.lock().expect("unpoisoned"),
        [
            "apps: create configmaps default/a 201",
            "apps: patch configmaps default/a 200",
            "probe: get configmaps default/b 404"
        ]
    );
    let requests = rig.cluster.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.user_agent == "op/1.2.3 kubewright")
    );
}
