//! The order of work: classes, groups that take turns, first come first served.

#![expect(
    clippy::disallowed_types,
    reason = "looked up by key; what goes over all of them changes each by itself"
)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Instant;

use super::config::Class;

/// Keys that wait, in the order in which they will leave.
#[derive(Debug)]
pub(super) struct Lanes<K> {
    classes: [ClassLanes<K>; 3],
}

/// A place in the queue: tickets grow with time and are never used twice.
pub(super) type Ticket = u64;

/// One key that waits.
#[derive(Debug)]
pub(super) struct Waiting<K> {
    pub(super) key: K,
    pub(super) since: Instant,
    first_turn: bool,
    group: Arc<str>,
    /// When it entered its class.
    entered: Instant,
}

#[derive(Debug)]
struct ClassLanes<K> {
    /// What really waits. A ticket in a lane that is not here has left for another class, and is skipped.
    waiting: BTreeMap<Ticket, Waiting<K>>,
    /// Groups with tickets, in the order of their turns.
    ring: VecDeque<Arc<str>>,
    // Looked up by key only, so its order never shows.
    groups: HashMap<Arc<str>, Lane>,
    /// Tickets in lanes, stale ones included.
    tickets: usize,
}

/// The keys of one group in one class.
#[derive(Debug, Default)]
struct Lane {
    first: VecDeque<Ticket>,
    again: VecDeque<Ticket>,
}

impl<K> Waiting<K> {
    /// A key that begins to wait now.
    pub(super) fn new(key: K, group: Arc<str>, first_turn: bool, now: Instant) -> Self {
        Self {
            key,
            since: now,
            first_turn,
            group,
            entered: now,
        }
    }
}

impl<K> Lanes<K> {
    pub(super) fn new() -> Self {
        Self {
            classes: std::array::from_fn(|_| ClassLanes {
                waiting: BTreeMap::new(),
                ring: VecDeque::new(),
                groups: HashMap::new(),
                tickets: 0,
            }),
        }
    }

    /// How many keys wait.
    pub(super) fn len(&self) -> usize {
        self.classes.iter().map(|c| c.waiting.len()).sum()
    }

    /// Puts a key at the back of its group's lane.
    pub(super) fn push(&mut self, class: Class, ticket: Ticket, waiting: Waiting<K>) {
        self.classes[class.index()].push(ticket, waiting);
    }

    /// Takes a key out of the middle.
    pub(super) fn remove(&mut self, class: Class, ticket: Ticket) -> Option<Waiting<K>> {
        let lanes = &mut self.classes[class.index()];
        let taken = lanes.waiting.remove(&ticket);
        lanes.compact();
        taken
    }

    /// Moves a key to another class, where it goes to the back.
    pub(super) fn shift(&mut self, from: Class, ticket: Ticket, to: Class, new_ticket: Ticket, now: Instant) {
        if let Some(waiting) = self.remove(from, ticket) {
            self.push(
                to,
                new_ticket,
                Waiting {
                    entered: now,
                    ..waiting
                },
            );
        }
    }

    /// The key that has been in `class` longest, if that is at least `bound`, with its ticket.
    pub(super) fn overdue(&self, class: Class, now: Instant, bound: Duration) -> Option<(Ticket, &K)> {
        let (ticket, waiting) = self.classes[class.index()].waiting.first_key_value()?;
        (now.duration_since(waiting.entered) >= bound).then_some((*ticket, &waiting.key))
    }

    /// Takes the key whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Waiting<K>> {
        self.classes.iter_mut().find_map(ClassLanes::pop)
    }
}

impl<K> ClassLanes<K> {
    fn push(&mut self, ticket: Ticket, waiting: Waiting<K>) {
        let lane = self.groups.entry(Arc::clone(&waiting.group)).or_insert_with(|| {
            self.ring.push_back(Arc::clone(&waiting.group));
            Lane::default()
        });
        if waiting.first_turn {
            lane.first.push_back(ticket);
        } else {
            lane.again.push_back(ticket);
        }
        self.tickets += 1;
        self.waiting.insert(ticket, waiting);
    }

    fn pop(&mut self) -> Option<Waiting<K>> {
        while let Some(group) = self.ring.pop_front() {
            let Some(lane) = self.groups.get_mut(&group) else {
                continue;
            };
            let mut taken = None;
            while let Some(ticket) = lane.first.pop_front().or_else(|| lane.again.pop_front()) {
                self.tickets -= 1;
                taken = self.waiting.remove(&ticket);
                if taken.is_some() {
                    break;
                }
            }
            if lane.is_empty() {
                self.groups.remove(&group);
            } else {
                self.ring.push_back(group);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Drops stale tickets once they are the greater part, so that memory stays proportional to what waits.
    fn compact(&mut self) {
        if self.tickets < 64 || self.tickets < 2 * self.waiting.len() {
            return;
        }
        let waiting = &self.waiting;
        for lane in self.groups.values_mut() {
            lane.first.retain(|ticket| waiting.contains_key(ticket));
            lane.again.retain(|ticket| waiting.contains_key(ticket));
        }
        self.groups.retain(|_, lane| !lane.is_empty());
        let groups = &self.groups;
        self.ring.retain(|group| groups.contains_key(group));
        self.tickets = self.waiting.len();
    }
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.again.is_empty()
    }
}
