//! One kind, scope and selector, kept up: the store and its indexes, and who is told of changes.

mod intake;
mod subscribers;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::Notify;

use crate::cache::cached::{Cached, Hot};
use crate::cache::index::{IndexFn, Indexes};
use crate::cache::interner::Interner;
use crate::cache::overlay::{Entry, Holds, Overlay, ScopeId};
use crate::cache::scanner::{KeepManagers, Scanner};
use crate::cache::selector::{FieldSelector, Selector};
use crate::cache::spec::{Covers, InformerSpec};
use crate::cache::store::{PlainStore, Record, Store};
use crate::delta::{Delta, Version};
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::watch::WatchStatus;

use self::subscribers::Subscribers;

pub(crate) use self::intake::ListRun;

/// Called for every change, in order, in the informer's task. Must not block.
pub type Sink = Arc<dyn Fn(&Delta) + Send + Sync>;

/// Decoded objects that an informer keeps.
const HOT: usize = 128;

/// A handle to an informer. Clones share it.
///
/// It is registered with [`Informers`](crate::cache::Informers), which run it; it holds nothing before that.
#[derive(Clone)]
pub struct Informer(Arc<Inner>);

struct Inner {
    spec: InformerSpec,
    labels: Option<Selector>,
    fields: Option<FieldSelector>,
    scanner: Scanner,
    overlay: Overlay,
    scope: ScopeId,
    hot: Arc<Hot>,
    state: Arc<RwLock<State>>,
    subscribers: Subscribers,
    synced: Notify,
    status: Mutex<WatchStatus>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Own writes wait for this informer no longer.
        self.overlay.leave(&self.spec.kind, self.scope);
    }
}

pub(super) struct State {
    store: Box<dyn Store>,
    indexes: Indexes,
    synced: bool,
    progress: Option<Version>,
}

impl Informer {
    pub(crate) fn new(
        spec: InformerSpec,
        keep: KeepManagers,
        interner: Arc<Interner>,
        overlay: Overlay,
        env: &Env,
    ) -> Self {
        let state = Arc::new(RwLock::new(State {
            store: Box::<PlainStore>::default(),
            indexes: Indexes::default(),
            synced: false,
            progress: None,
        }));
        let held = Arc::clone(&state);
        let holds: Holds = Arc::new(move |key| {
            let state = held.read().unwrap_or_else(PoisonError::into_inner);
            state.store.get(key).map(|record| Arc::clone(&record.header.uid))
        });
        let scope = overlay.join(&spec.kind, spec.namespace.clone(), holds);
        Self(Arc::new(Inner {
            // A selector that cannot be read is refused by the server, in words that status and log show.
            labels: spec.labels.as_deref().and_then(|text| Selector::parse(text).ok()),
            fields: spec.fields.as_deref().and_then(|text| FieldSelector::parse(text).ok()),
            scanner: Scanner::new(&spec.kind, spec.metadata_only, keep, interner),
            overlay,
            scope,
            hot: Arc::new(Hot::new(HOT)),
            state,
            subscribers: Subscribers::default(),
            synced: Notify::new(),
            status: Mutex::new(WatchStatus::new(&spec, env.now())),
            spec,
        }))
    }

    /// What the informer keeps up.
    #[must_use]
    pub fn spec(&self) -> &InformerSpec {
        &self.0.spec
    }

