//! The operator with one mistake each, as they are made in the field. They write by clients of their own, since the
//! framework would keep them from most of it. Undisturbed, each of them works.

use std::time::Duration;

use app_operator::api::{App, AppStatus};
use app_operator::children;
use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt as _};
use kubewright::kube;
use kubewright::kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kubewright::manager::{RunContext, Runnable};
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// The name that the operator has in the story.
const OPERATOR: &str = "app-operator";

/// Takes an error for an answer: what failed is done when the App changes next.
#[controller(for = App, owns = [ConfigMap, Deployment, Service], name = "app")]
pub(super) struct SwallowsErrors;

pub(super) fn swallows_errors(_: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(SwallowsErrors)
}

impl Reconciler for SwallowsErrors {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let work = async {
            cx.apply(children::config_map(&app)).await?;
            cx.apply(children::deployment(&app)).await?;
            cx.apply(children::service(&app)).await
        };
        // Nobody waits for ever, and there will be another time.
        let _ = timeout(Duration::from_secs(1), work).await;
        Ok(Action::await_change())
    }
}

/// Tries again at once, and again.
#[controller(for = App, owns = ConfigMap, name = "app")]
pub(super) struct RetriesAtOnce(Api<ConfigMap>);

pub(super) fn retries_at_once(cluster: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(RetriesAtOnce(api(cluster)))
}

impl Reconciler for RetriesAtOnce {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        while apply(&self.0, &app, &children::config_map(&app)).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
        Ok(Action::await_change())
    }
}

/// Makes its child under a random name, then notes the name in the status. Between the two it may die, or be cancelled.
#[controller(for = App, owns = ConfigMap, timeout = "2s", name = "app")]
pub(super) struct NotesTheNameAfterwards;

pub(super) fn notes_the_name_afterwards(_: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(NotesTheNameAfterwards)
}

impl Reconciler for NotesTheNameAfterwards {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let noted = app.status.as_ref().and_then(|status| status.url.clone());
        let mut map = children::config_map(&app);
        if let Some(name) = noted {
            map.metadata.name = Some(name);
            cx.apply(map).await?;
            return Ok(Action::await_change());
        }
        map.metadata.name = None;
        map.metadata.generate_name = Some(format!("{}-", app.name_any()));
        let map = cx.create(map).await?;
        cx.apply_status(AppStatus {
            url: map.metadata.name.clone(),
            ..AppStatus::default()
        })
        .await?;
        Ok(Action::await_change())
    }
}

/// Makes a child where its watch shows none, however old the watch may be.
#[controller(for = App, owns = ConfigMap, name = "app")]
pub(super) struct TrustsItsWatch(Api<ConfigMap>);

pub(super) fn trusts_its_watch(cluster: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(TrustsItsWatch(api(cluster)))
}

impl Reconciler for TrustsItsWatch {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let mut map = owned(&app, &children::config_map(&app));
        match cx.children::<ConfigMap>()?.first() {
            Some(child) => {
                let name = child.name_any();
                map["metadata"]["name"] = name.clone().into();
                self.0
                    .patch(&name, &PatchParams::apply(OPERATOR).force(), &Patch::Apply(map))
                    .await?;
            }
            None => {
                map["metadata"]["name"] = Value::Null;
                map["metadata"]["generateName"] = format!("{}-", app.name_any()).into();
                self.0
                    .create(&PostParams::default(), &serde_json::from_value(map)?)
                    .await?;
            }
        }
        Ok(Action::await_change())
    }
}

/// Watches by itself and takes every ADDED for an App that is new; what breaks, it begins anew.
struct WatchesByItself(kube::Client);

/// Declares what it writes, and leaves the work to the watch.
#[controller(for = App, owns = ConfigMap, name = "app")]
struct Idle;

impl Reconciler for Idle {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

pub(super) fn watches_by_itself(cluster: &TestCluster) -> Manager {
    let watch = WatchesByItself(cluster.client_named(OPERATOR));
    Manager::new(OPERATOR).controller(Idle).runnable(watch)
}

impl Runnable for WatchesByItself {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn run(&self, _: RunContext) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut version = String::new();
            loop {
                match self.watch(&mut version).await {
                    Ok(()) => {}
                    // There is no such kind, so there is nothing to do.
                    Err(error) if error.to_string().contains("404") => return std::future::pending().await,
                    Err(_) => {
                        version.clear();
                        sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        })
    }
}

impl WatchesByItself {
    /// Goes on from `version` until the watch ends.
    async fn watch(&self, version: &mut String) -> Result<()> {
        let apps: Api<App> = Api::namespaced(self.0.clone(), "default");
        let maps: Api<ConfigMap> = Api::namespaced(self.0.clone(), "default");
        let from = version.clone();
        let mut events = apps.watch(&WatchParams::default(), &from).await?.boxed();
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(app) => {
                    version.clone_from(&app.resource_version().unwrap_or_default());
                    let mut map = owned(&app, &children::config_map(&app));
                    map["metadata"]["name"] = Value::Null;
                    map["metadata"]["generateName"] = format!("{}-", app.name_any()).into();
                    maps.create(&PostParams::default(), &serde_json::from_value(map)?)
                        .await?;
                }
                WatchEvent::Modified(app) | WatchEvent::Deleted(app) => {
                    version.clone_from(&app.resource_version().unwrap_or_default());
                }
                WatchEvent::Bookmark(bookmark) => version.clone_from(&bookmark.metadata.resource_version),
                WatchEvent::Error(error) => return Err(error.message.into()),
            }
        }
        Ok(())
    }
}

