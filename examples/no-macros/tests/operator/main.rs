//! The operator without macros does the same work under the same rights.

mod scenarios;

use app_operator::api::App;
use kubewright::Declaration;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::networking::v1::Ingress;
use kubewright::rbac;
use kubewright_testkit::TestCluster;
use serde_json::json;

const SAMPLE: &str = include_str!("../../../app-operator/app.yaml");

fn is_ready(app: &App) -> bool {
    let conditions = app.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True")
}

#[kubewright_testkit::test]
async fn an_app_becomes_ready_changes_and_goes() {
    let cluster = TestCluster::start();
    let operator = cluster.run(no_macros::manager()).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<App>("hello", is_ready).await;
    cluster
        .patch::<App>("hello", json!({ "spec": { "ingress": null } }))
        .await;
    cluster.wait_gone::<Ingress>("hello").await;
    cluster.delete::<App>("hello").await;
    cluster.wait_gone::<App>("hello").await;
    cluster.wait_gone::<Deployment>("hello").await;
    operator.stop().await;
}

#[test]
fn the_attribute_and_the_builder_declare_the_same() {
    let by_attribute = Declaration::<app_operator::controller::AppController>::of();
    let by_builder = Declaration::<no_macros::AppController>::of();
    let (by_attribute, by_builder) = (by_attribute.declared(), by_builder.declared());
    assert_eq!(rbac::rules(by_attribute), rbac::rules(by_builder));
    assert_eq!(by_attribute.name, by_builder.name);
    assert_eq!(by_attribute.workers, by_builder.workers);
    assert_eq!(by_attribute.finalizer, by_builder.finalizer);
    assert_eq!(
        by_attribute.crd.map(|crd| crd().metadata.name),
        by_builder.crd.map(|crd| crd().metadata.name)
    );
}
