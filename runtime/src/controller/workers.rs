//! The workers of a controller, from the first synced cache to the last finished run.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::guard;
use super::resync;
use super::run::Core;
use super::sources::Sources;
use super::wake::Wake;
use crate::cache::Informer;
use crate::diagnostics::Reason;
use crate::object::Object;
use crate::reconciler::Reconciler;
use crate::shutdown::Shutdown;
use crate::workqueue::{Class, Next};

/// After how long the log says what a controller waits for, and how often again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reconciles until `stop` is triggered and the running reconciles are done; drops those that still run when `abort`
/// is.
pub(super) async fn run<C: Reconciler<Primary: Object> + 'static>(mut core: Core<C>, stop: Shutdown, abort: Shutdown) {
    let Some(Sources {
        informers,
        primaries,
        mappings,
    }) = core.sources.take()
    else {
        return;
    };
    let core = Arc::new(core);
    let queue = core.queue.clone();
    let timers = queue.run_timer();
    let resync = resync::run(core.declared.resync, primaries, core.queue.clone(), core.env.clone());
    let background = async {
        tokio::join!(timers, resync, mappings.run(), listen(&core));
    };
    let work = async {
        tokio::select! {
            biased;
            () = stop.wait() => return,
            () = ready(&core, &informers) => {}
        }
        for observer in &core.observers {
            if let Err(panic) = guard::call(|| observer.started(&core.name)) {
                tracing::error!("an observer panicked: {panic}");
            }
        }
        tracing::info!(
            controller = &*core.name,
            workers = core.declared.workers,
            "controller started"
        );
        let mut workers = Workers::start(&core, &stop);
        stop.wait().await;
        core.queue.close();
        workers.finished().await;
    };
    tokio::select! {
        biased;
        () = abort.wait() => {}
        () = work => {}
        () = background => {}
    }
    core.queue.close();
}

/// Wakes what the author's own sources yield. One that panics ends, and the others go on.
async fn listen<C: Reconciler<Primary: Object> + 'static>(core: &Core<C>) {
    let name: Arc<str> = Arc::from("source");
    let each = core.own_sources.iter().map(|start| {
        let name = Arc::clone(&name);
        async move {
            let mut source = match guard::call(|| start(&core.reconciler)) {
                Ok(source) => source,
                Err(panic) => {
                    tracing::error!(controller = &*core.name, "a source panicked and wakes nothing: {panic}");
                    return;
                }
            };
            loop {
                match guard::Guarded(source.next().boxed()).await {
                    Ok(Some(key)) => {
                        let wake = Wake::binding(Reason::Source(Arc::clone(&name)));
                        core.queue.add(key, Class::Change, wake);
                    }
                    Ok(None) => return,
                    Err(panic) => {
                        tracing::error!(
                            controller = &*core.name,
                            "a source panicked and wakes nothing more: {panic}"
                        );
                        return;
                    }
                }
            }
        }
    });
    futures::future::join_all(each).await;
}

/// Waits until the caches hold what a reconcile may count on.
async fn ready<C: Reconciler<Primary: Object> + 'static>(core: &Core<C>, informers: &[Informer]) {
    synced(&core.name, informers).await;
    let behind = informers
        .iter()
        .filter_map(|informer| core.catch_ups.of_informer(informer));
    futures::future::join_all(behind).await;
}

/// Waits until everything that the controller watches has been listed, and says what is missing if that takes long.
async fn synced(controller: &str, informers: &[Informer]) {
    let mut patience = PATIENCE;
    for informer in informers {
        while timeout(patience, informer.synced()).await.is_err() {
            patience = PATIENCE * 6;
            let waits_for: Vec<String> = informers
                .iter()
                .filter(|informer| !informer.has_synced())
                .map(|informer| match informer.status().last_error {
                    Some(error) => format!("{} ({error})", informer.spec()),
                    None => informer.spec().to_string(),
                })
                .collect();
            tracing::warn!(controller, "not reconciling yet: waits for {}", waits_for.join("; "));
        }
    }
}

/// Running workers; dropped, they end where they stand.
struct Workers(Vec<JoinHandle<()>>);

impl Workers {
    fn start<C: Reconciler<Primary: Object> + 'static>(core: &Arc<Core<C>>, stop: &Shutdown) -> Self {
        let workers = (0..core.declared.workers).map(|_| {
            let (core, stop) = (Arc::clone(core), stop.clone());
            let env = core.env.clone();
            env.spawn("worker", async move {
                while let Some(item) = core.queue.get().await {
                    tokio::select! {
                        biased;
                        () = core.paused.resumed(&core.declared.primary) => core.work(item).await,
                        // Nothing is lost: it waits for who comes next.
                        () = stop.wait() => core.queue.done(&item.key, Next::Settled),
                    }
                }
            })
        });
        Self(workers.collect())
    }

    /// Returns when all have come to their end.
    async fn finished(&mut self) {
        for worker in &mut self.0 {
            if let Err(error) = worker.await
                && error.is_panic()
            {
                tracing::error!("a worker panicked; this is a fault of kubewright");
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.0 {
            worker.abort();
        }
    }
}
