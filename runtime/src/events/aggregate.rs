//! Which events are new, which repeat, and which are too many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::event::{Event, Regarding};

/// The same event after a longer silence is a new one.
const SERIES_ENDS_AFTER: Duration = Duration::from_secs(6 * 60);
/// Repeats of one series are sent at most this often.
const BETWEEN_UPDATES: Duration = Duration::from_secs(30);
/// How many different events an object may get of one controller at once.
const BURST: u32 = 25;
/// One more every so often.
const REFILL: Duration = Duration::from_secs(5 * 60);
/// How many series and objects are remembered.
const REMEMBERED: usize = 4096;

/// What the note of combined events begins with, as client-go words it.
pub(super) const COMBINED: &str = "(combined from similar events): ";

/// Names a series: everything that must be equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeriesKey {
    pub(super) controller: Arc<str>,
    pub(super) regarding: Regarding,
    related: Option<Regarding>,
    warning: bool,
    reason: String,
    action: String,
    note: String,
}

impl SeriesKey {
    pub(super) fn new(controller: Arc<str>, event: &Event) -> Self {
        Self {
            controller,
            regarding: event.regarding.clone(),
            related: event.related.clone(),
            warning: event.event_type == super::event::EventType::Warning,
            reason: event.reason.clone(),
            action: event.action.clone(),
            note: event.note.clone(),
        }
    }

    /// What all events have in common that differ in their notes only.
    pub(super) fn combined(self) -> Self {
        Self {
            note: COMBINED.to_owned(),
            ..self
        }
    }
}

/// An event that is on the server.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) needs_leader: bool,
    pub(super) count: u32,
    pub(super) last_seen: Timestamp,
    last: Instant,
    sent: Instant,
    sent_count: u32,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Create it, then call [`Aggregator::created`].
    New,
    /// It repeats one that is there; [`Aggregator::due`] says when to send that.
    Repeated,
    /// The object got too many.
    TooMany,
}

/// Remembers what was sent. Bounded.
#[derive(Debug, Default)]
pub(super) struct Aggregator {
    series: BTreeMap<SeriesKey, Series>,
    /// When the allowance of a controller for an object is full again.
    allowances: BTreeMap<(Arc<str>, Regarding), Instant>,
}

impl Aggregator {
    pub(super) fn judge(&mut self, key: &SeriesKey, now: Instant, wall: Timestamp) -> Verdict {
        if let Some(series) = self.series.get_mut(key) {
            if now.duration_since(series.last) < SERIES_ENDS_AFTER {
                series.count = series.count.saturating_add(1);
                series.last = now;
                series.last_seen = wall;
                return Verdict::Repeated;
            }
            self.series.remove(key);
        }
        if self.allow((Arc::clone(&key.controller), key.regarding.clone()), now) {
            Verdict::New
        } else {
            Verdict::TooMany
        }
    }

    /// Remembers an event that was created.
    pub(super) fn created(
        &mut self,
        key: SeriesKey,
        namespace: String,
        name: String,
        needs_leader: bool,
        now: Instant,
        wall: Timestamp,
    ) {
        if self.series.len() >= REMEMBERED {
            self.series
                .retain(|_, series| now.duration_since(series.last) < SERIES_ENDS_AFTER);
        }
        if self.series.len() >= REMEMBERED
            && let Some(oldest) = self.series.iter().min_by_key(|(_, series)| series.last)
        {
            let oldest = oldest.0.clone();
            self.series.remove(&oldest);
        }
        let series = Series {
            namespace,
            name,
            needs_leader,
            count: 1,
            last_seen: wall,
            last: now,
            // The first repeat is shown at once.
            sent: now.checked_sub(BETWEEN_UPDATES).unwrap_or(now),
            sent_count: 1,
        };
        self.series.insert(key, series);
    }

    /// Forgets a series that is no longer on the server.
    pub(super) fn forget(&mut self, key: &SeriesKey) {
        self.series.remove(key);
    }

