//! Taking an operator out of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kubewright::manager::{LeaderElection, Leftovers, Options, Shutdown, Uninstall, Uninstalled};
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, Notes, put};

const FINALIZER: &str = "it.kubewright.dev/kept";

/// Keeps something outside the cluster for each App, and cannot let go of some.
#[controller(for = App, finalizer = "it.kubewright.dev/kept", backoff(min = "1s", max = "5s"))]
struct Keeper {
    notes: Notes,
    /// Whether a clean-up of an App with the value `stuck` succeeds.
    mended: Arc<AtomicBool>,
}

impl Reconciler for Keeper {
    async fn reconcile(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(format!("made {}", app.name_any()));
        Ok(Action::await_change())
    }
}

impl Cleanup for Keeper {
    async fn cleanup(&self, app: Arc<App>, _cx: &Context<Self>) -> Result<Action> {
        if app.spec.value == "stuck" && !self.mended.load(Ordering::SeqCst) {
            return Err("still in use".into());
        }
        self.notes.add(format!("cleaned {}", app.name_any()));
        Ok(Action::await_change())
    }
}

#[derive(Clone, Default)]
struct World {
    notes: Notes,
    mended: Arc<AtomicBool>,
}

impl World {
    fn manager(&self, cluster: &TestCluster) -> Manager {
        let (notes, mended) = (self.notes.clone(), Arc::clone(&self.mended));
        Manager::new("keeper")
            .env(cluster.env().clone())
            .controller(Keeper { notes, mended })
    }

    /// A cluster in which the operator has run for Apps of these names and values, and has been stopped.
    async fn after_a_life(&self, cluster: &TestCluster, apps: &[(&str, &str)]) {
        let operator = cluster.run(self.manager(cluster)).await;
        for (name, value) in apps {
            put(cluster, name, value).await;
            let made = format!("made {name}");
            cluster
                .eventually("it ran", || async { self.notes.count(&made) >= 1 })
                .await;
        }
        operator.stop().await;
    }

    async fn uninstall(&self, cluster: &TestCluster, leftovers: Leftovers, options: Options) -> Uninstalled {
        let mut uninstall = Uninstall::new(leftovers);
        uninstall.within = Duration::from_secs(60);
        let manager = self.manager(cluster);
        let uninstalled = manager.uninstall(cluster.client(), options, uninstall, Shutdown::new());
        uninstalled.await.expect("nothing is refused")
    }
}

#[kubewright_testkit::test]
async fn kept_objects_lose_the_finalizer_and_nothing_else() {
    let cluster = TestCluster::start();
    let world = World::default();
    world.after_a_life(&cluster, &[("a", "1"), ("b", "2")]).await;
    let others = json!({ "metadata": { "finalizers": [FINALIZER, "x.dev/theirs"] } });
    cluster.patch::<App>("default/b", others).await;
    let before = world.notes.all();
    let uninstalled = world.uninstall(&cluster, Leftovers::Keep, Options::default()).await;
    assert_eq!((uninstalled.done, uninstalled.stuck.len()), (2, 0), "{uninstalled:?}");
    assert_eq!(world.notes.all(), before, "neither reconciled nor cleaned up");
    let finalizers = async |name: &str| cluster.get::<App>(name).await.expect("it stays").finalizers().to_vec();
    assert_eq!(finalizers("default/a").await, Vec::<String>::new());
    assert_eq!(finalizers("default/b").await, ["x.dev/theirs"]);
    let again = world.uninstall(&cluster, Leftovers::Keep, Options::default()).await;
    assert_eq!((again.done, again.stuck.len()), (0, 0));
}

