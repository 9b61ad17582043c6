//! The entries of the overlay and whom each waits for.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::counted::Counted;
use super::waiting::{Held, Scope, UNORDERED_WAIT, Waiting};
use super::{Entry, Holds, Moment, Question, ScopeId};
use crate::cache::Cached;
use crate::delta::Version;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// All entries. Kinds of one resource in several API versions share theirs, as they share versions.
#[derive(Default)]
pub(super) struct State {
    /// By group and plural.
    resources: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Entries>>,
    scopes: u64,
    moment: u64,
}

#[derive(Default)]
struct Entries {
    held: Counted<ObjectKey, Waiting>,
    scopes: BTreeMap<ScopeId, Scope>,
}

impl State {
    pub(super) fn len(&self) -> usize {
        let all = self.resources.values().flat_map(BTreeMap::values);
        all.map(|entries| entries.held.len()).sum()
    }

    pub(super) fn moment(&mut self) -> Moment {
        self.moment += 1;
        Moment(self.moment)
    }

    pub(super) fn join(&mut self, kind: &Kind, namespace: Option<Arc<str>>, holds: Holds) -> super::Scope {
        self.scopes += 1;
        let id = ScopeId(self.scopes);
        let scope = Scope {
            namespace,
            holds,
            progress: None,
            at_version: BTreeSet::new(),
        };
        let entries = self.entries(kind);
        entries.scopes.insert(id, scope);
        super::Scope {
            id,
            held: entries.held.count(),
        }
    }

    pub(super) fn leave(&mut self, kind: &Kind, scope: ScopeId) {
        let entries = self.entries(kind);
        entries.scopes.remove(&scope);
        entries.held.retain(|_, waiting| {
            waiting.scopes.remove(&scope);
            !waiting.scopes.is_empty()
        });
    }

    /// The object with this uid is gone. `known` are the uids that informers hold.
    pub(super) fn deleted(
        &mut self,
        kind: &Kind,
        key: &ObjectKey,
        uid: Arc<str>,
        last: Option<Version>,
        known: &[Arc<str>],
    ) {
        let before = self
            .entries(kind)
            .held
            .get(key)
            .and_then(|waiting| waiting.floor.clone());
        let floor = latest(before, last);
        // An informer that holds another uid is ahead of the deletion or far behind it. Without a version there is no
        // telling, and the server is asked.
        let unclear = floor.is_none() && known.iter().any(|held| *held != uid);
        let held = if unclear {
            Held::InDoubt
        } else {
            Held::Deleted([uid].into())
        };
        self.hold_above(kind, key, held, floor);
    }

    pub(super) fn hold(&mut self, kind: &Kind, key: &ObjectKey, held: Held) {
        self.hold_above(kind, key, held, None);
    }

    fn hold_above(&mut self, kind: &Kind, key: &ObjectKey, held: Held, floor: Option<Version>) {
        let since = self.moment();
        let entries = self.entries(kind);
        if let (
            Held::Object(new),
            Some(Waiting {
                held: Held::Object(old),
                ..
            }),
        ) = (&held, entries.held.get(key))
            && new.header().uid == old.header().uid
            && old.header().version.reaches(&new.header().version)
        {
            // Answers of concurrent writes may arrive in another order than the server took them.
            return;
        }
        let before = entries.forget(key).and_then(|waiting| waiting.floor);
        let version = match &held {
            Held::Object(cached) => Some(cached.header().version.clone()),
            Held::Deleted(_) | Held::InDoubt => None,
        };
        let floor = latest(latest(before, floor), version.clone());
        let waiting = entries
            .scopes
            .iter()
            .filter(|(_, scope)| scope.covers(key) && !scope.has_reached(version.as_ref()))
            .map(|(id, _)| *id)
            .collect::<BTreeSet<_>>();
        if waiting.is_empty() {
            return;
        }
        let unordered = version.as_ref().is_some_and(|version| version.number().is_none());
        let entry = Waiting {
            kind: kind.clone(),
            held,
            since,
            scopes: waiting,
            at: None,
            until: unordered.then(|| Instant::now() + UNORDERED_WAIT),
            floor,
        };
        entries.held.insert(key.clone(), entry);
        if let Some(number) = version.as_ref().and_then(Version::number) {
            entries.await_version(key, number);
        }
    }

    pub(super) fn resolve(&mut self, kind: &Kind, key: &ObjectKey, question: Question, found: Option<Cached>) {
        let Some(waiting) = self.entries(kind).held.get(key) else {
            return;
        };
        if waiting.since > question.asked {
            return;
        }
        match found {
            Some(cached) => self.hold(kind, key, Held::Object(cached)),
            None => self.hold(kind, key, Held::Deleted(question.known.into())),
        }
    }

    pub(super) fn advance(&mut self, kind: &Kind, scope: ScopeId, version: &Version) {
        let entries = self.entries(kind);
        let Some(state) = entries.scopes.get_mut(&scope) else {
            return;
        };
        state.progress = Some(version.clone());
        let Some(number) = version.number() else {
            entries.held.retain(|_, waiting| !waiting.expired());
            return;
        };
        while let Some((at, key)) = state.at_version.first().cloned()
            && at <= number
        {
            state.at_version.remove(&(at, key.clone()));
            release(&mut entries.held, &key, scope, |waiting| waiting.at == Some(at));
        }
    }

