//! One sick key or watch harms nobody else, says what it needs, and recovers: invariants 5 and 9.

use std::time::Duration;

use kubewright::diagnostics::Outcome;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{App, Notes, config_map, holds, put};

/// Panics, hangs or works, as the App's value says.
#[controller(for = App, workers = 2, timeout = "30s")]
struct Moody {
    notes: Notes,
}

impl Reconciler for Moody {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        match &*app.spec.value {
            "panic" => panic!("a bad day"),
            "hang" => std::future::pending().await,
            _ => {
                self.notes.add(app.name_any());
                Ok(Action::await_change())
            }
        }
    }
}

#[kubewright_testkit::test]
async fn a_key_that_panics_and_one_that_hangs_slow_nobody_else() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster
        .run(Manager::new("moody").controller(Moody { notes: notes.clone() }))
        .await;
    put(&cluster, "panics", "panic").await;
    put(&cluster, "hangs", "hang").await;
    sleep(Duration::from_secs(20)).await;
    let start = Instant::now();
    for n in 0..50 {
        put(&cluster, &format!("a{n}"), "work").await;
    }
    cluster
        .eventually("the healthy keys ran", || async { notes.all().len() == 50 })
        .await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    sleep(Duration::from_secs(60)).await;
    let story = cluster.story();
    let panicked = &story.reconciles("default/panics")[0];
    assert!(
        matches!(&panicked.outcome, Outcome::Panicked { message, .. } if message.starts_with("a bad day (at ")),
        "{}",
        panicked.outcome
    );
    let hung = &story.reconciles("default/hangs")[0];
    assert!(matches!(hung.outcome, Outcome::TimedOut { after, .. } if after.as_secs() == 30));
    put(&cluster, "panics", "work").await;
    cluster
        .eventually("the sick key got well", || async { notes.count("panics") == 1 })
        .await;
    operator.stop().await;
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[kube(
    group = "it.kubewright.dev",
    version = "v1",
    kind = "Late",
    plural = "lates",
    namespaced
)]
struct LateSpec {
    #[serde(default)]
    value: String,
}

/// Watches a kind that is defined later.
#[controller(for = Late)]
struct OfLate {
    notes: Notes,
}

impl Reconciler for OfLate {
    async fn reconcile(&self, late: Arc<Late>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(late.spec.value.clone());
        Ok(Action::await_change())
    }
}

/// Applies a ConfigMap.
#[controller(for = App, owns = ConfigMap)]
struct Plain;

impl Reconciler for Plain {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

fn rights(user: &str, rules: &Value) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": user }, "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": user },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user },
            "subjects": [{ "kind": "ServiceAccount", "name": user, "namespace": "default" }],
        }),
    ]
}

async fn grant(cluster: &TestCluster, user: &str, rules: Value) {
    for object in rights(user, &rules) {
        cluster.apply(&object).await;
    }
}

#[kubewright_testkit::test]
async fn a_missing_definition_holds_back_its_controller_alone_and_recovers_without_a_restart() {
    let cluster = TestCluster::start();
    cluster.install::<App>().await;
    grant(
        &cluster,
        "two",
        json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]),
    )
    .await;
    let notes = Notes::default();
    let manager = Manager::new("two")
        .controller(OfLate { notes: notes.clone() })
        .controller(Plain);
    let health = manager.health().clone();
    let operator = cluster.operator(manager).without_manifests().start().await;
    put(&cluster, "a", "1").await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    sleep(Duration::from_secs(30)).await;
    let status = health.status();
    let reason = status["controller of-late"]["waitsFor"][0]["reason"].to_string();
    assert!(reason.contains("install its CRD"), "{reason}");
    assert_eq!(status["controller plain"]["synced"], true);
    cluster.install::<Late>().await;
    let late = json!({
        "apiVersion": "it.kubewright.dev/v1", "kind": "Late",
        "metadata": { "name": "l", "namespace": "default" }, "spec": { "value": "now" },
    });
    cluster.apply(&late).await;
    cluster
        .eventually("the late kind is reconciled", || async { notes.all() == ["now"] })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_missing_permission_names_the_rule_and_recovers_without_a_restart() {
    let cluster = TestCluster::start();
    cluster.install::<App>().await;
    let all = |resources: Value| json!({ "apiGroups": ["*"], "resources": resources, "verbs": ["*"] });
    grant(
        &cluster,
        "plain",
        json!([all(json!(["apps", "apps/status", "apps/finalizers"]))]),
    )
    .await;
    let manager = Manager::new("plain").controller(Plain);
    let health = manager.health().clone();
    let operator = cluster.operator(manager).without_manifests().start().await;
    put(&cluster, "a", "1").await;
    sleep(Duration::from_secs(30)).await;
    let reason = health.status()["controller plain"]["waitsFor"][0]["reason"].to_string();
    assert!(
        reason.contains("` on `configmaps`") && reason.contains("manifests"),
        "{reason}"
    );
    let rules = json!([
        all(json!(["apps", "apps/status", "apps/finalizers"])),
        all(json!(["configmaps"])),
    ]);
    grant(&cluster, "plain", rules).await;
    cluster.wait_for::<ConfigMap>("default/a", |map| holds(map, "1")).await;
    operator.stop().await;
}
