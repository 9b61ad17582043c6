//! Things that go wrong while a directory comes and goes, each with an operator that makes a common mistake.

use std::fs;
use std::path::Path;
use std::time::Duration;

use external_resource::store::{Place, Store};
use external_resource::{Directory, DirectoryStatus};
use kubewright::kube::api::{Api, Patch, PatchParams};
use kubewright::prelude::*;
use kubewright_testkit::{Crash, TestCluster, Violation, oracles};
use serde_json::json;

use crate::{SAMPLE, is_ready};

const FINALIZER: &str = "demo.dev/directory";

/// Makes the operator in a cluster, its directories under a root.
type Make = fn(&TestCluster, &Path) -> Manager;

fn good(_: &TestCluster, root: &Path) -> Manager {
    external_resource::manager(root)
}

/// Cleans up when it is told that an object is gone: nobody tells what happened while it was away.
#[controller(for = Directory, name = "directory")]
struct CleansUpWhenTold(Store);

fn cleans_up_when_told(_: &TestCluster, root: &Path) -> Manager {
    Manager::new("external-resource").controller(CleansUpWhenTold(Store::new(root)))
}

impl Reconciler for CleansUpWhenTold {
    async fn reconcile(&self, directory: Arc<Directory>, cx: &Context<Self>) -> Result<Action> {
        self.0.write(&place(&directory), &directory.spec.files)?;
        cx.apply_status(written(&directory, cx)).await?;
        Ok(Action::await_change())
    }

    fn gone(&self, key: &kubewright::ObjectKey) {
        let root = self.0.path(&Place {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            uid: String::new(),
        });
        let _ = fs::remove_dir_all(root);
    }
}

/// Writes to the disk first, and guards it by a finalizer after that.
#[controller(for = Directory, updates = Directory, name = "directory")]
struct FinalizesAfterwards(Store);

fn finalizes_afterwards(_: &TestCluster, root: &Path) -> Manager {
    Manager::new("external-resource").controller(FinalizesAfterwards(Store::new(root)))
}

impl Reconciler for FinalizesAfterwards {
    async fn reconcile(&self, directory: Arc<Directory>, cx: &Context<Self>) -> Result<Action> {
        self.0.write(&place(&directory), &directory.spec.files)?;
        if directory.finalizers().is_empty() {
            let mut directory = (*directory).clone();
            directory.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
            cx.update(&mut directory).await?;
        }
        cx.apply_status(written(&directory, cx)).await?;
        Ok(Action::await_change())
    }
}

/// Knows an object by its name, and takes one that was made anew for the old one.
#[controller(for = Directory, name = "directory")]
struct KnowsByName {
    store: Store,
    directories: Api<Directory>,
}

fn knows_by_name(cluster: &TestCluster, root: &Path) -> Manager {
    let directories = Api::namespaced(cluster.client_named("external-resource"), "default");
    let store = Store::new(root);
    Manager::new("external-resource").controller(KnowsByName { store, directories })
}

impl Reconciler for KnowsByName {
    async fn reconcile(&self, directory: Arc<Directory>, cx: &Context<Self>) -> Result<Action> {
        if directory.finalizers().is_empty() {
            let patch = Patch::Merge(json!({ "metadata": { "finalizers": [FINALIZER] } }));
            let name = directory.name_any();
            self.directories.patch(&name, &PatchParams::default(), &patch).await?;
        }
        let place = Place {
            uid: "whoever has the name".to_owned(),
            ..place(&directory)
        };
        self.store.write(&place, &directory.spec.files)?;
        cx.apply_status(written(&directory, cx)).await?;
        Ok(Action::await_change())
    }
}

fn place(directory: &Directory) -> Place {
    Place {
        namespace: directory.namespace().unwrap_or_default(),
        name: directory.name_any(),
        uid: directory.uid().unwrap_or_default(),
    }
}

fn written<C: Declare>(directory: &Directory, cx: &Context<C>) -> DirectoryStatus {
    let generation = directory.metadata.generation;
    let before = directory.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    DirectoryStatus {
        files: i64::try_from(directory.spec.files.len()).unwrap_or(i64::MAX),
        conditions: kubewright::conditions::Conditions::new(before, generation, cx.now())
            .with("Ready", true, "Written", "")
            .build(),
        ..DirectoryStatus::default()
    }
}

