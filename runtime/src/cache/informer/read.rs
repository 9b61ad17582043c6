//! What an informer answers.

use std::sync::{Arc, RwLockReadGuard};

use serde::de::DeserializeOwned;

use super::{Informer, Place, State};
use crate::cache::cached::{Cached, DecodeError};
use crate::cache::selector::Selector;
use crate::cache::store::Record;
use crate::key::ObjectKey;

impl Informer {
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

    /// The keys of the objects under a value of an index, in order; `None` where there is no such index.
    #[must_use]
    pub fn keys_by_index(&self, name: &str, value: &str) -> Option<Vec<ObjectKey>> {
        let state = self.state();
        let mut slots = state.indexes.find(name, value)?;
        state.store.sort(&mut slots);
        Some(slots.iter().map(|slot| state.store.record(*slot).key()).collect())
    }

    fn fetch(&self, state: &State, mut slots: Vec<u32>) -> Vec<Cached> {
        state.store.sort(&mut slots);
        slots
            .iter()
            .map(|slot| self.cached(state.store.record(*slot)))
            .collect()
    }

    /// Slots in the order of their keys, and the state they were read from.
    pub(super) fn selected(
        &self,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> (RwLockReadGuard<'_, State>, Vec<u32>) {
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

    pub(super) fn cached(&self, record: Record<'_>) -> Cached {
        let place = Place::new(&self.inner.state, record.slot());
        self.detached(record).at(place)
    }

    /// An object that does not know where it lies, and so never asks the informer.
    pub(super) fn detached(&self, record: Record<'_>) -> Cached {
        let spec = &self.inner.spec;
        let header = Arc::new(record.header());
        Cached::new(spec.kind.clone(), header, record.body(), spec.metadata_only)
    }
}
