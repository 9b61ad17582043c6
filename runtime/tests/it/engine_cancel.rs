//! Writes that are cancelled under way: the server has carried them out, and the next read knows.

use std::time::Duration;

use kubewright::context::Patch;
use kubewright::prelude::*;
use kubewright_testkit::{Fault, TestCluster, Verb};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{App, AppStatus, Notes, put};

/// Cancels each write of the context once, and looks at what it left behind.
#[controller(for = App, owns = ConfigMap, updates = ConfigMap)]
struct Cancelling {
    cluster: TestCluster,
    notes: Notes,
}

impl Cancelling {
    /// The next such request is carried out at once and answered after ten seconds.
    fn slow(&self, verb: Verb, plural: &str) {
        let slow = Fault::slow(Duration::from_secs(10)).after_effect();
        drop(self.cluster.inject(slow.on(verb).of(plural).times(1)));
    }

    /// Drops `write` after a second, and says what a read finds then.
    async fn cancelled<T>(
        &self,
        what: &str,
        write: impl Future<Output = T>,
        cx: &Context<Self>,
        name: &str,
    ) -> Result<()> {
        let answered = timeout(Duration::from_secs(1), write).await.is_ok();
        let found = match cx.get::<ConfigMap>(name).await? {
            None => "nothing".to_owned(),
            Some(map) => format!("{} of {}", value(&map), map.owner_references().len()),
        };
        self.notes
            .add(format!("{what}: {found}{}", if answered { ", answered" } else { "" }));
        Ok(())
    }
}

fn value(map: &ConfigMap) -> String {
    map.data.iter().flatten().map(|(_, value)| value.clone()).collect()
}

fn map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("value".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

impl Reconciler for Cancelling {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        if self.notes.count("end") > 0 {
            if app.spec.value == "clear" && self.notes.count("cleared") == 0 {
                self.slow(Verb::Patch, "apps");
                self.cancelled("clear_status", cx.clear_status(), cx, "c").await?;
                let read = cx.get::<App>("app").await?.ok_or("the App is gone")?;
                let status = read.status.as_ref().map(|status| status.seen.clone());
                self.notes.add(format!("clear_status: {status:?}"));
                self.notes.add("cleared");
            }
            return Ok(Action::await_change());
        }
        self.slow(Verb::Patch, "configmaps");
        self.cancelled("apply", cx.apply(map("a", "1")), cx, "a").await?;
        self.slow(Verb::Patch, "configmaps");
        let patch = Patch::merge(json!({ "data": { "value": "2" } }))?;
        self.cancelled("patch", cx.patch::<ConfigMap>("a", patch), cx, "a")
            .await?;
        self.slow(Verb::Update, "configmaps");
        let mut read = cx
            .get::<ConfigMap>("a")
            .await?
            .map(Arc::unwrap_or_clone)
            .ok_or("it is gone")?;
        read.data = Some([("value".to_owned(), "3".to_owned())].into());
        self.cancelled("update", cx.update(&mut read), cx, "a").await?;
        self.slow(Verb::Create, "configmaps");
        self.cancelled("create", cx.create(map("b", "1")), cx, "b").await?;
        self.slow(Verb::Patch, "configmaps");
        let set = [map("a", "4"), map("b", "4")];
        self.cancelled("apply_set", cx.apply_set(set.clone()), cx, "a").await?;
        cx.apply_set(set).await?;
        self.slow(Verb::Delete, "configmaps");
        self.cancelled("delete", cx.delete::<ConfigMap>("b"), cx, "b").await?;
        self.slow(Verb::Patch, "configmaps");
        self.cancelled("release", cx.release::<ConfigMap>("a"), cx, "a").await?;
        cx.apply(map("c", "1")).await?;
        self.slow(Verb::Delete, "configmaps");
        self.cancelled("children_gone", cx.children_gone::<ConfigMap>(), cx, "c")
            .await?;
        assert!(cx.children_gone::<ConfigMap>().await?, "none is left");
        self.slow(Verb::Patch, "apps");
        let status = AppStatus { seen: "x".to_owned() };
        self.cancelled("apply_status", cx.apply_status(status), cx, "c").await?;
        let read = cx.get::<App>("app").await?.ok_or("the App is gone")?;
        let status = read.status.as_ref().map(|status| status.seen.clone());
        self.notes.add(format!("apply_status: {status:?}"));
        self.notes.add("end");
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn whatever_write_is_cancelled_the_next_read_knows_what_became_of_it() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let controller = Cancelling {
        cluster: cluster.clone(),
        notes: notes.clone(),
    };
    let operator = cluster.run(Manager::new("cancelling").controller(controller)).await;
    put(&cluster, "app", "1").await;
    cluster
        .eventually("every write was cancelled once", || async { notes.count("end") > 0 })
        .await;
    cluster.settled(Duration::from_secs(15)).await;
    put(&cluster, "app", "clear").await;
    cluster
        .eventually("the last one as well", || async { notes.count("cleared") > 0 })
        .await;
    assert_eq!(
        notes.all(),
        [
            "apply: 1 of 1",
            "patch: 2 of 1",
            "update: 3 of 1",
            "create: 1 of 1",
            "apply_set: 4 of 1",
            "delete: nothing",
            "release: 4 of 0",
            "children_gone: nothing",
            "apply_status: nothing",
            "apply_status: Some(\"x\")",
            "end",
            "clear_status: nothing",
            "clear_status: None",
            "cleared",
        ]
    );
    operator.stop().await;
}
