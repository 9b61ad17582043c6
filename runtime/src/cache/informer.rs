//! One kind, scope and selector, kept up: the store and its indexes, and who is told of changes.

mod intake;
mod place;
mod reach;
mod subscribers;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use crate::cache::cached::{Cached, DecodeError};
use crate::cache::index::{IndexFn, Indexes};
use crate::cache::overlay::{Entry, Holds, Overlay, Scope, ScopeId};
use crate::cache::scanner::{KeepManagers, Scanner};
use crate::cache::selector::{FieldSelector, Selector};
use crate::cache::spec::{Covers, InformerSpec};
use crate::cache::store::{Contexts, Record, Store};
use crate::delta::{Delta, Version};
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::watch::WatchStatus;

use self::intake::Intake;
use self::subscribers::Subscribers;

pub(crate) use self::intake::ListRun;
pub(crate) use self::place::Place;
pub(crate) use self::reach::Listed;

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
    scope: Scope,
    state: Arc<RwLock<State>>,
    /// What only the informer's task uses.
    intake: Mutex<Intake>,
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

impl Informer {
    pub(crate) fn new(
        spec: InformerSpec,
        keep: KeepManagers,
        contexts: &Arc<Contexts>,
        compress: bool,
        overlay: Overlay,
        env: &Env,
    ) -> Self {
        let state = Arc::new(RwLock::new(State {
            store: Store::new(Arc::clone(contexts), HOT),
            indexes: Indexes::default(),
            synced: false,
            progress: None,
        }));
        let held = Arc::clone(&state);
        let holds: Holds = Arc::new(move |key| {
            let state = held.read().unwrap_or_else(PoisonError::into_inner);
            state.store.find(key).map(|slot| state.store.record(slot).uid())
        });
        let scope = overlay.join(&spec.kind, spec.namespace.clone(), holds);
        Self(Arc::new(Inner {
            // A selector that cannot be read is refused by the server, in words that status and log show.
            labels: spec.labels.as_deref().and_then(|text| Selector::parse(text).ok()),
            fields: spec.fields.as_deref().and_then(|text| FieldSelector::parse(text).ok()),
            scanner: Scanner::new(&spec.kind, spec.metadata_only, keep),
            overlay,
            scope,
            state,
            intake: Mutex::new(Intake::new(Arc::clone(contexts), compress)),
            subscribers: Subscribers::default(),
            synced: Notify::new(),
            moved: Notify::new(),
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
        let state = self.state();
        let slot = state.store.find(key)?;
        Some(self.cached(state.store.record(slot)))
    }

    /// As [`get`](Self::get), decoded. One that was decoded before is found at the cost of a look-up.
    ///
    /// # Errors
    ///
    /// As [`Cached::decode`].
    #[must_use]
    pub fn get_as<K: DeserializeOwned + Send + Sync + 'static>(
        &self,
        key: &ObjectKey,
    ) -> Option<Result<Arc<K>, DecodeError>> {
        let cold = {
            let state = self.state();
            let slot = state.store.find(key)?;
            match state.store.hot::<K>(slot) {
                Some(hot) => return Some(Ok(hot)),
                None => self.cached(state.store.record(slot)),
            }
        };
        Some(cold.decode())
    }

    /// The objects of a namespace, or all, that `selector` selects; ordered by key.
    ///
    /// Where the selector demands one value of a label, an index answers, and the cost is that of the result.
    #[must_use]
    pub fn list(&self, namespace: Option<&str>, selector: Option<&Selector>) -> Vec<Cached> {
        let (state, slots) = self.selected(namespace, selector);
        slots
            .iter()
            .map(|slot| self.cached(state.store.record(*slot)))
            .collect()
    }

    /// The keys of all objects, in order. Costs no bodies.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        let (state, slots) = self.selected(None, None);
        slots.iter().map(|slot| state.store.record(*slot).key()).collect()
    }

    /// The objects that name this uid as an owner, ordered by key.
    #[must_use]
    pub fn by_owner(&self, uid: &str) -> Vec<Cached> {
        let state = self.state();
        let slots = state.store.owned(uid, false);
        self.fetch(&state, slots)
    }

    /// The objects whose controller this uid is, decoded, ordered by key.
    ///
    /// # Errors
    ///
    /// As [`Cached::decode`], for the first object that does not fit.
    pub fn controlled_as<K: DeserializeOwned + Send + Sync + 'static>(
        &self,
        uid: &str,
    ) -> Result<Vec<Arc<K>>, DecodeError> {
        let mut found = Vec::new();
        let mut cold = Vec::new();
        {
            let state = self.state();
            let mut slots = state.store.owned(uid, true);
            state.store.sort(&mut slots);
            found.reserve(slots.len());
            for (at, slot) in slots.into_iter().enumerate() {
                match state.store.hot::<K>(slot) {
                    Some(hot) => found.push(hot),
                    None => cold.push((at, self.cached(state.store.record(slot)))),
                }
            }
        }
        for (at, object) in cold {
            found.insert(at, object.decode()?);
        }
        Ok(found)
    }

