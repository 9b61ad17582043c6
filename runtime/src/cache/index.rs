//! Secondary indexes of a store: by owner, by label, by functions of the user. Kept on every change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::cache::Cached;
use crate::delta::Header;
use crate::key::ObjectKey;

/// Gives the values under which an object is found. Must depend on the object alone, and must not ask the informer.
pub type IndexFn = Arc<dyn Fn(&Cached) -> Vec<String> + Send + Sync>;

type Keys = BTreeMap<Arc<str>, BTreeSet<ObjectKey>>;

/// The indexes of one store.
#[derive(Default)]
pub(crate) struct Indexes {
    owners: Keys,
    /// By label key; only labels that somebody asked for are indexed.
    labels: BTreeMap<Arc<str>, Keys>,
    functions: BTreeMap<Arc<str>, (IndexFn, Keys)>,
}

impl Indexes {
    /// An object changed, came or went.
    pub(crate) fn update(&mut self, old: Option<&Cached>, new: Option<&Cached>) {
        let Some(key) = new.or(old).map(|object| object.key().clone()) else {
            return;
        };
        let owners = |object: &Cached| -> Vec<Arc<str>> { owner_uids(object.header()) };
        if old.map(owners) != new.map(owners) {
            change(&mut self.owners, &key, old.map(owners), new.map(owners));
        }
        for (label, keys) in &mut self.labels {
            let value = |object: &Cached| -> Vec<Arc<str>> {
                object.header().labels.get(label).map(Arc::from).into_iter().collect()
            };
            change(keys, &key, old.map(value), new.map(value));
        }
        for (function, keys) in self.functions.values_mut() {
            let values = |object: &Cached| -> Vec<Arc<str>> { function(object).into_iter().map(Arc::from).collect() };
            change(keys, &key, old.map(values), new.map(values));
        }
    }

    pub(crate) fn by_owner(&self, uid: &str) -> Vec<ObjectKey> {
        found(&self.owners, uid)
    }

    /// The objects with this label, where the label is indexed.
    pub(crate) fn by_label(&self, label: &str, value: &str) -> Option<Vec<ObjectKey>> {
        self.labels.get(label).map(|keys| found(keys, value))
    }

    /// The objects under this value, where there is such an index.
    pub(crate) fn by_function(&self, name: &str, value: &str) -> Option<Vec<ObjectKey>> {
        self.functions.get(name).map(|(_, keys)| found(keys, value))
    }

    pub(crate) fn function(&self, name: &str) -> Option<IndexFn> {
        self.functions.get(name).map(|(function, _)| Arc::clone(function))
    }

    /// Indexes a label from now on.
    pub(crate) fn add_label(&mut self, label: &str, objects: impl Iterator<Item = Cached>) {
        if self.labels.contains_key(label) {
            return;
        }
        let mut keys = Keys::new();
        for object in objects {
            if let Some(value) = object.header().labels.get(label) {
                keys.entry(value.into()).or_default().insert(object.key().clone());
            }
        }
        self.labels.insert(label.into(), keys);
    }

    /// Indexes by a function from now on; replaces the index of the same name.
    pub(crate) fn add_function(&mut self, name: &str, function: IndexFn, objects: impl Iterator<Item = Cached>) {
        let mut keys = Keys::new();
        for object in objects {
            for value in function(&object) {
                keys.entry(value.into()).or_default().insert(object.key().clone());
            }
        }
        self.functions.insert(name.into(), (function, keys));
    }
}

impl fmt::Debug for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexes")
            .field("owners", &self.owners.len())
            .field("labels", &self.labels.keys())
            .field("functions", &self.functions.keys())
            .finish()
    }
}

fn owner_uids(header: &Header) -> Vec<Arc<str>> {
    header.owners.iter().map(|owner| Arc::clone(&owner.uid)).collect()
}

fn found(keys: &Keys, value: &str) -> Vec<ObjectKey> {
    keys.get(value)
        .map(|keys| keys.iter().cloned().collect())
        .unwrap_or_default()
}

fn change(keys: &mut Keys, key: &ObjectKey, old: Option<Vec<Arc<str>>>, new: Option<Vec<Arc<str>>>) {
    if old == new {
        return;
    }
    for value in old.into_iter().flatten() {
        if let Some(set) = keys.get_mut(&value) {
            set.remove(key);
            if set.is_empty() {
                keys.remove(&value);
            }
        }
    }
    for value in new.into_iter().flatten() {
        keys.entry(value).or_default().insert(key.clone());
    }
}