    pub(super) fn seen(
        &mut self,
        kind: &Kind,
        scope: ScopeId,
        key: &ObjectKey,
        uid: &str,
        version: &Version,
        gone: bool,
    ) {
        let entries = self.entries(kind);
        release(&mut entries.held, key, scope, |waiting| match &waiting.held {
            // The comparison of versions is for servers whose versions are not ordered.
            Held::Object(cached) => cached.header().version == *version || (gone && *cached.header().uid == *uid),
            // Of several, there is no telling which went last.
            Held::Deleted(deleted) => gone && matches!(&**deleted, [only] if **only == *uid),
            Held::InDoubt => false,
        });
    }

    pub(super) fn listed(&mut self, kind: &Kind, scope: ScopeId, begun: Moment, version: &Version) {
        let entries = self.entries(kind);
        let before = entries.scopes.get(&scope).and_then(|state| state.progress.as_ref());
        // A server restored from a backup counts from an earlier version: what was written after it is lost.
        let restored = before.is_some_and(|before| before.compare(version) == Some(Ordering::Greater));
        let ordered = version.number().is_some();
        entries.held.retain(|_, waiting| {
            let settled = match &waiting.held {
                Held::Deleted(_) | Held::InDoubt => true,
                // Where versions are ordered, the version decides.
                Held::Object(_) => restored || !ordered,
            };
            if settled && waiting.since < begun {
                waiting.scopes.remove(&scope);
            }
            !waiting.scopes.is_empty()
        });
        self.advance(kind, scope, version);
    }

    pub(super) fn bound(&mut self, kind: &Kind, begun: Moment, version: &Version) {
        let Some(number) = version.number() else { return };
        let entries = self.entries(kind);
        let unbounded: Vec<ObjectKey> = entries
            .held
            .iter()
            .filter(|(_, waiting)| waiting.is_unbounded() && waiting.since < begun)
            .map(|(key, _)| key.clone())
            .collect();
        for key in unbounded {
            entries.await_version(&key, number);
        }
        let reached: Vec<(ScopeId, Version)> = entries
            .scopes
            .iter()
            .filter_map(|(id, scope)| Some((*id, scope.progress.clone()?)))
            .collect();
        for (scope, progress) in reached {
            self.advance(kind, scope, &progress);
        }
    }

    /// Ways to ask the informers of an object which uid they hold.
    pub(super) fn holders(&self, kind: &Kind, key: &ObjectKey) -> Vec<Holds> {
        let Some(entries) = self.known_entries(kind) else {
            return Vec::new();
        };
        let scopes = entries.scopes.values().filter(|scope| scope.covers(key));
        scopes.map(|scope| Arc::clone(&scope.holds)).collect()
    }

    pub(super) fn has_unbounded(&self, kind: &Kind, scope: ScopeId) -> bool {
        self.known_entries(kind).is_some_and(|entries| {
            entries
                .held
                .values()
                .any(|waiting| waiting.is_unbounded() && waiting.scopes.contains(&scope))
        })
    }

    pub(super) fn get(&self, kind: &Kind, key: &ObjectKey, scope: Option<ScopeId>) -> Option<Entry> {
        let waiting = self.known_entries(kind)?.held.get(key)?;
        waiting.entry(kind, scope)
    }

    pub(super) fn list(&self, kind: &Kind, namespace: Option<&str>, scope: ScopeId) -> Vec<(ObjectKey, Entry)> {
        let Some(entries) = self.known_entries(kind) else {
            return Vec::new();
        };
        entries
            .held
            .iter()
            .filter(|(key, _)| namespace.is_none_or(|namespace| *key.namespace == *namespace))
            .filter_map(|(key, waiting)| Some((key.clone(), waiting.entry(kind, Some(scope))?)))
            .collect()
    }

    fn known_entries(&self, kind: &Kind) -> Option<&Entries> {
        self.resources.get(kind.group())?.get(kind.plural())
    }

    /// Every event asks, so a resource that is known is found without an allocation.
    fn entries(&mut self, kind: &Kind) -> &mut Entries {
        if self.known_entries(kind).is_none() {
            let group = self.resources.entry(kind.group().into()).or_default();
            group.insert(kind.plural().into(), Entries::default());
        }
        let group = self.resources.get_mut(kind.group());
        let entries = group.and_then(|group| group.get_mut(kind.plural()));
        entries.expect("a resource that was not known was entered just above")
    }
}

impl Entries {
    /// Makes the entry leave each of its scopes when that reaches a version.
    fn await_version(&mut self, key: &ObjectKey, number: u64) {
        let Some(waiting) = self.held.get_mut(key) else { return };
        waiting.at = Some(number);
        for id in &waiting.scopes {
            if let Some(scope) = self.scopes.get_mut(id) {
                scope.at_version.insert((number, key.clone()));
            }
        }
    }

    fn forget(&mut self, key: &ObjectKey) -> Option<Waiting> {
        let waiting = self.held.remove(key)?;
        if let Some(number) = waiting.at {
            for scope in self.scopes.values_mut() {
                scope.at_version.remove(&(number, key.clone()));
            }
        }
        Some(waiting)
    }
}

fn release(
    held: &mut Counted<ObjectKey, Waiting>,
    key: &ObjectKey,
    scope: ScopeId,
    when: impl FnOnce(&Waiting) -> bool,
) {
    let Some(waiting) = held.get_mut(key) else { return };
    if when(waiting) {
        waiting.scopes.remove(&scope);
        if waiting.scopes.is_empty() {
            held.remove(key);
        }
    }
}

fn latest(a: Option<Version>, b: Option<Version>) -> Option<Version> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.reaches(&b) { a } else { b }),
        (a, b) => a.or(b),
    }
}
