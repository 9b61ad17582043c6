//! Indexes of a store by functions of the user, kept on every change.
//!
//! Those by namespace, owner and label are part of the store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::cache::Cached;
use crate::cache::store::{Symbol, Symbols};

/// Gives the values under which an object is found. Must depend on the object alone, and must not ask the informer.
pub type IndexFn = Arc<dyn Fn(&Cached) -> Vec<String> + Send + Sync>;

/// The indexes of one store.
#[derive(Default)]
pub(crate) struct Indexes(BTreeMap<Arc<str>, Index>);

struct Index {
    function: IndexFn,
    /// Values by number, each with the slots of its objects.
    values: Symbols,
    /// What each object is found under.
    of_slot: BTreeMap<u32, Box<[Symbol]>>,
}

impl Indexes {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An object changed, came or went.
    pub(crate) fn update(&mut self, slot: u32, object: Option<&Cached>) {
        for index in self.0.values_mut() {
            index.update(slot, object);
        }
    }

    /// The slots under this value, in no order, where there is such an index.
    pub(crate) fn find(&self, name: &str, value: &str) -> Option<Vec<u32>> {
        let index = self.0.get(name)?;
        let mut slots = Vec::new();
        if let Some(symbol) = index.values.find(value) {
            index.values.members(symbol).append_to(&mut slots);
        }
        Some(slots)
    }

    pub(crate) fn function(&self, name: &str) -> Option<IndexFn> {
        self.0.get(name).map(|index| Arc::clone(&index.function))
    }

    /// Indexes by a function from now on; replaces the index of the same name.
    pub(crate) fn add(&mut self, name: &str, function: IndexFn, objects: impl Iterator<Item = (u32, Cached)>) {
        let mut index = Index {
            function,
            values: Symbols::default(),
            of_slot: BTreeMap::new(),
        };
        for (slot, object) in objects {
            index.update(slot, Some(&object));
        }
        self.0.insert(name.into(), index);
    }
}

impl Index {
    fn update(&mut self, slot: u32, object: Option<&Cached>) {
        let values = object.map(|object| (self.function)(object)).unwrap_or_default();
        // The new first, so that a value that stays keeps its number.
        let new: Box<[Symbol]> = values.iter().map(|value| self.values.add(value, slot).0).collect();
        let old = match (new.is_empty(), self.of_slot.get_mut(&slot)) {
            (true, _) => self.of_slot.remove(&slot),
            (false, Some(held)) => Some(std::mem::replace(held, new.clone())),
            (false, None) => {
                self.of_slot.insert(slot, new.clone());
                None
            }
        };
        let mut gone: Vec<Symbol> = old
            .iter()
            .flatten()
            .copied()
            .filter(|symbol| !new.contains(symbol))
            .collect();
        gone.sort_unstable();
        gone.dedup();
        for symbol in gone {
            self.values.drop(symbol, slot);
        }
    }
}

impl fmt::Debug for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
