//! What a run knows of what woke it, and keys that wake themselves for ever.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kubewright::diagnostics::Reason;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, AppStatus, config_map, put};

#[controller(for = App, owns = ConfigMap)]
struct Plain;

impl Reconciler for Plain {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_run_knows_the_fields_that_changed_the_versions_and_what_it_did_itself() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("plain").controller(Plain)).await;
    put(&cluster, "a", "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    let before = cluster.get::<App>("default/a").await.expect("it is there");
    let labelled = json!({ "metadata": { "labels": { "it.kubewright.dev/tier": "x" } }, "spec": { "value": "2" } });
    let after = cluster.patch::<App>("default/a", labelled).await;
    cluster.settled(Duration::from_secs(2)).await;
    let runs = cluster.story().reconciles("default/a");
    let told: Vec<String> = runs.iter().map(|run| run.reasons.to_string()).collect();
    let [created, own, changed, own_again] = &told[..] else {
        panic!("four runs, not {told:?}");
    };
    assert_eq!(created, "App default/a created");
    assert!(
        own.contains("default/a created by the last run") || own.contains("by the last run (status)"),
        "{own}"
    );
    assert_eq!(changed, "App default/a changed (metadata.labels, spec.value)",);
    let fields = ["(data.value)", "(status.seen)"];
    assert!(
        fields
            .iter()
            .any(|field| own_again.contains(&format!("by the last run {field}"))),
        "{own_again}"
    );
    let versions = [&before, &after].map(|app| app.resource_version().unwrap_or_default());
    let span = format!("{:#}", runs[2].reasons);
    assert!(span.ends_with(&format!("{}→{}", versions[0], versions[1])), "{span}");
    operator.stop().await;
}

/// Writes something new in each run, until the App's value is `calm`.
#[controller(for = App)]
struct Restless;

impl Reconciler for Restless {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        if app.spec.value != "calm" {
            let seen = cx.now().to_string();
            cx.apply_status(AppStatus { seen }).await?;
        }
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_key_that_wakes_itself_for_ever_is_told_once_with_the_field_that_changes() {
    let cluster = TestCluster::start();
    let manager = Manager::new("restless").controller(Restless);
    let (health, metrics) = (manager.health().clone(), manager.metrics().clone());
    let operator = cluster.run(manager).await;
    put(&cluster, "a", "1").await;
    put(&cluster, "b", "calm").await;
    sleep(Duration::from_secs(4)).await;
    let loops = || health.status()["controller restless"]["hotLoops"].clone();
    assert_eq!(loops().as_array().map(Vec::len), Some(1), "{}", loops());
    assert_eq!(loops()[0]["object"], "default/a");
    let changes = loops()[0]["changes"].to_string();
    assert!(changes.contains("App default/a (status.seen)"), "{changes}");
    let gauge = |value: u32| format!("kubewright_hot_loops{{controller=\"restless\"}} {value}.0");
    assert!(metrics.encode(false).contains(&gauge(1)));
    let told = cluster.list::<Event>().await;
    let told: Vec<&Event> = told
        .iter()
        .filter(|event| event.reason.as_deref() == Some("HotLoop"))
        .collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].series.is_none(), "once, not again and again: {told:?}");
    let runs = cluster.story().reconciles("default/a");
    assert!(runs.len() > 40 && runs[10..].iter().all(|run| run.reasons.are_own()));

    put(&cluster, "a", "calm").await;
    cluster.settled(Duration::from_secs(5)).await;
    assert_eq!(loops(), json!([]), "it came to rest");
    assert!(metrics.encode(false).contains(&gauge(0)));
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_source_a_timer_and_a_change_of_a_child_are_told_apart() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("plain").controller(Plain)).await;
    put(&cluster, "a", "1").await;
    cluster.settled(Duration::from_secs(2)).await;
    let wrong = json!({ "data": { "value": "wrong" } });
    cluster.patch::<ConfigMap>("default/a", wrong).await;
    cluster.settled(Duration::from_secs(2)).await;
    let runs = cluster.story().reconciles("default/a");
    let put_right = runs.iter().flat_map(|run| run.reasons.as_slice());
    let by_child: Vec<&Reason> = put_right
        .filter(|reason| matches!(reason, Reason::Changed { kind, .. } if kind.kind() == "ConfigMap"))
        .collect();
    let own: Vec<bool> = by_child.iter().map(|reason| reason.is_own()).collect();
    assert_eq!(own, [false, true], "{by_child:?}");
    assert_eq!(by_child[0].to_string(), "ConfigMap default/a changed (data.value)");
    operator.stop().await;
}
