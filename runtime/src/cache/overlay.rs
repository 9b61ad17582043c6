//! What this process wrote and its informers have not seen yet: reads never go behind own writes.
//!
//! A written object is held until every informer that may serve it has reached its version; a deletion until each
//! has seen the uid go; an unknown outcome until the server has been asked. Who reads looks here first and at the
//! informer second, never the other way round: an entry leaves only after the informer's store is at least as new.

mod answer;
mod counted;
mod state;
mod waiting;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::cache::Cached;
use crate::cache::facts::KeepManagers;
use crate::cache::scanner::Scanner;
use crate::client::Target;
use crate::delta::{Header, Version};
use crate::key::ObjectKey;
use crate::kind::Kind;

use self::answer::Written;
use self::state::State;
use self::waiting::Held;

/// Own writes that informers have not seen yet. Clones share their entries.
#[derive(Clone, Default)]
pub struct Overlay(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    settings: Mutex<Settings>,
    /// Something waits without a version to wait for.
    unclear: Notify,
}

#[derive(Default)]
struct Settings {
    keep: KeepManagers,
}

/// What the overlay knows of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// The object as the server stored it.
    Object(Cached),
    /// This process deleted the object, or found it gone.
    Deleted(Gone),
    /// The outcome of a write is unknown: only the server can tell.
    InDoubt,
}

/// What is known to be gone under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    uids: Arc<[Arc<str>]>,
    /// Nothing of this version or an older one is left.
    floor: Option<Version>,
}

impl Gone {
    /// Whether an object that an informer holds is one that is gone; a recreated one is not.
    #[must_use]
    pub fn hides(&self, held: &Header) -> bool {
        self.uids.contains(&held.uid) || self.floor.as_ref().is_some_and(|floor| floor.reaches(&held.version))
    }
}

/// One informer, as the overlay sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScopeId(pub(super) u64);

/// An informer's place in the overlay.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    id: ScopeId,
    /// How many objects of the resource are held, whichever informers they wait for.
    held: Arc<AtomicUsize>,
}

impl Scope {
    pub(crate) fn id(&self) -> ScopeId {
        self.id
    }

    /// Whether no object of the resource is held, so that there is nothing to look up.
    ///
    /// An entry is counted before its write is answered to who wrote, and leaves after the informer's store has come
    /// as far: who finds none and then asks the store reads no older state than the entry's.
    pub(crate) fn is_settled(&self) -> bool {
        self.held.load(Ordering::Acquire) == 0
    }
}

/// Tells which uid an informer holds under a name.
pub(crate) type Holds = Arc<dyn Fn(&ObjectKey) -> Option<Arc<str>> + Send + Sync>;

/// A live read under way for an object in doubt.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    asked: Moment,
    known: Vec<Arc<str>>,
}

/// A moment in the sequence of answers: what was answered before it is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(super) u64);

impl Overlay {
    /// An empty overlay.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What some informer of the kind has not seen yet; `None` where every informer is up to date.
    #[must_use]
    pub fn get(&self, kind: &Kind, key: &ObjectKey) -> Option<Entry> {
        self.state().get(kind, key, None)
    }

    /// How many objects are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins to settle an object in doubt: a live read is about to be sent.
    pub(crate) fn ask(&self, kind: &Kind, key: &ObjectKey) -> Question {
        Question {
            asked: self.moment(),
            known: self.known(kind, key),
        }
    }

    /// Settles an object in doubt with what a live read found: the object, or nothing.
    ///
    /// A write that was answered after the question is not overruled.
    pub(crate) fn resolve(&self, kind: &Kind, key: &ObjectKey, question: Question, found: Option<&Bytes>) {
        let cached = match found.map(|bytes| self.scan(kind, bytes)) {
            Some(None) => return,
            found => found.flatten(),
        };
        self.state().resolve(kind, key, question, cached);
    }

    pub(crate) fn moment(&self) -> Moment {
        self.state().moment()
    }