/// No directory is left without its object.
fn nothing_left(root: &Path) -> Result<(), Violation> {
    let path = root.join("default/notes");
    if path.exists() {
        let what = format!("{} is there without its object", path.display());
        return Err(Violation::new("nothing_left", what));
    }
    Ok(())
}

fn found(result: Result<(), Violation>, oracle: &str) {
    let violation = result.expect_err("the mistake is found");
    assert_eq!(violation.oracle(), oracle, "{violation}");
}

/// The operator dies, the object is deleted by somebody else, and the operator is started again.
async fn deleted_while_away(make: Make, crash: Option<Crash>) -> Result<(), Violation> {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cluster = TestCluster::start();
    let mut first = cluster.operator(make(&cluster, root.path()));
    if let Some(crash) = crash {
        first = first.crash(crash);
    }
    let first = first.start().await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.advance(Duration::from_secs(60)).await;
    first.crash();
    cluster.actor("someone-else").delete::<Directory>("notes").await;
    cluster.advance(Duration::from_secs(60)).await;
    let second = cluster.run(make(&cluster, root.path())).await;
    cluster.advance(Duration::from_secs(60)).await;
    second.stop().await;

    let story = cluster.story().to_string();
    assert!(
        story.contains("someone-else delete directories default/notes → 200"),
        "{story}"
    );
    assert!(story.contains("is killed"), "{story}");
    assert!(cluster.get::<Directory>("notes").await.is_none(), "the object is gone");
    nothing_left(root.path())
}

#[kubewright_testkit::test]
async fn a_deletion_that_nobody_was_there_to_see_is_made_up_for_unless_one_waits_to_be_told() {
    deleted_while_away(good, None)
        .await
        .expect("the operator comes through");
    found(deleted_while_away(cleans_up_when_told, None).await, "nothing_left");
}

#[kubewright_testkit::test]
async fn a_crash_at_any_write_leaves_nothing_behind_unless_the_guard_comes_afterwards() {
    for write in 1..=2 {
        for crash in [Crash::BeforeWrite(write), Crash::AfterWrite(write)] {
            let result = deleted_while_away(good, Some(crash)).await;
            result.unwrap_or_else(|violation| panic!("{crash:?}: {violation}"));
        }
    }
    let crash = Some(Crash::BeforeWrite(1));
    found(deleted_while_away(finalizes_afterwards, crash).await, "nothing_left");
}

/// While the operator is cut off, somebody else deletes the object by force and makes it anew.
async fn made_anew_while_parted(make: Make) -> Result<(), Violation> {
    let root = tempfile::tempdir().expect("a temporary folder");
    // The errors of this scenario name files, and the runs that are compared must tell the same: so the operator knows
    // its root by a relative path. A seeded run is a process of its own, whose folder nobody else minds.
    std::env::set_current_dir(root.path()).expect("the folder was just made");
    let cluster = TestCluster::start();
    let operator = cluster.run(make(&cluster, Path::new("."))).await;
    cluster.apply_yaml(SAMPLE).await;
    cluster.wait_for::<Directory>("notes", is_ready).await;
    cluster.advance(Duration::from_secs(60)).await;
    // Something that only the first object's directory holds.
    let deep = root.path().join("default/notes/deep");
    fs::create_dir_all(&deep).expect("made");

    operator.partition();
    let other = cluster.actor("someone-else");
    other.remove_finalizer::<Directory>("notes", FINALIZER).await;
    other.recreate::<Directory>("notes").await;
    cluster.advance(Duration::from_secs(60)).await;
    operator.reconnect();
    cluster.advance(Duration::from_secs(600)).await;
    let story = cluster.story().to_string();
    assert!(story.contains("is parted from the server"), "{story}");
    oracles::all(&cluster).await?;
    assert!(!deep.exists(), "the new object's directory begins empty");
    cluster.wait_for::<Directory>("notes", is_ready).await;
    operator.stop().await;
    Ok(())
}

#[kubewright_testkit::test]
async fn an_object_that_was_made_anew_meanwhile_is_another_unless_one_knows_by_name() {
    made_anew_while_parted(good).await.expect("the operator comes through");
    found(made_anew_while_parted(knows_by_name).await, "converged");
}
