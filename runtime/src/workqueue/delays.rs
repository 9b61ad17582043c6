//! Keys that wait for a time: an ordered set of deadlines.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sync::Instant;

/// The longest delay that is kept apart from longer ones. Beyond it the machine's clock may not reach; nobody waits
/// for it.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// Names a deadline; ordered by time, then by when it was set.
pub(super) type Deadline = (Instant, u64);

/// Deadlines and their keys. Cost is logarithmic, whatever the delays.
#[derive(Debug)]
pub(super) struct Delays<K> {
    by_time: BTreeMap<Deadline, K>,
}

impl<K> Delays<K> {
    pub(super) fn new() -> Self {
        Self {
            by_time: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, deadline: Deadline, key: K) {
        self.by_time.insert(deadline, key);
    }

    pub(super) fn remove(&mut self, deadline: &Deadline) {
        self.by_time.remove(deadline);
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_time.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the first key whose time has come.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<K> {
        let entry = self.by_time.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    pub(super) fn len(&self) -> usize {
        self.by_time.len()
    }
}

/// `now` plus a delay, where that can be told; a far future otherwise.
pub(super) fn after(now: Instant, delay: Duration) -> Instant {
    let mut delay = delay.min(LONGEST);
    loop {
        if let Some(at) = now.checked_add(delay) {
            return at;
        }
        delay /= 2;
    }
}
