//! The informers of a manager: one for each kind, scope and selector, whoever asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::cache::facts::KeepManagers;
use crate::cache::informer::Informer;
use crate::cache::overlay::Overlay;
use crate::cache::plan::Plan;
use crate::cache::spec::InformerSpec;
use crate::cache::store::Contexts;
use crate::client::Transport;
use crate::env::Env;
use crate::watch::{self, WatchStatus};

/// The informers of a manager. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Informers(Arc<Inner>);

struct Inner {
    transport: Transport,
    env: Env,
    keep: KeepManagers,
    contexts: Arc<Contexts>,
    compress: bool,
    plan: Mutex<Plan>,
    registered: Mutex<BTreeMap<InformerSpec, Entry>>,
    changed: Arc<Notify>,
}

/// An informer, and who needs it.
struct Entry {
    informer: Informer,
    need: Weak<Need>,
    /// Runs it, once something does.
    task: Option<Task>,
}

/// Held by everyone who needs an informer. When the last one goes, the informer stops.
pub(crate) struct Need(Arc<Notify>);

impl Drop for Need {
    fn drop(&mut self) {
        self.0.notify_one();
    }
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
            plan: Mutex::default(),
            registered: Mutex::default(),
            changed: Arc::default(),
        }))
    }

    /// Says which informers will be asked for, so that those that one informer can serve share it from the beginning:
    /// one of metadata is served by one of bodies, and only what all of them strip is stripped.
    pub fn plan(&self, specs: impl IntoIterator<Item = InformerSpec>) {
        let mut plan = self.0.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.add(specs);
    }

    /// The informer that serves a specification: one there is, or a new one that [`Informers::run`] will run. It runs
    /// for as long as somebody holds it.
    #[must_use]
    pub fn informer(&self, spec: &InformerSpec) -> Informer {
        let inner = &self.0;
        let planned = {
            let plan = inner.plan.lock().unwrap_or_else(PoisonError::into_inner);
            plan.resolve(spec)
        };
        let mut registered = self.registered();
        let spec = match registered.keys().find(|other| other.serves(&planned)) {
            Some(other) => other.clone(),
            None => planned,
        };
        let entry = registered.entry(spec).or_insert_with_key(|spec| Entry {
            informer: Informer::new(
                spec.clone(),
                inner.keep.clone(),
                &inner.contexts,
                inner.compress,
                inner.transport.overlay().clone(),
                &inner.env,
            ),
            need: Weak::new(),
            task: None,
        });
        let need = entry.need.upgrade().unwrap_or_else(|| {
            let need = Arc::new(Need(Arc::clone(&inner.changed)));
            entry.need = Arc::downgrade(&need);
            need
        });
        let informer = entry.informer.needed_by(need);
        drop(registered);
        inner.changed.notify_one();
        informer
    }

    /// Runs every informer that somebody needs, now or later, until `stop` ends. Each has a task and a backoff of its
    /// own, so that none holds up another; one that nobody needs any more stops and forgets what it held.
    ///
    /// # Cancel safety
    ///
    /// Dropping it stops all informers.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let _all = StopAll(self);
        tokio::pin!(stop);
        loop {
            self.turn();
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.0.changed.notified() => {}
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

    /// All informers, ordered by specification. These handles keep none of them running.
    #[must_use]
    pub fn all(&self) -> Vec<Informer> {
        self.registered().values().map(|entry| entry.informer.clone()).collect()
    }

    /// Starts what is needed and stops what is not.
    fn turn(&self) {
        let mut stopped = Vec::new();
        let mut registered = self.registered();
        registered.retain(|_, entry| {
            let needed = entry.need.strong_count() > 0;
            if needed && entry.task.is_none() {
                let (transport, env) = (self.0.transport.clone(), self.0.env.clone());
                let running = watch::keep_up(entry.informer.clone(), transport, env.clone());
                entry.task = Some(Task(env.spawn("informer", running)));
            }
            if !needed {
                // Dropped without the lock: its subscribers may hold other informers.
                stopped.push((entry.informer.clone(), entry.task.take()));
            }
            needed
        });
        drop(registered);
        for (informer, _) in &stopped {
            tracing::debug!(target: "kubewright::watch", informer = %informer.spec(), "nobody needs it, it stops");
        }
    }

    fn registered(&self) -> MutexGuard<'_, BTreeMap<InformerSpec, Entry>> {
        self.0.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

/// A task that ends with its owner.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Stops all informers when dropped; they can be run again.
struct StopAll<'a>(&'a Informers);

impl Drop for StopAll<'_> {
    fn drop(&mut self) {
        for entry in self.0.registered().values_mut() {
            entry.task = None;
        }
    }
}
