//! Starting and stopping: invariant 11.

use std::time::Duration;

use futures::future::BoxFuture;
use kubewright::manager::{ManagerError, RunContext, Runnable};
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use tokio::time::{Instant, sleep};

use crate::support::{App, Notes, put};

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

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
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
