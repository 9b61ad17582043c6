//! Where the objects of one informer lie: ordered by key, headers decoded, bodies as slim JSON.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::delta::Header;
use crate::key::ObjectKey;

/// One stored object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) header: Arc<Header>,
    pub(crate) body: Bytes,
}

/// What an informer asks of its store. Compression and paging belong behind it: bodies are handed out whole.
pub(crate) trait Store: Send + Sync {
    /// The object of this name.
    fn get(&self, key: &ObjectKey) -> Option<Record>;
    /// Stores an object in the current epoch and gives back what it replaces.
    fn insert(&mut self, record: Record) -> Option<Record>;
    /// Moves an unchanged object to the current epoch.
    fn touch(&mut self, key: &ObjectKey);
    /// Takes an object out.
    fn remove(&mut self, key: &ObjectKey) -> Option<Record>;
    /// Starts a new epoch: a list begins.
    fn begin_epoch(&mut self);
    /// The keys that the current epoch has not stored or touched: what a list that has ended did not hold.
    fn stale(&self) -> Vec<ObjectKey>;
    /// All objects, or those of one namespace, ordered by key.
    fn iter<'a>(&'a self, namespace: Option<&'a str>) -> Box<dyn Iterator<Item = Record> + 'a>;
    /// How many objects there are.
    fn len(&self) -> usize;
    /// What the bodies take, in bytes.
    fn bytes(&self) -> usize;
}

/// Bodies as they are, one allocation of exact size each.
#[derive(Debug, Default)]
pub(crate) struct PlainStore {
    objects: BTreeMap<ObjectKey, Held>,
    epoch: u32,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    record: Record,
    epoch: u32,
}

impl Store for PlainStore {
    fn get(&self, key: &ObjectKey) -> Option<Record> {
        self.objects.get(key).map(|held| held.record.clone())
    }

    fn insert(&mut self, record: Record) -> Option<Record> {
        self.bytes += record.body.len();
        let key = record.header.key.clone();
        let held = Held {
            record,
            epoch: self.epoch,
        };
        let old = self.objects.insert(key, held)?.record;
        self.bytes -= old.body.len();
        Some(old)
    }

    fn touch(&mut self, key: &ObjectKey) {
        let epoch = self.epoch;
        if let Some(held) = self.objects.get_mut(key) {
            held.epoch = epoch;
        }
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Record> {
        let old = self.objects.remove(key)?.record;
        self.bytes -= old.body.len();
        Some(old)
    }

    fn begin_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn stale(&self) -> Vec<ObjectKey> {
        self.objects
            .iter()
            .filter(|(_, held)| held.epoch != self.epoch)
            .map(|(key, _)| key.clone())
            .collect()
    }

    fn iter<'a>(&'a self, namespace: Option<&'a str>) -> Box<dyn Iterator<Item = Record> + 'a> {
        let Some(namespace) = namespace else {
            return Box::new(self.objects.values().map(|held| held.record.clone()));
        };
        let first = ObjectKey::new(namespace, "");
        Box::new(
            self.objects
                .range((Bound::Included(first), Bound::Unbounded))
                .take_while(move |(key, _)| *key.namespace == *namespace)
                .map(|(_, held)| held.record.clone()),
        )
    }

    fn len(&self) -> usize {
        self.objects.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
