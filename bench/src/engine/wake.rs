//! The cost of one wake-up while many keys are in flight: a key is added, a worker takes it, does nothing, gives it back.
//!
//! No server and no socket: our queue with its workers, and kube-runtime's applier, each on one thread.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt as _, stream};
use kube_runtime::controller::{Action, Config, applier};
use kube_runtime::reflector::{self, ObjectRef};
use kube_runtime::watcher::Event;
use kubewright::ObjectKey;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::workqueue::{self, Class, Next, WorkQueue};
use tokio::sync::mpsc;
use tokio::task::yield_now;

use crate::Failure;
use crate::harness::thread_cpu;

/// Wake-ups of one turn.
const WAKES: u64 = 500;

/// CPU microseconds of one of our wake-ups with so many keys in flight.
///
/// # Errors
/// When a runtime cannot be had.
pub(crate) async fn ours(in_flight: usize) -> Result<f64, Failure> {
    on_a_thread(move || async move {
        let queue: WorkQueue<ObjectKey> = WorkQueue::new(workqueue::Config::default());
        let held = Arc::new(AtomicU64::new(0));
        for number in 0..in_flight {
            let (queue, held) = (queue.clone(), Arc::clone(&held));
            queue.add(ObjectKey::new("default", format!("held-{number}")), Class::Change, ());
            tokio::spawn(async move {
                let item = queue.get().await;
                held.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
                drop(item);
            });
        }
        until(&held, in_flight as u64).await;
        let done = Arc::new(AtomicU64::new(0));
        let (worker, count) = (queue.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            while let Some(item) = worker.get().await {
                worker.done(&item.key, Next::Settled);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let key = ObjectKey::new("default", "free");
        let began = thread_cpu();
        for wake in 1..=WAKES {
            queue.add(key.clone(), Class::Change, ());
            until(&done, wake).await;
        }
        each(thread_cpu() - began)
    })
    .await
}

/// CPU microseconds of one wake-up of kube-runtime with so many objects in flight.
///
/// # Errors
/// When a runtime cannot be had.
pub(crate) async fn peer(in_flight: usize) -> Result<f64, Failure> {
    on_a_thread(move || async move {
        let object = |name: String| {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(name);
            map.metadata.namespace = Some("default".to_owned());
            map
        };
        let (store, mut writer) = reflector::store::<ConfigMap>();
        let held = (0..in_flight).map(|number| object(format!("held-{number}")));
        writer.apply_watcher_event(&Event::Init);
        for map in held.chain([object("free".to_owned())]) {
            writer.apply_watcher_event(&Event::InitApply(map));
        }
        writer.apply_watcher_event(&Event::InitDone);
        let (sender, receiver) = mpsc::unbounded_channel::<ObjectRef<ConfigMap>>();
        let wakes = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|key| (Ok::<_, Infallible>(key), receiver))
        });
        let counted = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let reconcile = |map: Arc<ConfigMap>, counted: Arc<(AtomicU64, AtomicU64)>| {
            Box::pin(async move {
                if map.metadata.name.as_deref() != Some("free") {
                    counted.0.fetch_add(1, Ordering::Relaxed);
                    pending::<()>().await;
                }
                counted.1.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Action::await_change())
            })
        };
        let again = |_: Arc<ConfigMap>, _: &Infallible, _: Arc<_>| Action::await_change();
        let runs = applier(
            reconcile,
            again,
            Arc::clone(&counted),
            store,
            wakes.boxed(),
            Config::default(),
        );
        tokio::spawn(runs.for_each(|_| async {}));
        let key = |name: &str| ObjectRef::new(name).within("default");
        for number in 0..in_flight {
            let _ = sender.send(key(&format!("held-{number}")));
        }
        until(&counted.0, in_flight as u64).await;
        let began = thread_cpu();
        for wake in 1..=WAKES {
            let _ = sender.send(key("free"));
            until(&counted.1, wake).await;
        }
        each(thread_cpu() - began)
    })
    .await
}

/// Runs a future on a thread of its own with a runtime of its own, so that the thread's CPU time is the future's.
async fn on_a_thread<F>(work: impl FnOnce() -> F + Send + 'static) -> Result<f64, Failure>
where
    F: Future<Output = f64> + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().spawn(move || {
        let _ = sender.send(runtime.block_on(work()));
    })?;
    Ok(receiver.await?)
}

async fn until(counter: &AtomicU64, wanted: u64) {
    while counter.load(Ordering::Relaxed) < wanted {
        yield_now().await;
    }
}

#[allow(clippy::cast_precision_loss, reason = "few wake-ups")]
fn each(microseconds: f64) -> f64 {
    microseconds / WAKES as f64
}
