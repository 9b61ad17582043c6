//! One kind, scope and selector, kept up: the store and its indexes, and who is told of changes.

mod intake;
mod place;
mod reach;
mod read;
mod subscribers;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use tokio::sync::Notify;

use crate::cache::cached::Cached;
use crate::cache::facts::KeepManagers;
use crate::cache::index::{IndexFn, Indexes};
use crate::cache::informers::Need;
use crate::cache::overlay::{Entry, Holds, Overlay, Scope, ScopeId};
use crate::cache::scanner::Scanner;
use crate::cache::selector::{FieldSelector, Selector};
use crate::cache::spec::{Covers, InformerSpec};
use crate::cache::store::{Contexts, Store};
use crate::delta::{Delta, Version};
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::watch::WatchStatus;

use self::intake::Intake;
use self::subscribers::Subscribers;

pub(crate) use self::place::Place;
pub(crate) use self::reach::Listed;

/// Called for every change, in order, in the informer's task. Must not block.
pub type Sink = Arc<dyn Fn(&Delta) + Send + Sync>;

/// Decoded objects that an informer keeps.
const HOT: usize = 128;

/// A handle to an informer. Clones share it.
///
/// It is registered with [`Informers`](crate::cache::Informers), which run it for as long as somebody holds a handle that
/// they gave; it holds nothing before that.
#[derive(Clone)]
pub struct Informer {
    inner: Arc<Inner>,
    /// Keeps it running; not in the handles of those who only look.
    need: Option<Arc<Need>>,
}

struct Inner {
    spec: InformerSpec,
    labels: Option<Selector>,
    fields: Option<FieldSelector>,
    scanner: Scanner,
    overlay: Overlay,
    scope: Scope,
    state: Arc<RwLock<State>>,
    /// What only the informer's task uses.
    intake: Mutex<Intake>,
    contexts: Arc<Contexts>,
    compress: bool,
    subscribers: Subscribers,
    synced: Notify,
    /// The store has come to a newer version.
    moved: Notify,
    status: Mutex<WatchStatus>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Own writes wait for this informer no longer.
        self.overlay.leave(&self.spec.kind, self.scope.id());
    }
}

pub(crate) struct State {
    store: Store,
    indexes: Indexes,
    synced: bool,
    progress: Option<Version>,
}

impl State {
    fn empty(contexts: &Arc<Contexts>) -> Self {
        Self {
            store: Store::new(Arc::clone(contexts), HOT),
            indexes: Indexes::default(),
            synced: false,
            progress: None,
        }
    }
}

/// What [`Informer::downgrade`] gives.
#[derive(Clone)]
pub struct WeakInformer(Weak<Inner>);

impl WeakInformer {
    /// The informer, if it still is in memory. The handle does not keep it running.
    #[must_use]
    pub fn upgrade(&self) -> Option<Informer> {
        let inner = self.0.upgrade()?;
        Some(Informer { inner, need: None })
    }
}

impl fmt::Debug for WeakInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakInformer").field(&self.upgrade()).finish()
    }
}

impl Informer {
    pub(crate) fn new(
        spec: InformerSpec,
        keep: KeepManagers,
        contexts: &Arc<Contexts>,
        compress: bool,
        overlay: Overlay,
        env: &Env,
    ) -> Self {
        let state = Arc::new(RwLock::new(State::empty(contexts)));
        let held = Arc::clone(&state);
        let holds: Holds = Arc::new(move |key| {
            let state = held.read().unwrap_or_else(PoisonError::into_inner);
            state.store.find(key).map(|slot| state.store.record(slot).uid())
        });
        let scope = overlay.join(&spec.kind, spec.namespace.clone(), holds);
        let inner = Inner {
            // A selector that cannot be read is refused by the server, in words that status and log show.
            labels: spec.labels.as_deref().and_then(|text| Selector::parse(text).ok()),
            fields: spec.fields.as_deref().and_then(|text| FieldSelector::parse(text).ok()),
            scanner: Scanner::new(&spec.kind, spec.metadata_only, keep).without(&spec.strip),
            overlay,
            scope,
            state,
            intake: Mutex::new(Intake::new(Arc::clone(contexts), compress)),
            contexts: Arc::clone(contexts),
            compress,
            subscribers: Subscribers::default(),
            synced: Notify::new(),
            moved: Notify::new(),
            status: Mutex::new(WatchStatus::new(&spec, env.now())),
            spec,
        };
        Self {
            inner: Arc::new(inner),
            need: None,
        }
    }