    /// Takes in the answer to a write.
    pub(crate) fn written(&self, target: &Target, answer: &Bytes) {
        match answer::read(target, answer, |kind, bytes| self.scan(kind, bytes)) {
            Written::Object(cached) => {
                let key = cached.key().clone();
                let kind = cached.kind().clone();
                self.state().hold(&kind, &key, Held::Object(cached));
            }
            Written::Gone { kind, key, uid, last } => {
                let known = self.known(&kind, &key);
                self.state().deleted(&kind, &key, uid, last, &known);
                self.0.unclear.notify_waiters();
            }
            Written::Unclear => self.doubt(target),
            Written::Nothing => {}
        }
    }

    /// Marks the object of a write without an answer.
    pub(crate) fn doubt(&self, target: &Target) {
        // An object that the server was to name cannot be looked for.
        if !target.key.name.is_empty() {
            self.state().hold(&target.kind, &target.key, Held::InDoubt);
            self.0.unclear.notify_waiters();
        }
    }

    pub(crate) fn configure(&self, keep: KeepManagers) {
        *self.settings() = Settings { keep };
    }

    /// Joins an informer; entries wait for it from now on.
    pub(crate) fn join(&self, kind: &Kind, namespace: Option<Arc<str>>, holds: Holds) -> Scope {
        self.state().join(kind, namespace, holds)
    }

    /// An informer stopped; nothing waits for it any more.
    pub(crate) fn leave(&self, kind: &Kind, scope: ScopeId) {
        self.state().leave(kind, scope);
    }

    /// The store of an informer has reached a version.
    pub(crate) fn advance(&self, kind: &Kind, scope: ScopeId, version: &Version) {
        self.state().advance(kind, scope, version);
    }

    /// The store of an informer holds this version of an object, or saw it go.
    pub(crate) fn seen(&self, kind: &Kind, scope: ScopeId, key: &ObjectKey, uid: &str, version: &Version, gone: bool) {
        self.state().seen(kind, scope, key, uid, version, gone);
    }

    /// The store of an informer equals a consistent list of this version that was begun at `begun`.
    pub(crate) fn listed(&self, kind: &Kind, scope: ScopeId, begun: Moment, version: &Version) {
        self.state().listed(kind, scope, begun, version);
    }

    /// A list of one object, begun at `begun`, had this version: deletions and doubts before it are no newer.
    pub(crate) fn bound(&self, kind: &Kind, begun: Moment, version: &Version) {
        self.state().bound(kind, begun, version);
    }

    /// Whether a deletion or a doubt waits for this informer without a version to wait for.
    pub(crate) fn has_unbounded(&self, kind: &Kind, scope: ScopeId) -> bool {
        self.state().has_unbounded(kind, scope)
    }

    /// Returns when [`Overlay::has_unbounded`] is true.
    pub(crate) async fn unbounded(&self, kind: &Kind, scope: ScopeId) {
        loop {
            let changed = self.0.unclear.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.has_unbounded(kind, scope) {
                return;
            }
            changed.await;
        }
    }

    /// What this informer has not seen yet of one object.
    pub(crate) fn get_for(&self, scope: ScopeId, kind: &Kind, key: &ObjectKey) -> Option<Entry> {
        self.state().get(kind, key, Some(scope))
    }

    /// What this informer has not seen yet, in the order of keys.
    pub(crate) fn list_for(&self, scope: ScopeId, kind: &Kind, namespace: Option<&str>) -> Vec<(ObjectKey, Entry)> {
        self.state().list(kind, namespace, scope)
    }

    /// Reads an object that did not come through an informer.
    pub(crate) fn scan(&self, kind: &Kind, bytes: &Bytes) -> Option<Cached> {
        let scanner = {
            let settings = self.settings();
            Scanner::new(kind, false, settings.keep.clone())
        };
        Cached::scan(kind, &scanner, bytes).ok()
    }

    /// The uids that informers hold under a name.
    fn known(&self, kind: &Kind, key: &ObjectKey) -> Vec<Arc<str>> {
        let holders = self.state().holders(kind, key);
        // Asked without our lock: informers take their own first and ours second.
        let mut known: Vec<Arc<str>> = holders.iter().filter_map(|holds| holds(key)).collect();
        known.sort();
        known.dedup();
        known
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.0.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("held", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "overlay/tests.rs"]
mod tests;