    /// Kind of the objects.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.0.spec.kind
    }

    /// Tells `sink` of every change from now on; what is held already comes first, as additions.
    ///
    /// The replay, too, is done by the informer's task, so that each subscriber sees one unbroken sequence.
    pub fn subscribe(&self, sink: Sink) {
        self.0.subscribers.add(sink);
    }

    /// The object of this name, as the watch last delivered it.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Cached> {
        let record = self.state().store.get(key)?;
        Some(self.cached(record))
    }

    /// The objects of a namespace, or all, that `selector` selects; ordered by key.
    ///
    /// Where the selector demands one value of a label, an index answers, and the cost is that of the result.
    #[must_use]
    pub fn list(&self, namespace: Option<&str>, selector: Option<&Selector>) -> Vec<Cached> {
        let selected = |record: &Record| selector.is_none_or(|selector| selector.matches(&record.header.labels));
        if let Some((label, value)) = selector.and_then(Selector::equality) {
            let within = |key: &ObjectKey| namespace.is_none_or(|namespace| *key.namespace == *namespace);
            let (state, keys) = self.labelled(label, value);
            return keys
                .iter()
                .filter(|key| within(key))
                .filter_map(|key| state.store.get(key))
                .filter(selected)
                .map(|record| self.cached(record))
                .collect();
        }
        let state = self.state();
        let records = state.store.iter(namespace).filter(selected);
        records.map(|record| self.cached(record)).collect()
    }

    /// The objects that name this uid as an owner, ordered by key.
    #[must_use]
    pub fn by_owner(&self, uid: &str) -> Vec<Cached> {
        let state = self.state();
        let keys = state.indexes.by_owner(uid);
        self.fetch(&state, &keys)
    }

    /// The objects under a value of an index; empty where there is no such index.
    #[must_use]
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Cached> {
        let state = self.state();
        let keys = state.indexes.by_function(name, value).unwrap_or_default();
        self.fetch(&state, &keys)
    }

    /// Finds objects by the values that `function` gives, from now on; replaces the index of the same name.
    pub fn add_index(&self, name: &str, function: IndexFn) {
        let mut state = self.state_mut();
        let State { store, indexes, .. } = &mut *state;
        indexes.add_function(name, function, store.iter(None).map(|record| self.cached(record)));
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
            let notified = self.0.synced.notified();
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
        let spec = &self.0.spec;
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
        if self.0.spec.fields.is_some() {
            return false;
        }
        match (&self.0.spec.labels, &self.0.labels) {
            (None, _) => true,
            (Some(_), Some(own)) => selector.is_some_and(|selector| selector.implies(own)),
            (Some(_), None) => false,
        }
    }

    /// Whether an object that came another way belongs into this informer.
    pub(crate) fn selects(&self, object: &Cached) -> bool {
        self.covers(object.key()) != Covers::No
            && self
                .0
                .labels
                .as_ref()
                .is_none_or(|own| own.matches(&object.header().labels))
            && self.0.fields.as_ref().is_none_or(|own| own.matches(object))
    }

    pub(crate) fn unseen(&self, key: &ObjectKey) -> Option<Entry> {
        self.0.overlay.get_for(self.0.scope, self.kind(), key)
    }

    pub(crate) fn all_unseen(&self, namespace: Option<&str>) -> Vec<(ObjectKey, Entry)> {
        self.0.overlay.list_for(self.0.scope, self.kind(), namespace)
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.0.overlay
    }

    pub(crate) fn scope(&self) -> ScopeId {
        self.0.scope
    }

    pub(crate) fn status_mut(&self) -> MutexGuard<'_, WatchStatus> {
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, state: &State, keys: &[ObjectKey]) -> Vec<Cached> {
        keys.iter()
            .filter_map(|key| state.store.get(key))
            .map(|record| self.cached(record))
            .collect()
    }

    /// The keys under a label, and the state they were read from. The first question makes the index.
    fn labelled(&self, label: &str, value: &str) -> (RwLockReadGuard<'_, State>, Vec<ObjectKey>) {
        loop {
            let state = self.state();
            if let Some(keys) = state.indexes.by_label(label, value) {
                return (state, keys);
            }
            drop(state);
            let mut state = self.state_mut();
            let State { store, indexes, .. } = &mut *state;
            indexes.add_label(label, store.iter(None).map(|record| self.cached(record)));
        }
    }

    fn cached(&self, record: Record) -> Cached {
        let spec = &self.0.spec;
        Cached::new(spec.kind.clone(), record.header, record.body, spec.metadata_only).with_hot(Arc::clone(&self.0.hot))
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Informer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Informer")
            .field("spec", &format_args!("{}", self.0.spec))
            .field("objects", &state.store.len())
            .field("synced", &state.synced)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "informer/tests.rs"]
mod tests;
