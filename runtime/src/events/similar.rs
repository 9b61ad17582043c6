//! Events of one object that differ in their notes only: from the eleventh within ten minutes on they are combined, as
//! client-go's event correlator does it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::aggregate::SeriesKey;

/// How many such events stand on their own.
const ALONE: usize = 10;
/// The count starts anew after a silence of this long.
const WITHIN: Duration = Duration::from_secs(10 * 60);
/// How many sorts of events are remembered.
const REMEMBERED: usize = 4096;

/// Counts events that are alike. Bounded.
#[derive(Debug, Default)]
pub(super) struct Similar(BTreeMap<SeriesKey, Notes>);

#[derive(Debug)]
struct Notes {
    known: BTreeSet<String>,
    last: Instant,
}

impl Similar {
    /// Whether an event is to be combined with those like it.
    pub(super) fn combines(&mut self, key: &SeriesKey, note: &str, now: Instant) -> bool {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, notes| now.duration_since(notes.last) < WITHIN);
        }
        if self.0.len() >= REMEMBERED {
            self.0.pop_first();
        }
        let notes = self.0.entry(key.clone().combined()).or_insert_with(|| Notes {
            known: BTreeSet::new(),
            last: now,
        });
        if now.duration_since(notes.last) >= WITHIN {
            notes.known.clear();
        }
        notes.last = now;
        if notes.known.contains(note) {
            return false;
        }
        if notes.known.len() >= ALONE {
            return true;
        }
        notes.known.insert(note.to_owned());
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, EventType, Regarding};
    use crate::key::ObjectKey;
    use crate::kind::Kind;

    fn key(reason: &str, note: &str) -> SeriesKey {
        let event = Event {
            event_type: EventType::Normal,
            reason: reason.into(),
            action: "A".into(),
            note: note.into(),
            regarding: Regarding {
                kind: Kind::new("", "v1", "ConfigMap", "configmaps", true),
                key: ObjectKey::new("ns", "a"),
                uid: "1".into(),
            },
            related: None,
        };
        SeriesKey::new("c".into(), &event)
    }

    #[tokio::test(start_paused = true)]
    async fn the_eleventh_note_within_ten_minutes_is_combined_and_known_ones_are_not() {
        let mut similar = Similar::default();
        let now = Instant::now();
        let mut ask = |reason: &str, note: &str, now| similar.combines(&key(reason, note), note, now);
        for n in 0..10 {
            assert!(!ask("R", &n.to_string(), now), "{n}");
        }
        assert!(ask("R", "10", now) && ask("R", "11", now));
        assert!(!ask("R", "3", now), "a repeat is told as one");
        assert!(!ask("Other", "10", now));
        assert!(!ask("R", "12", now + WITHIN), "the count starts anew after a silence");
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let mut similar = Similar::default();
        for n in 0..(REMEMBERED + 100) {
            similar.combines(&key(&n.to_string(), ""), "", Instant::now());
        }
        assert_eq!(similar.0.len(), REMEMBERED);
    }
}
