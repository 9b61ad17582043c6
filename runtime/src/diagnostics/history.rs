//! The last runs of each key, bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::report::Report;
use crate::key::ObjectKey;

/// Keeps the last runs of each key of one controller.
///
/// Bounded twice: runs per key, and keys; the key whose last run is oldest goes first.
#[derive(Debug)]
pub struct History {
    per_key: usize,
    keys: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<ObjectKey, Kept>,
    /// Key by the number of its last run: the first is the one to drop.
    by_age: BTreeMap<u64, ObjectKey>,
    next: u64,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    runs: VecDeque<Report>,
}

impl History {
    /// Keeps the last `per_key` runs of the last `keys` keys that ran.
    #[must_use]
    pub fn new(per_key: usize, keys: usize) -> Self {
        Self {
            per_key: per_key.max(1),
            keys: keys.max(1),
            state: Mutex::default(),
        }
    }

    /// Adds a run.
    pub fn push(&self, report: Report) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { runs, by_age, next } = &mut *state;
        // From 1, as 0 stands for a key that has not run yet.
        *next += 1;
        let turn = *next;
        let kept = runs.entry(report.key.clone()).or_default();
        by_age.remove(&kept.last);
        by_age.insert(turn, report.key.clone());
        kept.last = turn;
        if kept.runs.len() == self.per_key {
            kept.runs.pop_front();
        }
        kept.runs.push_back(report);
        while runs.len() > self.keys {
            let Some((_, oldest)) = by_age.pop_first() else { break };
            runs.remove(&oldest);
        }
    }

    /// The runs kept for a key, oldest first.
    #[must_use]
    pub fn of(&self, key: &ObjectKey) -> Vec<Report> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state
            .runs
            .get(key)
            .map(|kept| kept.runs.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// The last run of each key kept, most recent first, at most `limit`.
    #[must_use]
    pub fn latest(&self, limit: usize) -> Vec<Report> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let newest_first = state.by_age.values().rev();
        newest_first
            .filter_map(|key| state.runs.get(key)?.runs.back().cloned())
            .take(limit)
            .collect()
    }

    /// Drops what is kept for a key.
    pub fn forget(&self, key: &ObjectKey) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = state.runs.remove(key) {
            state.by_age.remove(&kept.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::{Outcome, Phase};
    use super::*;
    use crate::kind::Kind;

    fn report(name: &str, attempt: u32) -> Report {
        let kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
        let mut report = Report::new(
            "c".into(),
            kind,
            ObjectKey::new("ns", name),
            Phase::Reconcile,
            Outcome::Done,
        );
        report.attempt = attempt;
        report
    }

    #[test]
    fn the_last_runs_of_a_key_are_kept_and_older_ones_dropped() {
        let history = History::new(3, 10);
        for attempt in 1..=5 {
            history.push(report("a", attempt));
        }
        let attempts: Vec<u32> = history
            .of(&ObjectKey::new("ns", "a"))
            .iter()
            .map(|r| r.attempt)
            .collect();
        assert_eq!(attempts, [3, 4, 5]);
    }

    #[test]
    fn every_key_that_ran_is_shown() {
        let history = History::new(3, 10);
        for name in ["a", "b", "c"] {
            history.push(report(name, 1));
        }
        assert_eq!(history.latest(10).len(), 3);
    }

    #[test]
    fn the_key_that_ran_longest_ago_goes_first() {
        let history = History::new(3, 2);
        for name in ["a", "b", "a", "c"] {
            history.push(report(name, 1));
        }
        let latest: Vec<String> = history.latest(10).iter().map(|r| r.key.name.to_string()).collect();
        assert_eq!(latest, ["c", "a"]);
        assert_eq!(history.of(&ObjectKey::new("ns", "b")).len(), 0);
    }
}
