//! Where a cached object lies: the way to its decoded form.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::State;
use crate::delta::Header;

/// A slot of an informer's store. It may hold another object by now, or another version.
#[derive(Clone)]
pub(crate) struct Place {
    state: Weak<RwLock<State>>,
    slot: u32,
}

impl Place {
    pub(super) fn new(state: &Arc<RwLock<State>>, slot: u32) -> Self {
        Self {
            state: Arc::downgrade(state),
            slot,
        }
    }

    /// The decoded form of exactly this version, if it is kept.
    pub(crate) fn hot<K: Send + Sync + 'static>(&self, header: &Header) -> Option<Arc<K>> {
        let state = self.state.upgrade()?;
        let state = state.read().unwrap_or_else(PoisonError::into_inner);
        let same = state.store.holds(self.slot, &header.uid, &header.version);
        same.then(|| state.store.hot(self.slot)).flatten()
    }

    /// Keeps the decoded form, unless the store has moved on.
    pub(crate) fn keep<K: Send + Sync + 'static>(&self, header: &Header, object: &Arc<K>) {
        let Some(state) = self.state.upgrade() else { return };
        let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
        if state.store.holds(self.slot, &header.uid, &header.version) {
            state.store.keep(self.slot, Arc::clone(object));
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}
