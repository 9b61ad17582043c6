//! What wake-ups bring to a key.

use crate::delta::{Delta, DeltaCause};
use crate::diagnostics::{Reason, Reasons};
use crate::workqueue::Merge;

/// Why a key was woken, and whether a run must follow even where all of it is the key's own doing.
#[derive(Clone, Debug, Default)]
pub(super) struct Wake {
    pub(super) reasons: Reasons,
    pub(super) binding: bool,
}

impl Wake {
    /// A wake-up that a run must follow.
    pub(super) fn binding(reason: Reason) -> Self {
        Self {
            reasons: Reasons::from(reason),
            binding: true,
        }
    }

    /// A wake-up by a change, which may be an echo.
    pub(super) fn by(reason: Reason, delta: &Delta, is_primary: bool) -> Self {
        Self {
            reasons: Reasons::from(reason),
            binding: !may_be_dropped(delta, is_primary),
        }
    }
}

impl Merge for Wake {
    fn merge(&mut self, later: Self) {
        self.reasons.merge(later.reasons);
        self.binding |= later.binding;
    }
}

/// Whether a change may be dropped under `own_events = skip`, if it is an own one.
///
/// Not after a gap: what a relist found stands for any number of changes. Not a deletion. Not where the primary's
/// generation or deletion changed: then there is something new to bring about, whoever asked for it.
pub(super) fn may_be_dropped(delta: &Delta, is_primary: bool) -> bool {
    let Some(new) = &delta.new else { return false };
    if delta.cause != DeltaCause::Event {
        return false;
    }
    let Some(old) = &delta.old else {
        return !is_primary;
    };
    !is_primary || (old.uid == new.uid && old.generation == new.generation && old.deletion == new.deletion)
}
