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
    /// The oldest revision that can be asked for.
    floor: u64,
    /// The oldest revision of which a view can be asked for, where that is higher.
    views: u64,
    /// The oldest revision that the records reach back to; lower than the floor where a horizon needs them.
    kept: u64,
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
            views: 0,
            kept: floor,
        }
    }

    /// Adds a write. Records that are too many go, but for those that somebody needs who is shown `needed`.
    pub(super) fn record(
        &mut self,
        revision: u64,
        old: Option<Arc<Stored>>,
        new: Option<Arc<Stored>>,
        needed: impl FnOnce() -> u64,
    ) {
        self.records.push_back(Record { revision, old, new });
        if let Some(beyond) = self.records.len().checked_sub(self.limit + 1) {
            self.floor = self.floor.max(self.records[beyond].revision);
            self.drop_up_to(self.floor.min(needed()));
        }
    }

    pub(super) fn forget(&mut self, up_to: u64, needed: u64) {
        self.floor = up_to;
        self.drop_up_to(up_to.min(needed));
    }

    /// Views from before a revision cannot be asked for any more, while changes can still be followed from `follow` on.
    pub(super) fn forget_views(&mut self, up_to: u64, follow: u64) {
        self.views = up_to;
        self.floor = self.floor.max(follow);
    }

    /// Whether a view of that revision can be asked for.
    pub(super) fn check_view(&self, asked: u64) -> Result<(), Expired> {
        if asked < self.views {
            return Err(Expired {
                asked,
                oldest: self.views,
            });
        }
        self.check(asked)
    }

    fn drop_up_to(&mut self, revision: u64) {
        while let Some(record) = self.records.front().filter(|record| record.revision <= revision) {
            self.kept = record.revision;
            self.records.pop_front();
        }
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

    /// As [`History::check`], for those whom a horizon shows what nobody else can ask for any more.
    pub(super) fn check_kept(&self, asked: u64) -> Result<(), Expired> {
        if asked < self.kept {
            Err(Expired {
                asked,
                oldest: self.kept,
            })
        } else {
            Ok(())
        }
    }

    /// What happened after `from`, oldest first, to the objects that `wanted` picks. Reaches as far back as there are
    /// records.
    pub(super) fn since(&self, from: u64, wanted: impl Fn(&Stored) -> bool) -> Vec<Arc<Change>> {
        let first = self.records.partition_point(|record| record.revision <= from);
        self.records
            .range(first..)
            .filter(|record| record.object().is_some_and(|object| wanted(object)))
            .map(|record| Arc::new(Change::new(record.revision, record.old.clone(), record.new.clone())))
            .collect()
    }

    /// For every object of `resource` that changed after `at`: what it was then. Reaches as far back as there are
    /// records.
    pub(super) fn undo(&self, at: u64, resource: &str) -> Then {
        let first = self.records.partition_point(|record| record.revision <= at);
        let mut then = BTreeMap::new();
        for record in self.records.range(first..) {
            let Some(object) = record.object() else { continue };
            if *object.key.resource == *resource {
                let place = (Arc::clone(&object.key.namespace), Arc::clone(&object.key.name));
                then.entry(place).or_insert_with(|| record.old.clone());
            }
        }
        then
    }
}
