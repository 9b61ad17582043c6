//! One entry of the overlay, and the informers that it waits for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Entry, Gone, Holds, Moment, ScopeId};
use crate::cache::Cached;
use crate::delta::Version;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// What is held of one object.
pub(super) enum Held {
    Object(Cached),
    /// Objects with these uids are gone.
    Deleted(Arc<[Arc<str>]>),
    InDoubt,
}

pub(super) struct Waiting {
    pub(super) kind: Kind,
    pub(super) held: Held,
    pub(super) since: Moment,
    /// The informers that have not come so far.
    pub(super) scopes: BTreeSet<ScopeId>,
    /// The version they must reach, where it is known and a number.
    pub(super) at: Option<u64>,
    /// Versions that are not ordered are waited for until here only.
    pub(super) until: Option<Instant>,
    /// Nothing of this version or an older one is left under the name: a newer one was written, or it was deleted.
    pub(super) floor: Option<Version>,
}

/// How long a write waits for the watch where versions are not ordered.
pub(super) const UNORDERED_WAIT: Duration = Duration::from_secs(60);

/// How far one informer is, and which entries wait for it to come to which version.
pub(super) struct Scope {
    pub(super) namespace: Option<Arc<str>>,
    pub(super) holds: Holds,
    pub(super) progress: Option<Version>,
    pub(super) at_version: BTreeSet<(u64, ObjectKey)>,
}

impl Waiting {
    pub(super) fn expired(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Whether nothing says yet which version settles the entry.
    pub(super) fn is_unbounded(&self) -> bool {
        self.at.is_none() && !matches!(self.held, Held::Object(_))
    }

    pub(super) fn entry(&self, kind: &Kind, scope: Option<ScopeId>) -> Option<Entry> {
        if self.expired() || scope.is_some_and(|scope| !self.scopes.contains(&scope)) {
            return None;
        }
        Some(match &self.held {
            // The object was written in another version of its API; only the server can convert it.
            Held::Object(_) if self.kind.version() != kind.version() => Entry::InDoubt,
            Held::Object(cached) => Entry::Object(cached.clone()),
            Held::Deleted(uids) => Entry::Deleted(Gone {
                uids: Arc::clone(uids),
                floor: self.floor.clone(),
            }),
            Held::InDoubt => Entry::InDoubt,
        })
    }
}

impl Scope {
    pub(super) fn covers(&self, key: &ObjectKey) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|namespace| *namespace == key.namespace)
    }

    pub(super) fn has_reached(&self, version: Option<&Version>) -> bool {
        match (&self.progress, version) {
            (Some(progress), Some(version)) => progress.reaches(version),
            _ => false,
        }
    }
}
