//! Metrics and probes of running operators, and what a deployment chooses.

use std::time::Duration;

use kubewright::client::Transport;
use kubewright::health::{Reviewer, router};
use kubewright::manager::ManagerError;
use kubewright::metrics::Metrics;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use tower::ServiceExt as _;

use crate::support::{App, AppStatus, Notes, config_map, put};

/// Fails for some Apps.
#[controller(for = App, owns = ConfigMap, workers = 2, backoff(min = "1s", max = "5s"))]
struct Counted {
    notes: Notes,
}

impl Reconciler for Counted {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        if app.spec.value == "bad" {
            return Err("no".into());
        }
        cx.apply(config_map(&app)).await?;
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        self.notes.add(app.name_any());
        Ok(Action::await_change())
    }
}

/// The lines of a scrape that are values, less what changes with time.
fn series(text: &str) -> Vec<&str> {
    let values = text.lines().filter(|line| !line.starts_with('#'));
    values
        .filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name))
        .collect()
}

fn value(text: &str, series: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let value = line.unwrap_or_else(|| panic!("no series {series} in:\n{text}"));
    value.parse().expect("a number")
}

#[kubewright_testkit::test]
async fn more_objects_make_no_more_series() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("counted").controller(Counted { notes: notes.clone() });
    let metrics = manager.metrics().clone();
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "first", "1").await;
    put(&cluster, "bad", "bad").await;
    cluster
        .eventually("it ran", || async { notes.count("first") >= 2 })
        .await;
    cluster.settled(Duration::from_secs(5)).await;
    let few = metrics.encode(false);
    for n in 0..50 {
        put(&cluster, &format!("more-{n}"), "1").await;
    }
    cluster
        .eventually("they ran", || async { notes.count("more-49") >= 2 })
        .await;
    let many = metrics.encode(false);
    assert_eq!(series(&few), series(&many));
    assert!(
        value(
            &many,
            "controller_runtime_reconcile_total{controller=\"counted\",result=\"success\"}"
        ) >= 52.0
    );
    assert!(
        value(
            &many,
            "controller_runtime_reconcile_errors_total{controller=\"counted\"}"
        ) >= 1.0
    );
    assert!(
        value(
            &many,
            "workqueue_retries_total{name=\"counted\",controller=\"counted\"}"
        ) >= 1.0
    );
    assert_eq!(
        value(
            &many,
            "controller_runtime_max_concurrent_reconciles{controller=\"counted\"}"
        ),
        2.0
    );
    assert_eq!(value(&many, "leader_election_master_status{name=\"counted\"}"), 1.0);
    let apps = "{group=\"it.kubewright.dev\",version=\"v1\",kind=\"App\"}";
    assert_eq!(value(&many, &format!("kubewright_cache_objects{apps}")), 52.0);
    assert_eq!(value(&many, &format!("kubewright_watch_staleness_seconds{apps}")), 0.0);
    assert!(value(&many, "kubewright_applies_skipped_total{controller=\"counted\"}") >= 52.0);
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_broken_watch_shows_for_how_long() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("counted").controller(Counted { notes: notes.clone() });
    let metrics = manager.metrics().clone();
    let operator = cluster.run(manager).await;
    put(&cluster, "first", "1").await;
    cluster
        .eventually("it ran", || async { notes.count("first") >= 1 })
        .await;
    let stale = || {
        value(
            &metrics.encode(false),
            "kubewright_watch_staleness_seconds{group=\"\",version=\"v1\",kind=\"ConfigMap\"}",
        )
    };
    assert_eq!(stale(), 0.0);
    let down = cluster.take_server_down().await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert!((80.0..=90.0).contains(&stale()), "{}", stale());
    down.heal();
    cluster
        .eventually("it is well again", || async { stale() == 0.0 })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn workers_are_what_the_deployment_says_and_only_for_controllers_that_there_are() {
    let cluster = TestCluster::start();
    let manager = || {
        Manager::new("counted").controller(Counted {
            notes: Notes::default(),
        })
    };
    let counted = manager();
    let metrics = counted.metrics().clone();
    let workers = |name: &str, count| {
        let name = name.to_owned();
        move |options: &mut kubewright::manager::Options| {
            options.workers.insert(name, count);
        }
    };
    let operator = cluster.operator(counted).options(workers("counted", 7)).start().await;
    let seven = "controller_runtime_max_concurrent_reconciles{controller=\"counted\"} 7\n";
    let started = || async { metrics.encode(false).contains(seven) };
    cluster.eventually("it has seven workers", started).await;
    operator.stop().await;
    for (name, count, told) in [
        (
            "other",
            1,
            "there is no controller `other` to give workers to: controllers are counted",
        ),
        ("counted", 0, "controller `counted` needs at least 1 worker"),
    ] {
        let operator = cluster.operator(manager()).options(workers(name, count)).start().await;
        let error = operator.ended().await.expect_err("it makes no sense");
        assert!(matches!(error, ManagerError::Options(_)));
        assert_eq!(error.to_string(), told);
    }
}

#[kubewright_testkit::test]
async fn metrics_are_shown_to_whom_the_api_server_lets_see_them() {
    let cluster = TestCluster::start();
    cluster
        .apply_yaml(
            "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: metrics-reader }
rules: [{ nonResourceURLs: [/metrics], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: metrics-reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics-reader }
subjects: [{ kind: User, name: prometheus, apiGroup: rbac.authorization.k8s.io }]
",
        )
        .await;
    let reviewer = Reviewer::new(Transport::new(cluster.client(), cluster.env().clone()));
    let metrics = Metrics::new();
    metrics.leading("op", true);
    let served = router(None, Some((metrics, Some(reviewer))));
    let ask = async |token: Option<String>| {
        let mut request = axum::http::Request::get("/metrics");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(axum::body::Body::empty()).expect("a request");
        let response = served.clone().oneshot(request).await.expect("an answer");
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20)
            .await
            .expect("a body");
        (status, String::from_utf8_lossy(&body).into_owned())
    };
    let token = |user: &str| Some(cluster.server().user_token(user, &[]));
    let prometheus = token("prometheus");
    assert_eq!(ask(None).await.0, 401);
    assert_eq!(ask(Some("nonsense".to_owned())).await.0, 401);
    let (status, text) = ask(token("mallory")).await;
    assert_eq!(status, 403);
    assert!(text.contains("`mallory` may not get /metrics"), "{text}");
    let (status, text) = ask(prometheus.clone()).await;
    assert_eq!(status, 200);
    assert!(text.contains("leader_election_master_status{name=\"op\"} 1"), "{text}");
    let before = cluster.requests().of("tokenreviews").count();
    assert_eq!(ask(prometheus.clone()).await.0, 200);
    assert_eq!(
        cluster.requests().of("tokenreviews").count(),
        before,
        "an answer holds for a moment"
    );
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(ask(prometheus.clone()).await.0, 200);
    assert_eq!(cluster.requests().of("tokenreviews").count(), before + 1);
}
