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
use kubewright::kube::{Api, Client};
use tokio::time::sleep;

use super::work::{Cache, EVENTS, RECONCILES, What};
use crate::Failure;

/// A store of Pods; its task runs until the process ends.
pub(crate) struct Peer {
    store: Store<Pod>,
    what: What,
}

/// Lists that have ended.
static LISTS: AtomicU64 = AtomicU64::new(0);

/// Starts caching Pods.
pub(crate) fn start(client: Client, what: What) -> Peer {
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

impl Cache for Peer {
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
