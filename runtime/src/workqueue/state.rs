//! What a queue knows of its keys. Every method is one step under the queue's lock.

#![expect(
    clippy::disallowed_types,
    reason = "looked up by key; what goes over all of them adds up or takes a maximum"
)]

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::sync::Instant;

use super::backoff;
use super::bucket::Bucket;
use super::config::{Class, Config};
use super::delays::{self, Deadline, Delays};
use super::lanes::{Lanes, Ticket, Waiting};
use super::queue::{Item, Meanwhile, Next, Stats};
use super::{Merge, lanes};

pub(super) struct State<K, T> {
    config: Config<K>,
    // Looked up by key only, so its order never shows.
    entries: HashMap<K, Entry<T>>,
    /// Hashes of keys that had a turn. A collision costs a key its precedence once, nothing else.
    ran: HashSet<u64>,
    lanes: Lanes<K>,
    delays: Delays<K>,
    bucket: Option<Bucket>,
    next_ticket: Ticket,
    pub(super) closed: bool,
}

/// What is known of a key that waits, runs, is delayed or failed.
struct Entry<T> {
    running: Option<Instant>,
    place: Option<(Class, Ticket)>,
    /// The class of the most urgent wake-up since the run began.
    dirty: Option<Class>,
    /// What wake-ups brought since the last run began.
    pending: Option<T>,
    delay: Option<Delay<T>>,
    failures: u32,
}

struct Delay<T> {
    deadline: Deadline,
    class: Class,
    /// What the wake-up brings when its time comes; dropped when the key runs before.
    due: T,
}

/// What became of an attempt to take a key.
pub(super) enum Take<K, T> {
    Item(Item<K, T>),
    /// Nothing may leave before that time.
    Limited(Instant),
    Empty,
    Closed,
}

impl<K: Clone + Eq + Hash, T: Merge + Default> State<K, T> {
    pub(super) fn new(config: Config<K>) -> Self {
        Self {
            bucket: config.rate_limit.map(Bucket::new),
            config,
            entries: HashMap::new(),
            ran: HashSet::new(),
            lanes: Lanes::new(),
            delays: Delays::new(),
            next_ticket: 0,
            closed: false,
        }
    }

    /// Wakes a key. True if it began to wait.
    pub(super) fn add(&mut self, key: K, class: Class, payload: T, now: Instant) -> bool {
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        entry.bring(payload);
        self.wake(key, class, now)
    }

    /// As [`add`](Self::add), but a key in backoff keeps waiting for its time.
    pub(super) fn add_patiently(&mut self, key: K, class: Class, payload: T, now: Instant) -> bool {
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.is_backing_off()
        {
            entry.bring(payload);
            return false;
        }
        self.add(key, class, payload, now)
    }

    /// As [`add`](Self::add), but not where the key runs.
    pub(super) fn add_unless_running(&mut self, key: K, class: Class, payload: T, now: Instant) -> bool {
        if self.entries.get(&key).is_some_and(|entry| entry.running.is_some()) {
            return false;
        }
        self.add(key, class, payload, now)
    }

    /// Wakes a key after a delay, unless it runs before.
    pub(super) fn add_after(&mut self, key: K, delay: Duration, class: Class, due: T, now: Instant) {
        let number = self.ticket();
        let deadline = (delays::after(now, delay), number);
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        if entry.place.is_some() {
            return;
        }
        let kept = match entry.delay.take() {
            Some(kept) if kept.deadline <= deadline => kept,
            replaced => {
                if let Some(replaced) = replaced {
                    self.delays.remove(&replaced.deadline);
                }
                self.delays.insert(deadline, key);
                Delay { deadline, class, due }
            }
        };
        entry.delay = Some(kept);
    }

    /// Wakes the keys whose time has come; answers how many began to wait.
    pub(super) fn promote(&mut self, now: Instant) -> usize {
        let mut woken = 0;
        while let Some(key) = self.delays.pop_due(now) {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            let Some(delay) = entry.delay.take() else { continue };
            entry.bring(delay.due);
            woken += usize::from(self.wake(key, delay.class, now));
        }
        woken
    }

    /// Takes the key whose turn it is.
    pub(super) fn take(&mut self, now: Instant) -> Take<K, T> {
        if self.closed {
            return Take::Closed;
        }
        if self.lanes.len() == 0 {
            return Take::Empty;
        }
        if let Some(bucket) = &self.bucket {
            let at = bucket.ready_at(now);
            if at > now {
                return Take::Limited(at);
            }
        }
        self.rise(now);
        let Some(waiting) = self.lanes.pop() else {
            return Take::Empty;
        };
        if let Some(bucket) = &mut self.bucket {
            bucket.take(now);
        }
        Take::Item(self.start(waiting, now))
    }

    /// How long a key that fails now should wait.
    pub(super) fn backoff(&self, key: &K) -> Duration {
        let failures = self.entries.get(key).map_or(0, |entry| entry.failures);
        let (min, max) = (self.config.backoff_min, self.config.backoff_max);
        backoff::delay(failures.saturating_add(1), min, max, (self.config.random)())
    }

