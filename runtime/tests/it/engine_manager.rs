//! Starting and stopping: invariant 11.

use std::time::Duration;

use futures::future::BoxFuture;
use kubewright::manager::{ManagerError, RunContext, Runnable};
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use tokio::time::{Instant, sleep};

use crate::support::{App, Notes, config_map, put};

/// Takes as many seconds as the App's value says.
#[controller(for = App, workers = 10)]
struct Lengthy {
    notes: Notes,
}

impl Reconciler for Lengthy {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add("begun");
        sleep(Duration::from_secs(app.spec.value.parse()?)).await;
        self.notes.add("done");
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn stopping_lets_running_reconciles_finish_and_starts_no_new_ones() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("lengthy").controller(Lengthy { notes: notes.clone() });
    let operator = cluster.operator(manager).leader_election().start().await;
    for n in 0..30 {
        put(&cluster, &format!("a{n}"), "20").await;
    }
    cluster
        .eventually("ten run", || async { notes.count("begun") == 10 })
        .await;
    let stopped = Instant::now();
    operator.stop().await;
    assert_eq!((notes.count("begun"), notes.count("done")), (10, 10));
    assert!(stopped.elapsed() < Duration::from_secs(21), "{:?}", stopped.elapsed());
}

#[kubewright_testkit::test]
async fn a_reconcile_that_does_not_end_is_dropped_at_the_deadline_and_the_lease_given_back() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("lengthy").controller(Lengthy { notes: notes.clone() });
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "a", "100000").await;
    cluster
        .eventually("it runs", || async { notes.count("begun") == 1 })
        .await;
    let stopped = Instant::now();
    operator.stop().await;
    let took = stopped.elapsed();
    assert!((30..32).contains(&took.as_secs()), "{took:?}: the deadline is 30 s");
    let lease = cluster.list::<k8s_openapi::api::coordination::v1::Lease>().await;
    let lease = lease
        .iter()
        .find(|lease| lease.name_any() == "lengthy")
        .expect("a Lease");
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
    assert_eq!(holder.unwrap_or_default(), "");
}

#[kubewright_testkit::test]
async fn an_idle_operator_stops_in_under_a_second() {
    let cluster = TestCluster::start();
    let manager = Manager::new("lengthy").controller(Lengthy {
        notes: Notes::default(),
    });
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "a", "0").await;
    sleep(Duration::from_secs(60)).await;
    let stopped = Instant::now();
    operator.stop().await;
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
}

#[kubewright_testkit::test]
async fn two_controllers_of_one_name_are_refused_at_once() {
    let lengthy = || Lengthy {
        notes: Notes::default(),
    };
    let manager = Manager::new("twice").controller(lengthy()).controller(lengthy());
    let error = manager.check().expect_err("one name");
    assert!(
        matches!(&error, ManagerError::DuplicateController { name } if name == "lengthy"),
        "{error}"
    );
    assert!(matches!(Manager::new("empty").check(), Err(ManagerError::Nothing)));
}

/// Ends when it is told to, or fails when it is named so.
struct Beside {
    name: &'static str,
    notes: Notes,
}

impl Runnable for Beside {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.notes.add("started");
            if self.name == "failing" {
                return Err("it cannot go on".into());
            }
            context.stop.wait().await;
            self.notes.add("stopped");
            Ok(())
        })
    }
}

#[kubewright_testkit::test]
async fn a_runnable_runs_beside_the_controllers_and_its_failure_ends_the_manager() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let beside = |name: &'static str| Beside {
        name,
        notes: notes.clone(),
    };
    let operator = cluster.run(Manager::new("beside").runnable(beside("fine"))).await;
    cluster
        .eventually("it started", || async { notes.count("started") == 1 })
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["started", "stopped"]);
    let operator = cluster.run(Manager::new("beside").runnable(beside("failing"))).await;
    let error = operator.ended().await.expect_err("it failed");
    assert_eq!(error.to_string(), "runnable `failing` failed: it cannot go on");
}

/// Watches Apps and ConfigMaps.
#[controller(for = App, owns = ConfigMap, name = "first")]
struct First {
    notes: Notes,
}

impl Reconciler for First {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        self.notes.add(format!("first {}", app.namespace().unwrap_or_default()));
        Ok(Action::await_change())
    }
}

/// Watches the same, on every replica.
#[controller(for = App, watches(ConfigMap, map = no_app), name = "second", needs_leader = false)]
struct Second {
    notes: Notes,
}

