//! Telling echoes of a key's own writes from changes by others: a failing key that writes keeps its backoff, and under
//! `own_events = skip` a key does not run for what it did itself.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::delta::{Delta, Version};
use crate::diagnostics::{Base, Reason, Reasons, WriteOutcome, WriteRecord};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// The most versions that are remembered for a key: more are not on their way at once, unless a watch is broken.
const MOST: usize = 64;

/// A version of an object that a run was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    kind: Kind,
    key: ObjectKey,
    version: Version,
    /// Whether this run made the version, and nobody else. A write that changes nothing is answered with a version
    /// that is there already, and it may be one that the run has not read.
    made: bool,
    /// Whether it may have changed anything.
    changed: bool,
    /// Whether a run has followed that began when this was written, and so has seen it.
    covered: bool,
}

impl Written {
    /// Whether the write may have changed anything: whether it did is known of some writes only.
    pub(super) fn changed(&self) -> bool {
        self.changed
    }
}

/// What the last run of each key wrote whose echo has not come yet. A version that comes is taken out, so a controller that
/// is at rest keeps nothing.
#[derive(Debug, Default)]
pub(super) struct Echoes(Mutex<BTreeMap<ObjectKey, Last>>);

#[derive(Debug)]
struct Last {
    failed: bool,
    written: Vec<Written>,
}

/// What a change is to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// Somebody else's, or it cannot be told.
    No,
    /// Of what the last run was answered with.
    OfSuccess {
        /// That run made the version.
        made: bool,
    },
    /// Of what the last run was answered with, which failed.
    OfFailure,
    /// Of what a run was answered with that another one has followed.
    Covered,
}

impl Echoes {
    /// Remembers what a run wrote. What is still to come of runs before it, it has seen: reads never go behind own writes.
    pub(super) fn remember(&self, key: &ObjectKey, failed: bool, written: Vec<Written>) {
        let mut all = self.lock();
        let mut kept = match all.remove(key) {
            Some(last) if !failed => last.written,
            _ => Vec::new(),
        };
        // What did not come while a whole run passed is taken for somebody else's when it does.
        kept.retain(|written| !written.covered);
        kept.iter_mut().for_each(|written| written.covered = true);
        kept.extend(written);
        let excess = kept.len().saturating_sub(MOST);
        kept.drain(..excess);
        if !kept.is_empty() {
            all.insert(key.clone(), Last { failed, written: kept });
        }
    }