    /// The series whose repeats should be sent now; each is taken as sent. All of them where `all` is set.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<(SeriesKey, Series)> {
        let mut due = Vec::new();
        for (key, series) in &mut self.series {
            if series.count > series.sent_count && (all || now >= series.sent + BETWEEN_UPDATES) {
                series.sent = now;
                series.sent_count = series.count;
                due.push((key.clone(), series.clone()));
            }
        }
        due
    }

    /// When [`due`](Self::due) will have something.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let unsent = self.series.values().filter(|series| series.count > series.sent_count);
        unsent.map(|series| series.sent + BETWEEN_UPDATES).min()
    }

    fn allow(&mut self, of: (Arc<str>, Regarding), now: Instant) -> bool {
        if self.allowances.len() >= REMEMBERED {
            self.allowances.retain(|_, full_at| *full_at > now);
        }
        if self.allowances.len() >= REMEMBERED
            && !self.allowances.contains_key(&of)
            && let Some(fullest) = self.allowances.iter().min_by_key(|(_, full_at)| **full_at)
        {
            let fullest = fullest.0.clone();
            self.allowances.remove(&fullest);
        }
        let full_at = self.allowances.get(&of).copied().unwrap_or(now).max(now);
        let too_many = full_at.duration_since(now) > REFILL * (BURST - 1);
        if !too_many {
            self.allowances.insert(of, full_at + REFILL);
        }
        !too_many
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventType;
    use crate::key::ObjectKey;
    use crate::kind::Kind;

    fn key(note: &str) -> SeriesKey {
        let regarding = Regarding {
            kind: Kind::new("", "v1", "ConfigMap", "configmaps", true),
            key: ObjectKey::new("ns", "a"),
            uid: "1".into(),
        };
        let event = Event {
            event_type: EventType::Normal,
            reason: "R".into(),
            action: "A".into(),
            note: note.into(),
            regarding,
            related: None,
        };
        SeriesKey::new("c".into(), &event)
    }

    fn created(aggregator: &mut Aggregator, note: &str, now: Instant) {
        aggregator.created(key(note), "ns".into(), "a.1".into(), true, now, Timestamp::UNIX_EPOCH);
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_event_again_becomes_a_series_shown_at_once_and_then_now_and_then() {
        let mut aggregator = Aggregator::default();
        let start = Instant::now() + Duration::from_secs(3600);
        let wall = Timestamp::UNIX_EPOCH;
        assert_eq!(aggregator.judge(&key("x"), start, wall), Verdict::New);
        created(&mut aggregator, "x", start);
        assert!(aggregator.next_due().is_none());
        let mut sent = Vec::new();
        for second in 1..=61 {
            let now = start + Duration::from_secs(second);
            assert_eq!(aggregator.judge(&key("x"), now, wall), Verdict::Repeated);
            sent.extend(
                aggregator
                    .due(now, false)
                    .iter()
                    .map(|(_, series)| (second, series.count)),
            );
        }
        assert_eq!(sent, [(1, 2), (31, 32), (61, 62)]);
        let later = start + Duration::from_secs(61) + SERIES_ENDS_AFTER;
        assert_eq!(aggregator.judge(&key("x"), later, wall), Verdict::New);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_with_ever_new_events_is_limited() {
        let mut aggregator = Aggregator::default();
        let now = Instant::now();
        let mut allowed = 0;
        for n in 0..100 {
            if aggregator.judge(&key(&n.to_string()), now, Timestamp::UNIX_EPOCH) == Verdict::New {
                allowed += 1;
            }
        }
        assert_eq!(allowed, 25);
        let other = SeriesKey {
            controller: "another".into(),
            ..key("x")
        };
        assert_eq!(aggregator.judge(&other, now, Timestamp::UNIX_EPOCH), Verdict::New);
        let later = now + REFILL;
        assert_eq!(
            aggregator.judge(&key("later"), later, Timestamp::UNIX_EPOCH),
            Verdict::New
        );
        assert_eq!(
            aggregator.judge(&key("more"), later, Timestamp::UNIX_EPOCH),
            Verdict::TooMany
        );
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let mut aggregator = Aggregator::default();
        let now = Instant::now();
        for n in 0..(REMEMBERED + 100) {
            created(&mut aggregator, &n.to_string(), now);
        }
        assert_eq!(aggregator.series.len(), REMEMBERED);
        for n in 0..(REMEMBERED + 100) {
            let regarding = Regarding {
                uid: n.to_string().into(),
                ..key("x").regarding
            };
            assert!(aggregator.allow(("c".into(), regarding), now));
        }
        assert_eq!(aggregator.allowances.len(), REMEMBERED);
    }
}
