//! What the operator says of Apps before they are stored.

use app_operator::api::App;
use app_operator::manager;
use app_operator::webhooks::TEAM;
use kubewright_testkit::{TestCluster, WebhookFault};
use serde_json::json;

use crate::{app, is_ready};

#[kubewright_testkit::test]
async fn an_app_whose_configuration_is_no_environment_is_refused_with_each_field() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let wrong = app(
        "a",
        &json!({ "image": "nginx", "config": { "GREETING": "x", "no-name": "y", "2nd": "z" } }),
    );
    let refused = cluster
        .try_apply_yaml(&wrong.to_string())
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        refused.contains(
            "denied the request: App.demo.dev \"a\" is invalid: [spec.config[2nd]: Invalid value: \"2nd\": must be the name"
        ),
        "{refused}"
    );
    assert!(refused.contains("spec.config[no-name]"), "{refused}");
    assert!(cluster.get::<App>("a").await.is_none());
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn an_app_is_its_namespaces_unless_it_says_otherwise() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let stored = cluster
        .apply(&app(
            "a",
            &json!({ "image": "nginx", "ingress": { "host": "Hello.Example" } }),
        ))
        .await;
    assert_eq!(stored["metadata"]["labels"][TEAM], "default");
    assert_eq!(stored["spec"]["ingress"]["host"], "hello.example");
    let mut own = app("b", &json!({ "image": "nginx" }));
    own["metadata"]["labels"] = json!({ TEAM: "web" });
    assert_eq!(cluster.apply(&own).await["metadata"]["labels"][TEAM], "web");
    cluster.wait_for::<App>("a", is_ready).await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn while_the_operator_is_down_apps_are_taken_as_they_are() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let down = cluster.break_webhooks("app-operator", WebhookFault::Down);
    cluster.apply(&app("a", &json!({ "image": "nginx" }))).await;
    assert!(down.fired() > 0);
    down.heal();
    cluster.wait_for::<App>("a", is_ready).await;
    operator.stop().await;
}