#[kubewright_testkit::test]
async fn deleted_objects_are_cleaned_up_and_what_is_stuck_is_told_with_its_reason() {
    let cluster = TestCluster::start();
    let world = World::default();
    world
        .after_a_life(&cluster, &[("a", "1"), ("b", "stuck"), ("c", "3")])
        .await;
    let others = json!({ "metadata": { "finalizers": [FINALIZER, "x.dev/theirs"] } });
    cluster.patch::<App>("default/c", others).await;
    let uninstalled = world.uninstall(&cluster, Leftovers::Delete, Options::default()).await;
    assert!(cluster.get::<App>("default/a").await.is_none());
    assert_eq!(world.notes.count("cleaned a"), 1);
    assert_eq!(uninstalled.done, 1);
    let stuck: Vec<String> = uninstalled.stuck.iter().map(ToString::to_string).collect();
    assert!(
        stuck[0].starts_with("App default/b: ") && stuck[0].contains("still in use"),
        "{stuck:?}"
    );
    assert_eq!(
        stuck[1..],
        ["App default/c: waits for finalizers of others: x.dev/theirs"]
    );
    world.mended.store(true, Ordering::SeqCst);
    cluster
        .patch::<App>("default/c", json!({ "metadata": { "finalizers": [] } }))
        .await;
    let again = world.uninstall(&cluster, Leftovers::Delete, Options::default()).await;
    assert_eq!(
        (again.done, again.stuck.len()),
        (1, 0),
        "it goes on where it ended: {again:?}"
    );
    assert_eq!(world.notes.count("cleaned b"), 1);
    assert!(cluster.list::<App>().await.is_empty());
}

#[kubewright_testkit::test]
async fn while_a_replica_leads_nothing_is_touched_and_the_replica_is_named() {
    let cluster = TestCluster::start();
    let world = World::default();
    let leader = cluster
        .operator(world.manager(&cluster))
        .replica("leader")
        .leader_election()
        .start()
        .await;
    put(&cluster, "a", "1").await;
    cluster
        .eventually("it ran", || async { world.notes.count("made a") >= 1 })
        .await;
    let mut options = Options::default();
    options.leader_election = Some(LeaderElection::new("keeper", "default", "uninstall"));
    let uninstalled = world.uninstall(&cluster, Leftovers::Keep, options.clone()).await;
    assert_eq!((uninstalled.done, uninstalled.stuck.len()), (0, 1));
    let waits_for = uninstalled.waits_for.expect("somebody leads");
    assert!(waits_for.contains("`leader` holds the Lease"), "{waits_for}");
    leader.stop().await;
    let uninstalled = world.uninstall(&cluster, Leftovers::Keep, options).await;
    assert_eq!((uninstalled.done, uninstalled.waits_for), (1, None));
}

#[kubewright_testkit::test]
async fn what_others_define_is_never_deleted() {
    let cluster = TestCluster::start();
    let notes = Notes::default();
    let manager = || {
        let controller = OfConfigMaps { notes: notes.clone() };
        Manager::new("maps").env(cluster.env().clone()).controller(controller)
    };
    let operator = cluster.run(manager()).await;
    cluster
        .apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}")
        .await;
    cluster
        .eventually("it ran", || async { notes.count("made a") >= 1 })
        .await;
    operator.stop().await;
    let uninstall = Uninstall::new(Leftovers::Delete);
    let uninstalled = manager().uninstall(cluster.client(), Options::default(), uninstall, Shutdown::new());
    assert_eq!(uninstalled.await.expect("it can").done, 1);
    let map = cluster.get::<ConfigMap>("default/a").await.expect("it stays");
    assert_eq!(map.finalizers(), Vec::<String>::new());
    assert_eq!(map.metadata.deletion_timestamp, None);
}

/// Guards ConfigMaps, which it did not define.
#[controller(for = ConfigMap, finalizer = "it.kubewright.dev/maps")]
struct OfConfigMaps {
    notes: Notes,
}

impl Reconciler for OfConfigMaps {
    async fn reconcile(&self, map: Arc<ConfigMap>, _cx: &Context<Self>) -> Result<Action> {
        self.notes.add(format!("made {}", map.name_any()));
        Ok(Action::await_change())
    }
}

impl Cleanup for OfConfigMaps {
    async fn cleanup(&self, _: Arc<ConfigMap>, _cx: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}