    /// The key is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    /// Whether the change is what the last run of `key` wrote. `once` says that nobody else will ask about it.
    pub(super) fn hear(&self, key: &ObjectKey, delta: &Delta, once: bool) -> Echo {
        let Some(new) = &delta.new else { return Echo::No };
        let mut all = self.lock();
        let Some(last) = all.get_mut(key) else {
            return Echo::No;
        };
        let same = |written: &Written| {
            written.version == new.version && written.kind == delta.kind && written.key == delta.key
        };
        let Some(at) = last.written.iter().position(same) else {
            return Echo::No;
        };
        let found = &last.written[at];
        let echo = match (last.failed, found.covered) {
            (true, _) => Echo::OfFailure,
            (false, true) => Echo::Covered,
            (false, false) => Echo::OfSuccess { made: found.made },
        };
        if once {
            last.written.retain(|written| !same(written));
            if last.written.is_empty() {
                all.remove(key);
            }
        }
        echo
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Last>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether all of `reasons`, which arrived during a run, are echoes of what that run wrote. Those that are, are marked.
pub(super) fn all_own(reasons: &mut Reasons, written: &[Written]) -> bool {
    each_own(reasons, |reason| is_own(reason, written.iter()))
}

/// As [`all_own`], counting only versions that the run is known to have made.
pub(super) fn all_made(reasons: &mut Reasons, written: &[Written]) -> bool {
    each_own(reasons, |reason| {
        is_own(reason, written.iter().filter(|written| written.made))
    })
}

/// What a run wrote. `for_sure` says whether any of it may be taken for the run's own and nobody else's: after an error or
/// an unknown outcome nothing is.
pub(super) fn written(writes: &[WriteRecord], for_sure: bool) -> Vec<Written> {
    let sent = writes.iter().filter_map(|write| match &write.outcome {
        WriteOutcome::Sent {
            version: Some(version),
            based_on,
            ..
        } => {
            let nothing_new = matches!(based_on, Base::Version(before) if before == version);
            Some(Written {
                kind: write.kind.clone(),
                key: write.key.clone(),
                version: Version::parse(version),
                made: for_sure && *based_on != Base::Unknown && !nothing_new,
                changed: !nothing_new,
                covered: false,
            })
        }
        _ => None,
    });
    sent.collect()
}

/// Whether a write may have had an effect that its run does not know of.
pub(super) fn any_failed(writes: &[WriteRecord]) -> bool {
    writes
        .iter()
        .any(|write| matches!(write.outcome, WriteOutcome::Failed { .. }))
}

fn each_own(reasons: &mut Reasons, is_own: impl Fn(&Reason) -> bool) -> bool {
    let mut all = reasons.dropped() == 0;
    for reason in reasons.as_mut_slice() {
        if is_own(reason) {
            reason.mark_own();
        } else {
            all = false;
        }
    }
    all
}

fn is_own<'a>(reason: &Reason, written: impl Iterator<Item = &'a Written>) -> bool {
    let (Reason::Changed { kind, key, .. } | Reason::Created { kind, key, .. }) = reason else {
        return false;
    };
    let written = written.filter(|written| written.kind == *kind && written.key == *key);
    match reason {
        Reason::Created { version, .. } => written.into_iter().any(|written| written.version == *version),
        Reason::Changed { old, new, times, .. } => {
            // A write that changed nothing is answered with a version that is there already, and makes no change.
            let mut versions: Vec<&Version> = Vec::new();
            for Written { version, .. } in written {
                let newer = version.compare(old) == Some(Ordering::Greater);
                if newer && !versions.contains(&version) {
                    versions.push(version);
                }
            }
            // More changes than own writes: somebody else's is among them.
            versions.contains(&new) && *times as usize <= versions.len()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Fields;

    fn wrote(version: &str, based_on: Base) -> WriteRecord {
        WriteRecord {
            verb: "patch",
            kind: kind(),
            key: ObjectKey::new("ns", "a"),
            subresource: Some("status"),
            outcome: WriteOutcome::Sent {
                uid: None,
                version: Some(version.into()),
                based_on,
            },
        }
    }

    fn kind() -> Kind {
        Kind::new("demo.dev", "v1", "App", "apps", true)
    }

    fn changed(old: &str, new: &str, times: u32) -> Reasons {
        Reasons::from(Reason::Changed {
            kind: kind(),
            key: ObjectKey::new("ns", "a"),
            old: Version::parse(old),
            new: Version::parse(new),
            times,
            fields: Fields::default(),
            own: false,
        })
    }

    #[test]
    fn a_foreign_change_that_was_merged_with_an_own_one_is_not_taken_for_an_echo() {
        let own = |mut reasons: Reasons, versions: &[&str]| {
            let writes: Vec<WriteRecord> = versions.iter().map(|v| wrote(v, Base::Unknown)).collect();
            all_own(&mut reasons, &written(&writes, true))
        };
        assert!(own(changed("5", "6", 1), &["6"]));
        assert!(own(changed("5", "7", 2), &["6", "7"]));
        assert!(!own(changed("5", "7", 2), &["7"]));
        assert!(!own(changed("5", "8", 1), &["6"]));
        assert!(!own(changed("5", "7", 2), &["5", "7"]));
        assert!(!own(changed("5", "7", 2), &["7", "7"]));
        assert!(!own(Reasons::from(Reason::Resync), &["6"]));
    }

    #[test]
    fn only_a_version_that_a_run_is_known_to_have_made_is_its_own_for_sure() {
        let made = |based_on: Base| all_made(&mut changed("5", "6", 1), &written(&[wrote("6", based_on)], true));
        assert!(made(Base::Version("5".into())));
        assert!(made(Base::Nothing));
        assert!(!made(Base::Unknown), "the answer may be somebody else's version");
        assert!(
            !made(Base::Version("6".into())),
            "it changed nothing: the version was there already"
        );
    }

    #[test]
    fn what_is_own_is_marked_though_not_all_is() {
        let mut reasons = changed("5", "6", 1);
        reasons.push(Reason::Resync);
        assert!(!all_own(&mut reasons, &written(&[wrote("6", Base::Unknown)], true)));
        assert!(reasons.as_slice()[0].is_own() && !reasons.are_own());
    }

    #[test]
    fn a_version_that_comes_after_a_run_that_followed_it_wakes_nothing() {
        let cached = |version: &str| {
            let metadata =
                serde_json::json!({ "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version });
            let text = serde_json::json!({ "apiVersion": "demo.dev/v1", "kind": "App", "metadata": metadata });
            crate::cache::Cached::parse(&kind(), text.to_string().into(), "").expect("an object")
        };
        let key = ObjectKey::new("ns", "a");
        let cause = crate::delta::DeltaCause::Event;
        let came = |old: &str, new: &str| Delta::new(kind(), key.clone(), Some(cached(old)), Some(cached(new)), cause);
        let echoes = Echoes::default();
        let wrote = |versions: &[&str]| {
            let writes: Vec<WriteRecord> = versions.iter().map(|v| wrote(v, Base::Unknown)).collect();
            written(&writes, true)
        };
        echoes.remember(&key, false, wrote(&["6", "7", "8"]));
        assert_eq!(
            echoes.hear(&key, &came("5", "6"), true),
            Echo::OfSuccess { made: false }
        );
        assert_eq!(
            echoes.hear(&key, &came("5", "6"), true),
            Echo::No,
            "it was heard by all who may"
        );
        echoes.remember(&key, false, Vec::new());
        assert_eq!(echoes.hear(&key, &came("6", "7"), true), Echo::Covered);
        echoes.remember(&key, true, Vec::new());
        assert_eq!(
            echoes.hear(&key, &came("7", "8"), true),
            Echo::No,
            "after a failure nothing is sure"
        );
        echoes.remember(&key, true, wrote(&["9"]));
        assert_eq!(echoes.hear(&key, &came("8", "9"), false), Echo::OfFailure);
        assert_eq!(echoes.hear(&key, &came("8", "9"), true), Echo::OfFailure);
        assert!(echoes.lock().is_empty(), "nothing is kept that has come");
    }
}
