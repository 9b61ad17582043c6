//! Hot loops: keys that run and write again and again, woken by nothing but what they wrote.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::diagnostics::{Reason, Reasons};
use crate::key::ObjectKey;

/// Runs in a row after which a key is told of. A phase machine may well take ten steps by its own status writes.
pub(super) const ENOUGH: u32 = 20;

/// How many are shown.
const SHOWN: usize = 20;

/// Keys that lately wrote after runs that nobody else asked for. A run that writes nothing, or that somebody else
/// asked for, takes its key out, so this is empty while all is well.
#[derive(Debug, Default)]
pub(super) struct HotLoops(Mutex<BTreeMap<ObjectKey, Streak>>);

#[derive(Debug, Default)]
struct Streak {
    runs: u32,
    told: Option<HotLoop>,
}

/// A key that goes round and round.
#[derive(Clone, Debug)]
pub(super) struct HotLoop {
    /// The objects that the key writes, each with the fields that change.
    pub(super) changes: String,
    /// When it was found.
    pub(super) since: Timestamp,
}

impl HotLoops {
    /// Notes a successful run. Answers a hot loop when it has just been found, once for each.
    pub(super) fn ran(&self, key: &ObjectKey, reasons: &Reasons, wrote: bool, now: Timestamp) -> Option<HotLoop> {
        let mut all = self.lock();
        if !wrote {
            all.remove(key);
            return None;
        }
        if !reasons.are_own() {
            // Somebody else's change in between makes it no new loop; the next silence does.
            if let Some(streak) = all.get_mut(key) {
                streak.runs = 0;
            }
            return None;
        }
        let streak = all.entry(key.clone()).or_default();
        streak.runs = streak.runs.saturating_add(1);
        if streak.runs < ENOUGH || streak.told.is_some() {
            return None;
        }
        streak.told = Some(HotLoop {
            changes: changes(reasons),
            since: now,
        });
        streak.told.clone()
    }

    /// The key is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    /// Those that go on, at most [`SHOWN`].
    pub(super) fn current(&self) -> Vec<(ObjectKey, HotLoop)> {
        let all = self.lock();
        let told = all
            .iter()
            .filter_map(|(key, streak)| Some((key.clone(), streak.told.clone()?)));
        told.take(SHOWN).collect()
    }

    /// How many go on.
    pub(super) fn count(&self) -> usize {
        self.lock().values().filter(|streak| streak.told.is_some()).count()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Streak>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for HotLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{ENOUGH} reconciles in a row were woken by nothing but their own writes, and each wrote again: {}. Write \
             there only what follows from the spec and from what is watched, or write it less often",
            self.changes
        )
    }
}

/// `App default/a (status.seen); ConfigMap default/a (data.time)`.
fn changes(reasons: &Reasons) -> String {
    let each = reasons.as_slice().iter().filter_map(|reason| match reason {
        Reason::Changed { kind, key, fields, .. } => Some(format!("{} {key} ({fields})", kind.kind())),
        Reason::Created { kind, key, .. } => Some(format!("{} {key} (made anew)", kind.kind())),
        _ => None,
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Version;
    use crate::diagnostics::Fields;
    use crate::kind::Kind;

    fn changed(own: bool) -> Reasons {
        Reasons::from(Reason::Changed {
            kind: Kind::new("demo.dev", "v1", "App", "apps", true),
            key: key(),
            old: Version::parse("1"),
            new: Version::parse("2"),
            times: 1,
            fields: Fields::new(["status.seen"]),
            own,
        })
    }

    fn key() -> ObjectKey {
        ObjectKey::new("ns", "a")
    }

    fn runs(loops: &HotLoops, reasons: &Reasons, count: u32) -> Vec<String> {
        let ran = (0..count).filter_map(|_| loops.ran(&key(), reasons, true, Timestamp::UNIX_EPOCH));
        ran.map(|found| found.to_string()).collect()
    }

    #[test]
    fn a_loop_is_told_once_with_the_field_that_changes_and_again_only_after_a_silence() {
        let loops = HotLoops::default();
        let told = runs(&loops, &changed(true), 100);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("App ns/a (status.seen)"), "{}", told[0]);
        assert_eq!(loops.current().len(), 1);
        assert!(runs(&loops, &changed(false), 1).is_empty());
        assert!(runs(&loops, &changed(true), 100).is_empty(), "it is the same loop");
        loops.ran(&key(), &changed(true), false, Timestamp::UNIX_EPOCH);
        assert!(loops.current().is_empty());
        assert_eq!(runs(&loops, &changed(true), 100).len(), 1);
    }

    #[test]
    fn runs_that_others_ask_for_are_no_loop_however_often_they_write() {
        let loops = HotLoops::default();
        for _ in 0..50 {
            assert!(runs(&loops, &changed(true), ENOUGH - 1).is_empty());
            assert!(runs(&loops, &changed(false), 1).is_empty());
        }
    }
}
