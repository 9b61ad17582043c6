//! The held objects of a resource, counted where readers see it without a lock.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A map that tells how many entries it has.
pub(super) struct Counted<K, V> {
    map: BTreeMap<K, V>,
    count: Arc<AtomicUsize>,
}

impl<K: Ord, V> Counted<K, V> {
    pub(super) fn count(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.count)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.map.insert(key, value);
        self.publish();
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.map.remove(key);
        self.publish();
        removed
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.map.retain(keep);
        self.publish();
    }

    fn publish(&self) {
        self.count.store(self.map.len(), Ordering::Release);
    }
}

impl<K, V> Default for Counted<K, V> {
    fn default() -> Self {
        Self {
            map: BTreeMap::new(),
            count: Arc::default(),
        }
    }
}

impl<K, V> Deref for Counted<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.map
    }
}
