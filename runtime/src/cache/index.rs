//! Indexes of a store by functions of the user, kept on every change.
//!
//! Those by namespace, owner and label are part of the store.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::Cached;
use crate::cache::store::{Symbol, Symbols};

/// Gives the values under which an object is found. Must depend on the object alone, and must not ask the informer.
pub type IndexFn = Arc<dyn Fn(&Cached) -> Vec<String> + Send + Sync>;

/// The index function of a function of the decoded object. One that does not fit `K` is found under nothing.
pub(crate) fn typed<K, I>(function: impl Fn(&K) -> I + Send + Sync + 'static) -> IndexFn
where
    K: DeserializeOwned + Send + Sync + 'static,
    I: IntoIterator<Item: Into<String>>,
{
    Arc::new(move |object| match object.decode::<K>() {
        Ok(object) => function(&object).into_iter().map(Into::into).collect(),
        Err(_) => Vec::new(),
    })
}

/// Functions by the names of their indexes.
pub(crate) type Functions = Vec<(Arc<str>, IndexFn)>;

/// What an object is found under, by the names of indexes.
pub(crate) type Values = Vec<(Arc<str>, Vec<String>)>;

/// Asks functions about an object, which must not lead them back to its informer. One that panics finds nothing, as
/// the informer's task is no place to end for a mistake in it.
pub(crate) fn values(functions: &Functions, object: &Cached) -> Values {
    let ask = |(name, function): &(Arc<str>, IndexFn)| {
        let found = catch_unwind(AssertUnwindSafe(|| function(object))).unwrap_or_else(|_| {
            tracing::error!(
                index = &**name,
                "the index function panicked on {} {}, which is found under nothing now",
                object.kind().kind(),
                object.key()
            );
            Vec::new()
        });
        (Arc::clone(name), found)
    };
    functions.iter().map(ask).collect()
}

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
    /// All functions.
    pub(crate) fn functions(&self) -> Functions {
        let all = self.0.iter();
        all.map(|(name, index)| (Arc::clone(name), Arc::clone(&index.function)))
            .collect()
    }

    /// An object came or changed. An index that has come since `values` were asked for has asked for itself.
    pub(crate) fn set(&mut self, slot: u32, values: &Values) {
        for (name, values) in values {
            if let Some(index) = self.0.get_mut(name) {
                index.set(slot, values);
            }
        }
    }

    /// An object went.
    pub(crate) fn remove(&mut self, slot: u32) {
        for index in self.0.values_mut() {
            index.set(slot, &[]);
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
        let name: Arc<str> = name.into();
        let functions = vec![(Arc::clone(&name), Arc::clone(&index.function))];
        for (slot, object) in objects {
            for (_, found) in values(&functions, &object) {
                index.set(slot, &found);
            }
        }
        self.0.insert(name, index);
    }
}

impl Index {
    fn set(&mut self, slot: u32, values: &[String]) {
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
