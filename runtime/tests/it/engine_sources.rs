//! What wakes a key from outside the cluster.

use std::time::Duration;

use futures::stream;
use kubewright::prelude::*;
use kubewright::sources::{self, Inbox};
use kubewright_testkit::TestCluster;
use tokio::time::sleep;

use crate::support::{App, Notes, put};

/// Has an inbox, a timer and a source that panics.
#[controller(for = App, source = Woken::notices, source = Woken::hourly, source = broken)]
struct Woken {
    inbox: Inbox,
    notes: Notes,
}

impl Woken {
    fn notices(&self) -> impl sources::Keys + use<> {
        self.inbox.keys()
    }

    fn hourly(&self) -> impl sources::Keys + use<> {
        sources::every(Duration::from_secs(3600), ObjectKey::new("default", "b"))
    }
}

fn broken(_: &Woken) -> impl sources::Keys + use<> {
    stream::poll_fn(|_| panic!("the outside is not there"))
}

impl Reconciler for Woken {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        self.notes.add(app.name_any());
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_key_from_outside_is_reconciled_whatever_becomes_of_another_source() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let (waker, inbox) = sources::channel();
    // Before the controller runs: it is kept.
    waker.wake(ObjectKey::new("default", "nobody"));
    let controller = Woken {
        inbox,
        notes: notes.clone(),
    };
    let operator = cluster.run(Manager::new("woken").controller(controller)).await;
    put(&cluster, "a", "").await;
    put(&cluster, "b", "").await;
    cluster
        .eventually("both ran", || async { notes.all().len() == 2 })
        .await;

    waker.wake(ObjectKey::new("default", "a"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!((notes.count("a"), notes.count("b")), (2, 1));

    sleep(Duration::from_secs(2 * 3600)).await;
    assert_eq!((notes.count("a"), notes.count("b")), (2, 3));
    operator.stop().await;
}