fn no_app(_: &ConfigMap) -> Vec<ObjectKey> {
    Vec::new()
}

impl Reconciler for Second {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes
            .add(format!("second {}", app.namespace().unwrap_or_default()));
        Ok(Action::await_change())
    }
}

fn both(notes: &Notes) -> Manager {
    let (first, second) = (First { notes: notes.clone() }, Second { notes: notes.clone() });
    Manager::new("both").controller(first).controller(second)
}

#[kubewright_testkit::test]
async fn controllers_share_one_watch_of_each_kind() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let operator = cluster.run(both(&notes)).await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("both ran", || async {
            notes.count("first default") >= 1 && notes.count("second default") >= 1
        })
        .await;
    let watches = operator.requests().filter(|request| request.verb == "watch");
    assert_eq!(watches.count(), 2, "one for Apps and one for ConfigMaps:\n{watches}");
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn what_needs_no_leader_runs_on_a_follower_too() {
    let cluster = TestCluster::start();
    let (leads, follows) = (Notes::default(), Notes::default());
    let a = cluster
        .operator(both(&leads))
        .replica("a")
        .leader_election()
        .start()
        .await;
    sleep(Duration::from_secs(5)).await;
    let b = cluster
        .operator(both(&follows))
        .replica("b")
        .leader_election()
        .start()
        .await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("the follower ran", || async { follows.count("second default") == 1 })
        .await;
    cluster
        .eventually("the leader ran", || async { leads.count("first default") >= 1 })
        .await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(follows.count("first default"), 0);
    assert_eq!(leads.count("second default"), 1);
    a.stop().await;
    cluster
        .eventually("the other leads", || async { follows.count("first default") >= 1 })
        .await;
    b.stop().await;
}

#[kubewright_testkit::test]
async fn with_namespaces_only_those_are_watched_and_no_right_beyond_them_is_needed() {
    let cluster = TestCluster::start();
    for name in ["east", "west"] {
        cluster
            .apply_yaml(&format!(
                "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
            ))
            .await;
    }
    let notes = Notes::default();
    let operator = cluster
        .operator(both(&notes))
        .namespaces(["east", "default"])
        .start()
        .await;
    for namespace in ["east", "west", "default"] {
        let app = serde_json::json!({
            "apiVersion": "it.kubewright.dev/v1", "kind": "App",
            "metadata": { "name": "a", "namespace": namespace }, "spec": { "value": "1" },
        });
        cluster.apply(&app).await;
    }
    cluster
        .eventually("both namespaces ran", || async {
            notes.count("first east") >= 1 && notes.count("first default") >= 1
        })
        .await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(notes.count("first west") + notes.count("second west"), 0);
    let refused = operator.requests().refused();
    assert!(refused.is_empty(), "{refused}");
    operator.stop().await;
}

#[tokio::test]
async fn a_manager_serves_its_metrics_and_refuses_a_port_in_use_before_anything_else() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let cluster = TestCluster::builder().real_time().start();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addr = taken.local_addr().expect("it listens");
    let refused = cluster
        .operator(both(&Notes::default()))
        .options(|options| options.metrics_addr = Some(addr));
    let error = refused.start().await.ended().await.expect_err("the port is taken");
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot serve metrics on {addr}: ")),
        "{error}"
    );
    drop(taken);
    let serves = cluster.operator(both(&Notes::default())).options(|options| {
        options.metrics_addr = Some(addr);
        options.health_addr = Some(addr);
    });
    let operator = serves.start().await;
    let ask = async |path: &str| {
        let mut stream = loop {
            if let Ok(stream) = tokio::net::TcpStream::connect(addr).await {
                break stream;
            }
            tokio::task::yield_now().await;
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it is answered");
        answer
    };
    assert!(ask("/readyz").await.starts_with("HTTP/1.1 200"));
    assert!(ask("/statusz").await.contains("\"controller first\""));
    let metrics = ask("/metrics").await;
    for name in [
        "controller_runtime_max_concurrent_reconciles{controller=\"first\"} 1",
        "workqueue_depth{name=\"second\",controller=\"second\"}",
        "kubewright_cache_objects{group=\"\",version=\"v1\",kind=\"ConfigMap\"}",
    ] {
        assert!(metrics.contains(name), "{name} is missing in:\n{metrics}");
    }
    operator.stop().await;
}
