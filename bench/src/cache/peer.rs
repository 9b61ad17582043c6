//! kube-runtime as its documentation has it: a reflector, or a Controller over one.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube_runtime::controller::Action;
use kube_runtime::reflector::{self, Store};
use kube_runtime::watcher::{self, Event, watcher};
use kube_runtime::{Controller, WatchStreamExt as _, predicates};
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::kube::api::{ApiResource, GroupVersionKind, Object};
use kubewright::kube::{Api, Client, Resource};
use tokio::time::sleep;

use super::objects::{DatabaseSpec, DatabaseStatus, GROUP, PLURAL};
use super::work::{Cache, EVENTS, RECONCILES, What};
use crate::Failure;

/// A store; its task runs until the process ends.
pub(crate) struct Peer<K: Resource<DynamicType: Eq + std::hash::Hash + Clone> + 'static> {
    store: Store<K>,
    what: What,
}

/// The custom kind as its author would have it as Rust types.
type Database = Object<DatabaseSpec, DatabaseStatus>;

/// Lists that have ended.
static LISTS: AtomicU64 = AtomicU64::new(0);

/// Starts caching custom resources.
pub(crate) fn store_of_custom(client: Client) -> Peer<Database> {
    let group = GroupVersionKind::gvk(GROUP, "v1", "Database");
    let resource = ApiResource::from_gvk_with_plural(&group, PLURAL);
    let writer = reflector::store::Writer::new(resource.clone());
    let store = writer.as_reader();
    let databases = watcher(Api::<Database>::all_with(client, &resource), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects();
    tokio::spawn(databases.for_each(|_| async {}));
    Peer {
        store,
        what: What::Store,
    }
}

/// Starts caching Pods.
pub(crate) fn start(client: Client, what: What) -> Peer<Pod> {
    let (store, writer) = reflector::store();
    let pods = watcher(Api::<Pod>::all(client), watcher::Config::default())
        .default_backoff()
        .inspect_ok(|event| match event {
            Event::Apply(_) | Event::Delete(_) => {
                EVENTS.fetch_add(1, Ordering::Relaxed);
            }
            Event::InitDone => {
                LISTS.fetch_add(1, Ordering::Relaxed);
            }
            Event::Init | Event::InitApply(_) => {}
        })
        .reflect(writer)
        .applied_objects();
    if what == What::Store {
        tokio::spawn(pods.for_each(|_| async {}));
    } else {
        let changed = pods.predicate_filter(predicates::generation, Default::default());
        let controller = Controller::for_stream(changed, store.clone());
        let reconciles = controller.run(reconcile, |_, _: &Infallible, _| Action::await_change(), Arc::new(()));
        tokio::spawn(reconciles.for_each(|_| async {}));
    }
    Peer { store, what }
}

async fn reconcile(pod: Arc<Pod>, _: Arc<()>) -> Result<Action, Infallible> {
    if pod.spec.is_some() {
        RECONCILES.fetch_add(1, Ordering::Relaxed);
    }
    Ok(Action::await_change())
}

impl<K> Cache for Peer<K>
where
    K: Resource<DynamicType: Eq + std::hash::Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
{
    async fn synced(&self) {
        // Fails only where the writer is gone, and it never is.
        let _ = self.store.wait_until_ready().await;
        let all = self.store.len() as u64;
        while self.what != What::Store && RECONCILES.load(Ordering::Relaxed) < all {
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn lists(&self) -> u64 {
        LISTS.load(Ordering::Relaxed)
    }

    async fn reads(&self) -> Result<Vec<f64>, Failure> {
        Err("kube-runtime is not asked to read".into())
    }
}
