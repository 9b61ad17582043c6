//! What becomes of a run: requeue, errors, terminal errors, resync, events.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kubewright::diagnostics::Outcome;
use kubewright::events::EventType;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use tokio::time::sleep;

use crate::support::{App, AppStatus, Notes, put};

/// Does what the App's value says.
#[controller(for = App, backoff(min = "1s", max = "60s"))]
struct Obedient {
    notes: Notes,
}

impl Reconciler for Obedient {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        self.notes.add(app.spec.value.clone());
        match &*app.spec.value {
            "again" => Ok(Action::requeue(Duration::from_secs(300))),
            "fail" => Err("no luck".into()),
            "fail after writing" => {
                let seen = self.notes.all().len().to_string();
                cx.apply_status(AppStatus { seen }).await?;
                Err("no luck".into())
            }
            "give up" => Err(Error::terminal("hopeless")),
            "tell" => {
                cx.event(EventType::Warning, "Told", "it is so");
                Ok(Action::requeue(Duration::from_secs(60)))
            }
            _ => Ok(Action::await_change()),
        }
    }
}

async fn obedient(cluster: &TestCluster, value: &str) -> (kubewright_testkit::Operator, Notes) {
    let notes = Notes::default();
    let controller = Obedient { notes: notes.clone() };
    let operator = cluster.run(Manager::new("obedient").controller(controller)).await;
    put(cluster, "a", value).await;
    cluster.eventually("it ran", || async { !notes.all().is_empty() }).await;
    (operator, notes)
}

#[kubewright_testkit::test]
async fn a_requeue_runs_again_after_its_delay_and_a_change_before_that() {
    let cluster = TestCluster::start();
    let (operator, notes) = obedient(&cluster, "again").await;
    sleep(Duration::from_secs(290)).await;
    assert_eq!(notes.all().len(), 1);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(notes.all().len(), 2);
    put(&cluster, "a", "done").await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(
        notes.all(),
        ["again", "again", "done"],
        "the change took the place of the delay"
    );
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn errors_are_retried_with_growing_delays_until_a_change_mends_them() {
    let cluster = TestCluster::start();
    let (operator, notes) = obedient(&cluster, "fail").await;
    sleep(Duration::from_secs(120)).await;
    let tries = notes.count("fail");
    assert!(
        (6..=9).contains(&tries),
        "{tries} tries in two minutes, from 1 s, doubled"
    );
    put(&cluster, "a", "fine").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.count("fine"), 1, "a change does not wait for the backoff");
    let runs = cluster.story().reconciles("default/a");
    assert!(matches!(&runs[0].outcome, Outcome::Error { message, .. } if message == "no luck"));
    assert_eq!(runs[2].attempt, 3);
    assert_eq!(runs[2].reasons.to_string(), "retry 2");
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_failing_key_that_writes_keeps_its_backoff() {
    let cluster = TestCluster::start();
    let (operator, notes) = obedient(&cluster, "fail after writing").await;
    sleep(Duration::from_secs(120)).await;
    let tries = notes.all().len();
    assert!(
        (6..=9).contains(&tries),
        "{tries} tries in two minutes: echoes of its writes cut the backoff short"
    );
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_terminal_error_waits_for_a_change() {
    let cluster = TestCluster::start();
    let (operator, notes) = obedient(&cluster, "give up").await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(notes.all(), ["give up"]);
    put(&cluster, "a", "fine").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.all(), ["give up", "fine"]);
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn the_same_event_again_is_counted_in_one_series() {
    let cluster = TestCluster::start();
    let (operator, _) = obedient(&cluster, "tell").await;
    sleep(Duration::from_secs(190)).await;
    let events: Vec<Event> = cluster.list::<Event>().await;
    let told: Vec<&Event> = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("Told"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let event = told[0];
    assert_eq!(event.note.as_deref(), Some("it is so"));
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.reporting_controller.as_deref(), Some("obedient/obedient"));
    let regarding = event.regarding.as_ref().expect("an object");
    assert_eq!(regarding.kind.as_deref(), Some("App"));
    assert_eq!(event.series.as_ref().map(|series| series.count), Some(4));
    operator.stop().await;
}

/// Runs again from the cache now and then.
#[controller(for = App, resync = "10m")]
struct Resynced {
    notes: Notes,
}

impl Reconciler for Resynced {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(app.name_any());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_resync_runs_every_object_again_without_asking_the_server() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = Manager::new("resynced").controller(Resynced { notes: notes.clone() });
    let operator = cluster.run(manager).await;
    for name in ["a", "b", "c"] {
        put(&cluster, name, "1").await;
    }
    cluster.eventually("all ran", || async { notes.all().len() == 3 }).await;
    let before = operator.requests().count();
    sleep(Duration::from_secs(670)).await;
    assert_eq!(notes.all().len(), 6);
    let asked = operator.requests().since(before).beyond_watches_and_leases();
    assert!(asked.is_empty(), "{asked}");
    operator.stop().await;
}
