//! Names that are taken.

use std::time::Duration;

use app_operator::api::App;
use app_operator::manager;
use kubewright::k8s_openapi::api::core::v1::Service;
use kubewright::k8s_openapi::api::events::v1::Event;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::{SAMPLE, app, condition, is_ready};

const STRANGERS: &str = "
apiVersion: v1
kind: Service
metadata: { name: hello, namespace: default }
spec: { ports: [{ port: 9 }], selector: { of: strangers } }
";

#[kubewright_testkit::test]
async fn a_strangers_service_is_left_alone_and_the_app_says_so() {
    let cluster = TestCluster::start();
    cluster.apply_yaml(STRANGERS).await;
    let before = cluster.get::<Service>("hello").await.expect("the stranger's Service");
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.apply(&app("other", &json!({ "image": "nginx" }))).await;

    let hello = cluster
        .wait_for::<App>("hello", |app| {
            condition(app, "Applied").is_some_and(|c| c.reason == "NameTaken")
        })
        .await;
    let message = &condition(&hello, "Applied").expect("waited for").message;
    assert!(
        message.contains("Service default/hello exists and is not ours"),
        "{message}"
    );
    cluster
        .eventually("a Warning event tells of the name that is taken", || async {
            let events = cluster.list::<Event>().await;
            events
                .iter()
                .any(|e| e.reason.as_deref() == Some("NameTaken") && e.type_.as_deref() == Some("Warning"))
        })
        .await;
    // The other App goes on as if nothing were.
    cluster.wait_for::<App>("other", is_ready).await;
    let after = cluster.get::<Service>("hello").await.expect("still there");
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn once_the_name_is_free_the_app_takes_it() {
    let cluster = TestCluster::start();
    cluster.apply_yaml(STRANGERS).await;
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster
        .wait_for::<App>("hello", |app| {
            condition(app, "Applied").is_some_and(|c| c.status == "False")
        })
        .await;

    cluster.delete::<Service>("hello").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    cluster.wait_for::<App>("hello", is_ready).await;
    operator.stop().await;
}