    /// Takes a key back from a worker. Answers how long it ran, and whether it waits again. `judge` is asked about what
    /// was added while it ran.
    pub(super) fn done(
        &mut self,
        key: &K,
        next: Next<T>,
        judge: impl FnOnce(&mut T) -> Meanwhile,
        now: Instant,
    ) -> Done {
        let Some(entry) = self.entries.get_mut(key) else {
            return Done::default();
        };
        let Some(started) = entry.running.take() else {
            return Done::default();
        };
        let mut done = Done {
            worked: now.duration_since(started),
            ..Done::default()
        };
        entry.judge(judge);
        match next {
            Next::Settled => entry.failures = 0,
            Next::After(delay, due) => {
                entry.failures = 0;
                self.add_after(key.clone(), delay, Class::Background, due, now);
            }
            Next::Backoff { delay, due } => {
                entry.failures = entry.failures.saturating_add(1);
                self.add_after(key.clone(), delay, Class::Background, due, now);
            }
            Next::Forget => {
                entry.failures = 0;
                self.ran.remove(&hash(key));
                if let Some(delay) = entry.delay.take() {
                    self.delays.remove(&delay.deadline);
                }
            }
        }
        if let Some(class) = self.entries.get_mut(key).and_then(|entry| entry.dirty.take()) {
            done.waits = self.wake(key.clone(), class, now);
        }
        self.tidy(key);
        done
    }

    /// When the next delayed key is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delays.next()
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.lanes.len() > 0
    }

    pub(super) fn stats(&self, now: Instant) -> Stats {
        let mut stats = Stats {
            waiting: self.lanes.len(),
            delayed: self.delays.len(),
            ..Stats::default()
        };
        for started in self.entries.values().filter_map(|entry| entry.running) {
            let ran = now.duration_since(started);
            stats.running += 1;
            stats.unfinished += ran;
            stats.longest_running = stats.longest_running.max(ran);
        }
        stats
    }

    /// Lets a key wait, or marks it where it runs. True if it began to wait.
    fn wake(&mut self, key: K, class: Class, now: Instant) -> bool {
        let ticket = self.ticket();
        let Some(entry) = self.entries.get_mut(&key) else {
            return false;
        };
        if entry.running.is_some() {
            entry.dirty = Some(entry.dirty.map_or(class, |other| other.min(class)));
            return false;
        }
        match entry.place {
            Some((current, old)) if class < current => {
                entry.place = Some((class, ticket));
                self.lanes.shift(current, old, class, ticket, now);
                false
            }
            Some(_) => false,
            None => {
                entry.place = Some((class, ticket));
                let group = (self.config.group)(&key);
                let first_turn = !self.ran.contains(&hash(&key));
                self.lanes
                    .push(class, ticket, lanes::Waiting::new(key, group, first_turn, now));
                true
            }
        }
    }

    fn start(&mut self, waiting: Waiting<K>, now: Instant) -> Item<K, T> {
        let Waiting { key, since, .. } = waiting;
        self.ran.insert(hash(&key));
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        entry.place = None;
        entry.running = Some(now);
        if let Some(delay) = entry.delay.take() {
            self.delays.remove(&delay.deadline);
        }
        Item {
            payload: entry.pending.take().unwrap_or_default(),
            attempt: entry.failures.saturating_add(1),
            waited: now.duration_since(since),
            key,
        }
    }

    /// Lifts keys that have waited too long into the class above.
    fn rise(&mut self, now: Instant) {
        for class in [Class::Change, Class::Background] {
            let Some(above) = class.above() else { continue };
            while let Some((old, key)) = self.lanes.overdue(class, now, self.config.rise_after) {
                let key = key.clone();
                let ticket = self.ticket();
                if let Slot::Occupied(mut entry) = self.entries.entry(key) {
                    entry.get_mut().place = Some((above, ticket));
                }
                self.lanes.shift(class, old, above, ticket, now);
            }
        }
    }

    /// Drops what is known of a key that neither waits nor runs nor failed.
    fn tidy(&mut self, key: &K) {
        if self.entries.get(key).is_some_and(Entry::is_idle) {
            self.entries.remove(key);
            let (used, room) = (self.entries.len(), self.entries.capacity());
            if room > 1024 && used < room / 8 {
                self.entries.shrink_to(used * 2);
            }
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }
}

impl<T: Merge> Entry<T> {
    fn new() -> Self {
        Self {
            running: None,
            place: None,
            dirty: None,
            pending: None,
            delay: None,
            failures: 0,
        }
    }

    fn bring(&mut self, payload: T) {
        match &mut self.pending {
            Some(pending) => pending.merge(payload),
            none => *none = Some(payload),
        }
    }

    /// Lets `judge` decide about what came during a run.
    fn judge(&mut self, judge: impl FnOnce(&mut T) -> Meanwhile) {
        let (Some(pending), Some(_)) = (&mut self.pending, self.dirty) else {
            return;
        };
        match judge(pending) {
            Meanwhile::Runs => {}
            Meanwhile::Waits => self.dirty = None,
            Meanwhile::Drops => {
                self.dirty = None;
                self.pending = None;
            }
        }
    }

    fn is_backing_off(&self) -> bool {
        self.failures > 0 && self.running.is_none() && self.place.is_none() && self.delay.is_some()
    }

    fn is_idle(&self) -> bool {
        self.running.is_none() && self.place.is_none() && self.delay.is_none() && self.failures == 0
    }
}

/// What taking a key back came to.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) worked: Duration,
    pub(super) waits: bool,
}

fn hash<K: Hash>(key: &K) -> u64 {
    // Without random keys, so that one seed gives one order.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