/// Forces its configuration on whatever has the name.
#[controller(for = App, owns = Service, name = "app")]
pub(super) struct SeizesNames(Api<Service>);

pub(super) fn seizes_names(cluster: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(SeizesNames(api(cluster)))
}

impl Reconciler for SeizesNames {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        apply(&self.0, &app, &children::service(&app)).await?;
        Ok(Action::await_change())
    }
}

/// Its children name no owner.
#[controller(for = App, owns = ConfigMap, name = "app")]
pub(super) struct CreatesWithoutOwner(Api<ConfigMap>);

pub(super) fn creates_without_owner(cluster: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(CreatesWithoutOwner(api(cluster)))
}

impl Reconciler for CreatesWithoutOwner {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        let map = children::config_map(&app);
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": map.metadata.name }, "data": map.data,
        });
        let params = PatchParams::apply(OPERATOR).force();
        self.0.patch(&app.name_any(), &params, &Patch::Apply(body)).await?;
        Ok(Action::await_change())
    }
}

/// Takes all finalizers off, to be sure that the App goes.
#[controller(for = App, owns = ConfigMap, finalizer = "demo.dev/drain", name = "app")]
pub(super) struct ClearsFinalizers(Api<App>);

pub(super) fn clears_finalizers(cluster: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(ClearsFinalizers(api(cluster)))
}

impl Reconciler for ClearsFinalizers {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(children::config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

impl Cleanup for ClearsFinalizers {
    async fn cleanup(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        let patch = Patch::Merge(json!({ "metadata": { "finalizers": [] } }));
        self.0.patch(&app.name_any(), &PatchParams::default(), &patch).await?;
        Ok(Action::await_change())
    }
}

/// Looks at children only when it has changed something itself: it does not watch them.
#[controller(for = App, writes = Service, name = "app")]
pub(super) struct LooksAway;

pub(super) fn looks_away(_: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(LooksAway)
}

impl Reconciler for LooksAway {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(children::service(&app)).await?;
        Ok(Action::await_change())
    }
}

/// Asks something outside, and writes past the fence once the answer is there.
#[controller(for = App, owns = ConfigMap, name = "app")]
pub(super) struct WritesPastTheFence(Api<ConfigMap>);

pub(super) fn writes_past_the_fence(cluster: &TestCluster, replica: &str) -> Manager {
    let maps = Api::namespaced(cluster.client_named(replica), "default");
    Manager::new(OPERATOR).controller(WritesPastTheFence(maps))
}

impl Reconciler for WritesPastTheFence {
    async fn reconcile(&self, app: Arc<App>, _: &Context<Self>) -> Result<Action> {
        sleep(Duration::from_secs(1)).await;
        apply(&self.0, &app, &children::config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

/// Waits by the wall clock until an App is ten seconds old.
#[controller(for = App, owns = Service, name = "app")]
pub(super) struct TrustsTheWallClock;

pub(super) fn trusts_the_wall_clock(_: &TestCluster) -> Manager {
    Manager::new(OPERATOR).controller(TrustsTheWallClock)
}

impl Reconciler for TrustsTheWallClock {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let born = app
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(0, |time| time.0.as_second());
        if cx.now().as_second() < born + 10 {
            return Ok(Action::requeue(Duration::from_secs(10)));
        }
        cx.apply(children::service(&app)).await?;
        Ok(Action::await_change())
    }
}

fn api<K>(cluster: &TestCluster) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kubewright::k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(cluster.client_named(OPERATOR), "default")
}

/// A child as JSON, with its owner.
fn owned<K: Serialize>(app: &App, child: &K) -> Value {
    let mut child = serde_json::to_value(child).unwrap_or_default();
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "demo.dev/v1", "kind": "App", "controller": true,
        "name": app.name_any(), "uid": app.uid().unwrap_or_default(),
    }]);
    child
}

async fn apply<K>(api: &Api<K>, app: &App, child: &K) -> Result<()>
where
    K: kube::Resource<DynamicType = ()> + Serialize + Clone + std::fmt::Debug + for<'a> Deserialize<'a>,
{
    let mut body = owned(app, child);
    body["apiVersion"] = K::api_version(&()).into_owned().into();
    body["kind"] = K::kind(&()).into_owned().into();
    let params = PatchParams::apply(OPERATOR).force();
    api.patch(&app.name_any(), &params, &Patch::Apply(body)).await?;
    Ok(())
}
