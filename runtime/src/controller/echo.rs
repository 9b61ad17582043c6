//! Telling echoes of a key's own writes from changes by others, so that a failing key that writes keeps its backoff.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::delta::{Delta, Version};
use crate::diagnostics::{Reason, Reasons, WriteOutcome, WriteRecord};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// A version of an object that a run wrote.
pub(super) type Written = (Kind, ObjectKey, Version);

/// Versions that the last, failed run of each failing key wrote. Bounded by the keys in backoff and what they write.
#[derive(Debug, Default)]
pub(super) struct Echoes(Mutex<BTreeMap<ObjectKey, Vec<Written>>>);

impl Echoes {
    /// Remembers what a failed run wrote.
    pub(super) fn remember(&self, key: &ObjectKey, versions: Vec<Written>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.clone(), versions);
        }
    }

    /// The key no longer fails.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Whether the change is what the last failed run of `key` wrote.
    pub(super) fn is_echo(&self, key: &ObjectKey, delta: &Delta) -> bool {
        let Some(new) = &delta.new else { return false };
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).is_some_and(|versions| {
            versions
                .iter()
                .any(|(kind, object, version)| *kind == delta.kind && *object == delta.key && *version == new.version)
        })
    }
}

/// Whether all of `reasons`, which arrived during a run, are echoes of what that run wrote.
pub(super) fn all_own(reasons: &Reasons, written: &[Written]) -> bool {
    if reasons.dropped() > 0 {
        return false;
    }
    reasons.as_slice().iter().all(|reason| match reason {
        Reason::Changed {
            kind,
            key,
            old,
            new,
            times,
            ..
        } => {
            // A write that changed nothing is answered with a version that is there already, and makes no change.
            let mut versions: Vec<&Version> = Vec::new();
            for (k, o, version) in written {
                let newer = version.compare(old) == Some(Ordering::Greater);
                if newer && k == kind && o == key && !versions.contains(&version) {
                    versions.push(version);
                }
            }
            // More changes than own writes: somebody else's is among them.
            versions.contains(&new) && *times as usize <= versions.len()
        }
        Reason::Created { kind, key, version } => written.iter().any(|(k, o, v)| k == kind && o == key && v == version),
        _ => false,
    })
}

/// What a run wrote.
pub(super) fn written(writes: &[WriteRecord]) -> Vec<Written> {
    let sent = writes.iter().filter_map(|write| match &write.outcome {
        WriteOutcome::Sent {
            version: Some(version), ..
        } => Some((write.kind.clone(), write.key.clone(), Version::parse(version))),
        _ => None,
    });
    sent.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(version: &str) -> WriteRecord {
        WriteRecord {
            verb: "patch",
            kind: kind(),
            key: ObjectKey::new("ns", "a"),
            subresource: Some("status"),
            outcome: WriteOutcome::Sent {
                uid: None,
                version: Some(version.into()),
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
            fields: Vec::new(),
        })
    }

    #[test]
    fn a_foreign_change_that_was_merged_with_an_own_one_is_not_taken_for_an_echo() {
        assert!(all_own(&changed("5", "6", 1), &written(&[wrote("6")])));
        assert!(all_own(&changed("5", "7", 2), &written(&[wrote("6"), wrote("7")])));
        assert!(!all_own(&changed("5", "7", 2), &written(&[wrote("7")])));
        assert!(!all_own(&changed("5", "8", 1), &written(&[wrote("6")])));
        assert!(!all_own(&changed("5", "7", 2), &written(&[wrote("5"), wrote("7")])));
        assert!(!all_own(&changed("5", "7", 2), &written(&[wrote("7"), wrote("7")])));
        assert!(!all_own(&Reasons::from(Reason::Resync), &written(&[wrote("6")])));
    }
}
