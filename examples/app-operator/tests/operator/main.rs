//! The operator against a cluster in the process, on paused time.

mod cli;
mod conflict;
mod crash;
mod hour;
mod life;
mod recover;
mod scale;
mod scenarios;
mod webhooks;

use app_operator::api::App;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};

/// A sample of the kind, as a user writes it.
const SAMPLE: &str = include_str!("../../app.yaml");

fn condition<'a>(app: &'a App, kind: &str) -> Option<&'a Condition> {
    app.status.as_ref()?.conditions.iter().find(|c| c.type_ == kind)
}

fn is_ready(app: &App) -> bool {
    let of_this_spec = |c: &Condition| c.status == "True" && c.observed_generation == app.metadata.generation;
    condition(app, "Ready").is_some_and(of_this_spec)
}

fn app(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "demo.dev/v1", "kind": "App", "metadata": { "name": name, "namespace": "default" }, "spec": spec })
}

/// `count` Apps with one pod each, named `app-0` and so on.
async fn many(cluster: &TestCluster, count: usize) {
    for i in 0..count {
        cluster
            .apply(&app(&format!("app-{i}"), &json!({ "image": "nginx" })))
            .await;
    }
}
