//! The bounded set of decoded objects of one store: the newest form of each, what was asked for twice; what was not asked
//! for since the last round goes first.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Decoded objects by number; a slot knows the number of its own.
#[derive(Debug)]
pub(super) struct Hot {
    limit: usize,
    entries: Vec<Entry>,
    /// Where the round stands.
    hand: usize,
    /// Slots that were decoded lately and not kept.
    lately: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    slot: u32,
    /// One for each type that it was decoded as.
    forms: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    asked: AtomicBool,
}

/// How many more slots than objects are remembered.
const REMEMBERED: usize = 4;

/// The number of what is not decoded.
pub(super) const COLD: u32 = u32::MAX;

impl Hot {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            entries: Vec::new(),
            hand: 0,
            lately: Vec::new(),
        }
    }

    pub(super) fn get<K: Send + Sync + 'static>(&self, number: u32) -> Option<Arc<K>> {
        let entry = self.entries.get(number as usize)?;
        let wanted = TypeId::of::<K>();
        let (_, form) = entry.forms.iter().find(|(id, _)| *id == wanted)?;
        // Written once a round, so that readers do not take the line from one another.
        if !entry.asked.load(Ordering::Relaxed) {
            entry.asked.store(true, Ordering::Relaxed);
        }
        Arc::clone(form).downcast().ok()
    }

    /// Adds a form to what is decoded already.
    pub(super) fn add_form<K: Send + Sync + 'static>(&mut self, number: u32, object: Arc<K>) {
        let id = TypeId::of::<K>();
        if let Some(entry) = self.entries.get_mut(number as usize)
            && entry.forms.iter().all(|(known, _)| *known != id)
        {
            entry.forms.push((id, object));
        }
    }

    /// Whether an object that was just decoded is to be kept: one that was decoded before, not long ago. What is read once,
    /// as when all objects are gone through, takes the place of nothing.
    pub(super) fn admits(&mut self, slot: u32) -> bool {
        if self.entries.len() < self.limit {
            return true;
        }
        if let Some(at) = self.lately.iter().position(|known| *known == slot) {
            self.lately.swap_remove(at);
            return true;
        }
        if self.lately.len() >= self.limit * REMEMBERED {
            self.lately.clear();
        }
        self.lately.push(slot);
        false
    }

    /// Adds an object; gives its number and the slot that had to make room.
    pub(super) fn put<K: Send + Sync + 'static>(&mut self, slot: u32, object: Arc<K>) -> (u32, Option<u32>) {
        let entry = Entry {
            slot,
            forms: vec![(TypeId::of::<K>(), object)],
            asked: AtomicBool::new(false),
        };
        if self.entries.len() < self.limit {
            self.entries.push(entry);
            return (number(self.entries.len() - 1), None);
        }
        loop {
            let at = self.hand % self.limit;
            self.hand = at + 1;
            if !std::mem::take(self.entries[at].asked.get_mut()) {
                let old = std::mem::replace(&mut self.entries[at], entry);
                return (number(at), Some(old.slot));
            }
        }
    }

    /// Takes an object out; gives the slot that has its number now.
    pub(super) fn remove(&mut self, number: u32) -> Option<u32> {
        self.entries.swap_remove(number as usize);
        self.entries.get(number as usize).map(|moved| moved.slot)
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("few objects are decoded at once")
}