    /// The objects under a value of an index, ordered by key; empty where there is no such index.
    #[must_use]
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Cached> {
        let state = self.state();
        let slots = state.indexes.find(name, value).unwrap_or_default();
        self.fetch(&state, slots)
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

    /// What this process wrote of the object and the informer has not seen.
    pub(crate) fn unseen(&self, key: &ObjectKey) -> Option<Entry> {
        // Most of the time there is nothing, and every read asks.
        if self.0.scope.is_settled() {
            return None;
        }
        self.0.overlay.get_for(self.scope(), self.kind(), key)
    }

    /// Whether no own write waits for any informer of the kind.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.scope.is_settled()
    }

    /// As [`unseen`](Self::unseen), of all objects.
    pub(crate) fn all_unseen(&self, namespace: Option<&str>) -> Vec<(ObjectKey, Entry)> {
        if self.0.scope.is_settled() {
            return Vec::new();
        }
        self.0.overlay.list_for(self.scope(), self.kind(), namespace)
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.0.overlay
    }

    pub(crate) fn scope(&self) -> ScopeId {
        self.0.scope.id()
    }

    pub(crate) fn status_mut(&self) -> MutexGuard<'_, WatchStatus> {
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, state: &State, mut slots: Vec<u32>) -> Vec<Cached> {
        state.store.sort(&mut slots);
        slots
            .iter()
            .map(|slot| self.cached(state.store.record(*slot)))
            .collect()
    }

    /// Slots in the order of their keys, and the state they were read from.
    fn selected(&self, namespace: Option<&str>, selector: Option<&Selector>) -> (RwLockReadGuard<'_, State>, Vec<u32>) {
        let (state, mut slots) = match selector.and_then(Selector::equality) {
            Some((label, value)) => {
                let (state, mut slots) = self.labelled(label, value);
                if let Some(namespace) = namespace {
                    slots.retain(|slot| state.store.record(*slot).namespace() == namespace);
                }
                (state, slots)
            }
            None => {
                let state = self.state();
                let slots = state.store.all(namespace);
                (state, slots)
            }
        };
        if let Some(selector) = selector {
            slots.retain(|slot| selector.matches(&state.store.record(*slot).labels()));
        }
        state.store.sort(&mut slots);
        (state, slots)
    }

    /// The slots under a label, and the state they were read from. The first question makes the index.
    fn labelled(&self, label: &str, value: &str) -> (RwLockReadGuard<'_, State>, Vec<u32>) {
        loop {
            let state = self.state();
            if let Some(slots) = state.store.labelled(label, value) {
                return (state, slots);
            }
            drop(state);
            self.state_mut().store.index_label(label);
        }
    }

    fn cached(&self, record: Record<'_>) -> Cached {
        let place = Place::new(&self.0.state, record.slot());
        self.detached(record).at(place)
    }

    /// An object that does not know where it lies, and so never asks the informer.
    fn detached(&self, record: Record<'_>) -> Cached {
        let spec = &self.0.spec;
        let header = Arc::new(record.header());
        Cached::new(spec.kind.clone(), header, record.body(), spec.metadata_only)
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