    pub(crate) fn needed_by(&self, need: Arc<Need>) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            need: Some(need),
        }
    }

    /// A way back to the informer that keeps it neither running nor in memory: for its own subscribers, and for those
    /// who only look.
    #[must_use]
    pub fn downgrade(&self) -> WeakInformer {
        WeakInformer(Arc::downgrade(&self.inner))
    }

    /// What the informer keeps up.
    #[must_use]
    pub fn spec(&self) -> &InformerSpec {
        &self.inner.spec
    }

    /// Kind of the objects.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.inner.spec.kind
    }

    /// Tells `sink` of every change from now on; what is held already comes first, as additions.
    ///
    /// The replay, too, is done by the informer's task, so that each subscriber sees one unbroken sequence.
    pub fn subscribe(&self, sink: Sink) {
        self.inner.subscribers.add(sink);
    }

    /// Tells this very sink of no more changes.
    pub fn unsubscribe(&self, sink: &Sink) {
        self.inner.subscribers.remove(sink);
    }

    /// Finds objects by the values that `function` gives, from now on; replaces the index of the same name.
    pub fn add_index(&self, name: &str, function: IndexFn) {
        let mut state = self.state_mut();
        let State { store, indexes, .. } = &mut *state;
        let objects = store.all(None).into_iter();
        indexes.add(
            name,
            function,
            objects.map(|slot| (slot, self.detached(store.record(slot)))),
        );
    }

    /// The function of an index.
    pub(crate) fn index(&self, name: &str) -> Option<IndexFn> {
        self.state().indexes.function(name)
    }

    /// Whether the first list has ended and every subscriber has been told of it.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.state().synced
    }

    /// Returns when the first list has ended and every subscriber has been told of it.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn synced(&self) {
        loop {
            let notified = self.inner.synced.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.has_synced() {
                return;
            }
            notified.await;
        }
    }

    /// The version that the store has reached, by event, bookmark or list; `None` before the first list.
    #[must_use]
    pub fn progress(&self) -> Option<Version> {
        self.state().progress.clone()
    }

    /// What the informer's silence about an object means.
    #[must_use]
    pub fn covers(&self, key: &ObjectKey) -> Covers {
        let spec = &self.inner.spec;
        if spec
            .namespace
            .as_ref()
            .is_some_and(|namespace| *namespace != key.namespace)
        {
            Covers::No
        } else if spec.labels.is_some() || spec.fields.is_some() {
            Covers::Selector
        } else {
            Covers::Full
        }
    }

    /// How the watch is doing.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        let mut status = self.status_mut().clone();
        let state = self.state();
        status.synced = state.synced;
        status.objects = state.store.len();
        status.bytes = state.store.bytes();
        status.version = state.progress.clone();
        status
    }

    /// Whether every object that `selector` selects is within this informer's selectors.
    pub(crate) fn includes(&self, selector: Option<&Selector>) -> bool {
        if self.inner.spec.fields.is_some() {
            return false;
        }
        match (&self.inner.spec.labels, &self.inner.labels) {
            (None, _) => true,
            (Some(_), Some(own)) => selector.is_some_and(|selector| selector.implies(own)),
            (Some(_), None) => false,
        }
    }

    /// Whether an object that came another way belongs into this informer.
    pub(crate) fn selects(&self, object: &Cached) -> bool {
        self.covers(object.key()) != Covers::No
            && self
                .inner
                .labels
                .as_ref()
                .is_none_or(|own| own.matches(&object.header().labels))
            && self.inner.fields.as_ref().is_none_or(|own| own.matches(object))
    }

    /// What this process wrote of the object and the informer has not seen.
    pub(crate) fn unseen(&self, key: &ObjectKey) -> Option<Entry> {
        // Most of the time there is nothing, and every read asks.
        if self.inner.scope.is_settled() {
            return None;
        }
        self.inner.overlay.get_for(self.scope(), self.kind(), key)
    }

    /// Whether no own write waits for any informer of the kind.
    pub(crate) fn is_settled(&self) -> bool {
        self.inner.scope.is_settled()
    }

    /// As [`unseen`](Self::unseen), of all objects.
    pub(crate) fn all_unseen(&self, namespace: Option<&str>) -> Vec<(ObjectKey, Entry)> {
        if self.inner.scope.is_settled() {
            return Vec::new();
        }
        self.inner.overlay.list_for(self.scope(), self.kind(), namespace)
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.inner.overlay
    }

    pub(crate) fn scope(&self) -> ScopeId {
        self.inner.scope.id()
    }

    pub(crate) fn status_mut(&self) -> MutexGuard<'_, WatchStatus> {
        self.inner.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.inner.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.inner.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Informer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Informer")
            .field("spec", &format_args!("{}", self.inner.spec))
            .field("objects", &state.store.len())
            .field("synced", &state.synced)
            .field("keeps_running", &self.need.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "informer/tests.rs"]
mod tests;
