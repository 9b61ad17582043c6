use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::hub::Change;
use super::stored::Stored;

/// The history no longer reaches back to the revision that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// What was asked for.
    pub asked: u64,
    /// The oldest revision that can still be asked for.
    pub oldest: u64,
}

/// What objects were, by namespace and name; nothing where there was none.
pub(super) type Then = BTreeMap<(Arc<str>, Arc<str>), Option<Arc<Stored>>>;

/// The undo log: the latest writes, oldest first.
#[derive(Debug)]
pub(super) struct History {
    records: VecDeque<Record>,
    limit: usize,
    floor: u64,
}

#[derive(Debug)]
struct Record {
    revision: u64,
    old: Option<Arc<Stored>>,
    new: Option<Arc<Stored>>,
}

impl Record {
    fn object(&self) -> Option<&Arc<Stored>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

impl History {
    pub(super) fn new(limit: usize, floor: u64) -> Self {
        Self {
            records: VecDeque::new(),
            limit,
            floor,
        }
    }

    pub(super) fn record(&mut self, revision: u64, old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) {
        self.records.push_back(Record { revision, old, new });
        while self.records.len() > self.limit {
            if let Some(record) = self.records.pop_front() {
                self.floor = record.revision;
            }
        }
    }

    pub(super) fn forget(&mut self, up_to: u64) {
        self.records.clear();
        self.floor = up_to;
    }

    pub(super) fn check(&self, asked: u64) -> Result<(), Expired> {
        if asked < self.floor {
            Err(Expired {
                asked,
                oldest: self.floor,
            })
        } else {
            Ok(())
        }
    }

    /// What happened after `from`, oldest first, to the objects that `wanted` picks.
    pub(super) fn since(&self, from: u64, wanted: impl Fn(&Stored) -> bool) -> Result<Vec<Arc<Change>>, Expired> {
        self.check(from)?;
        let first = self.records.partition_point(|record| record.revision <= from);
        Ok(self
            .records
            .range(first..)
            .filter(|record| record.object().is_some_and(|object| wanted(object)))
            .map(|record| Arc::new(Change::new(record.revision, record.old.clone(), record.new.clone())))
            .collect())
    }

    /// For every object of `resource` that changed after `at`: what it was then.
    pub(super) fn undo(&self, at: u64, resource: &str) -> Result<Then, Expired> {
        self.check(at)?;
        let first = self.records.partition_point(|record| record.revision <= at);
        let mut then = BTreeMap::new();
        for record in self.records.range(first..) {
            let Some(object) = record.object() else { continue };
            if *object.key.resource == *resource {
                let place = (Arc::clone(&object.key.namespace), Arc::clone(&object.key.name));
                then.entry(place).or_insert_with(|| record.old.clone());
            }
        }
        Ok(then)
    }
}
