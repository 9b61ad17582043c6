//! All informers of a manager, shared by its controllers, and what runs them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::cache::informer::Informer;
use crate::cache::overlay::Overlay;
use crate::cache::scanner::KeepManagers;
use crate::cache::spec::InformerSpec;
use crate::cache::store::Contexts;
use crate::client::Transport;
use crate::env::Env;
use crate::watch::{WatchStatus, Watcher};

/// The informers of a manager. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Informers(Arc<Inner>);

struct Inner {
    transport: Transport,
    env: Env,
    keep: KeepManagers,
    contexts: Arc<Contexts>,
    compress: bool,
    registered: Mutex<Registered>,
    arrived: Notify,
}

#[derive(Default)]
struct Registered {
    informers: BTreeMap<InformerSpec, Informer>,
    /// Those that no task runs yet.
    idle: Vec<Informer>,
}

impl Informers {
    /// Over a way to the server; of managedFields, the entries that `keep` names stay in the cache.
    #[must_use]
    pub fn new(transport: Transport, env: Env, keep: KeepManagers) -> Self {
        Self::with_compression(transport, env, keep, true)
    }

    /// As [`new`](Self::new); says whether large kinds are compressed. Without, a read of what is not decoded costs
    /// a few microseconds less, and the cache takes several times the memory.
    #[must_use]
    pub fn with_compression(transport: Transport, env: Env, keep: KeepManagers, compress: bool) -> Self {
        transport.overlay().configure(keep.clone());
        Self(Arc::new(Inner {
            transport,
            env,
            keep,
            contexts: Arc::default(),
            compress,
            registered: Mutex::default(),
            arrived: Notify::new(),
        }))
    }

    /// The informer of a specification: the one there is, or a new one that [`Informers::run`] will run.
    #[must_use]
    pub fn informer(&self, spec: &InformerSpec) -> Informer {
        let inner = &self.0;
        let mut registered = self.registered();
        if let Some(informer) = registered.informers.get(spec) {
            return informer.clone();
        }
        let informer = Informer::new(
            spec.clone(),
            inner.keep.clone(),
            &inner.contexts,
            inner.compress,
            inner.transport.overlay().clone(),
            &inner.env,
        );
        registered.informers.insert(spec.clone(), informer.clone());
        registered.idle.push(informer.clone());
        drop(registered);
        inner.arrived.notify_one();
        informer
    }

    /// Runs every informer that is registered, now or later, until `stop` ends. Each has a task and a backoff of
    /// its own, so that none holds up another.
    ///
    /// # Cancel safety
    ///
    /// Dropping it stops all informers.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let mut tasks = Tasks::default();
        tokio::pin!(stop);
        loop {
            let idle = std::mem::take(&mut self.registered().idle);
            for informer in idle {
                let watcher = Watcher::new(informer, self.0.transport.clone(), self.0.env.clone());
                tasks.0.push(self.0.env.spawn("informer", watcher.run()));
            }
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.0.arrived.notified() => {}
            }
        }
    }

    /// Returns when the first list of every informer registered so far has ended.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn synced(&self) {
        for informer in self.all() {
            informer.synced().await;
        }
    }

    /// What this process wrote and no informer has seen yet.
    #[must_use]
    pub fn overlay(&self) -> &Overlay {
        self.0.transport.overlay()
    }

    /// The way to the server.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// How each watch is doing, ordered by specification.
    #[must_use]
    pub fn status(&self) -> Vec<WatchStatus> {
        self.all().iter().map(Informer::status).collect()
    }

    /// All informers, ordered by specification.
    #[must_use]
    pub fn all(&self) -> Vec<Informer> {
        self.registered().informers.values().cloned().collect()
    }

    fn registered(&self) -> MutexGuard<'_, Registered> {
        self.0.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

/// Tasks that end with their owner.
#[derive(Default)]
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}
