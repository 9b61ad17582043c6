//! What the watch does to an informer: lists, events, bookmarks. Called by the informer's task alone.
//!
//! The order of every change: the store first, then the overlay (what it held is now in the store), then the
//! subscribers.

use std::cmp::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Informer, State, subscribers};
use crate::cache::Cached;
use crate::cache::facts::{Facts, ScanError, Scratch};
use crate::cache::index::{self, Values};
use crate::cache::overlay::Moment;
use crate::cache::store::{Body, Contexts, Encoder, Tuning};
use crate::delta::{Delta, DeltaCause, Version};
use crate::key::ObjectKey;

/// A list under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListRun {
    begun: Moment,
    cause: DeltaCause,
}

impl Informer {
    /// A consistent list begins: what it does not hold will go when it ends.
    ///
    /// A list that fails is begun anew; what it has stored so far stays, as it is true.
    pub(crate) fn begin_list(&self) -> ListRun {
        self.admit();
        let begun = self.overlay().moment();
        let mut state = self.state_mut();
        state.store.begin_epoch();
        let cause = if state.synced {
            DeltaCause::Relist
        } else {
            DeltaCause::FirstList
        };
        ListRun { begun, cause }
    }

    /// The list holds this object. One that cannot be read is left out; what was held under its name stays.
    pub(crate) fn listed(&self, run: ListRun, object: &[u8]) {
        if let Err(error) = self.try_listed(run, object) {
            let (key, _) = self.skip(object, &error);
            let mut state = self.state_mut();
            if let Some(slot) = key.and_then(|key| state.store.find(&key)) {
                state.store.touch(slot);
            }
        }
    }

    fn try_listed(&self, run: ListRun, object: &[u8]) -> Result<(), ScanError> {
        // Most objects of a relist are as they were; those are not scanned to their end.
        if run.cause == DeltaCause::Relist {
            let found = self.inner.scanner.identify(object)?;
            let mut state = self.state_mut();
            let store = &mut state.store;
            if let Some(slot) = store.find_by(&found.namespace, &found.name)
                && store.holds(slot, &found.uid, &found.version)
            {
                store.touch(slot);
                return Ok(());
            }
        }
        self.put(object, run.cause)?;
        Ok(())
    }

    /// The list has ended: the store equals the server at this version.
    pub(crate) fn end_list(&self, run: ListRun, version: &Version) {
        let stale = self.state().store.stale();
        for slot in stale {
            self.take(slot, run.cause);
        }
        {
            let mut state = self.state_mut();
            state.progress = Some(version.clone());
            state.store.fit();
        }
        self.overlay().listed(self.kind(), self.scope(), run.begun, version);
        self.admit();
        if !std::mem::replace(&mut self.state_mut().synced, true) {
            self.inner.synced.notify_waiters();
        }
        self.inner.moved.notify_waiters();
    }

    /// The watch says that the object is there, as it stands in `object`.
    pub(crate) fn changed(&self, object: &[u8]) -> Result<(), ScanError> {
        self.admit();
        let version = self.put(object, DeltaCause::Event)?;
        self.advance(&version);
        Ok(())
    }

    /// Whether the store is past a version already: an event that comes twice, or late. A watch goes on from where the
    /// store is, so all that it has to say is newer; what is not would bring back objects that are gone.
    fn is_past(&self, version: &Version) -> bool {
        let state = self.state();
        state
            .progress
            .as_ref()
            .is_some_and(|progress| progress.reaches(version))
    }

    /// The watch says that the object is gone, or has left the selector.
    pub(crate) fn deleted(&self, object: &[u8]) -> Result<(), ScanError> {
        let found = self.inner.scanner.identify(object)?;
        self.admit();
        if self.is_past(&found.version) {
            return Ok(());
        }
        // An event that comes late must not take what came after it.
        let slot = {
            let state = self.state();
            let slot = state.store.find_by(&found.namespace, &found.name);
            slot.filter(|slot| !is_newer(&state.store.record(*slot).version(), &found.version))
        };
        if let Some(slot) = slot {
            self.take(slot, DeltaCause::Event);
        }
        let key = ObjectKey::new(&*found.namespace, &*found.name);
        self.overlay()
            .seen(self.kind(), self.scope(), &key, &found.uid, &found.version, true);
        self.advance(&found.version);
        Ok(())
    }

    /// Counts and names an object that cannot be read; answers what can be told of it.
    pub(crate) fn skip(&self, object: &[u8], error: &dyn std::fmt::Display) -> (Option<ObjectKey>, Option<Version>) {
        let (key, version) = self.inner.scanner.recognise(object);
        let name = key
            .as_ref()
            .map_or_else(|| "an object without a name".to_owned(), ToString::to_string);
        let skipped = {
            let mut status = self.status_mut();
            status.skipped += 1;
            status.last_skipped = Some(format!("{name}: {error}"));
            status.skipped
        };
        // An object that is listed again and again would fill the log.
        if skipped.is_power_of_two() {
            tracing::error!(
                target: "kubewright::watch", informer = %self.inner.spec, skipped,
                "{name} cannot be read and is left out of the cache: {error}"
            );
        }
        (key, version)
    }

    /// Goes on without an event whose object cannot be read: what was held under its name stays until a version comes
    /// that can be.
    pub(crate) fn pass_over(&self, object: &[u8], error: &ScanError) {
        if let (_, Some(version)) = self.skip(object, error) {
            self.advance(&version);
        }
    }

    /// Makes the informer fit to begin anew after a panic in its task. Everyone hears everything once more, as nobody
    /// knows who heard what.
    pub(crate) fn recover(&self) {
        let inner = &*self.inner;
        if inner.state.is_poisoned() {
            // The store may have been left halfway through a change.
            let mut state = self.state_mut();
            let functions = state.indexes.functions();
            *state = State::empty(&inner.contexts);
            for (name, function) in functions {
                state.indexes.add(&name, function, std::iter::empty());
            }
            *self.intake() = Intake::new(Arc::clone(&inner.contexts), inner.compress);
            inner.state.clear_poison();
        }
        inner.subscribers.start_over();
    }

    /// The store is as new as this version.
    pub(crate) fn advance(&self, version: &Version) {
        {
            let mut state = self.state_mut();
            let newer = state.progress.as_ref().is_none_or(|progress| {
                // Where versions are not ordered, the last one that came is the newest.
                progress.compare(version) != Some(Ordering::Greater)
            });
            if newer {
                state.progress = Some(version.clone());
            }
        }
        self.overlay().advance(self.kind(), self.scope(), version);
        self.inner.moved.notify_waiters();
    }

    /// Replays what is held to those who came late.
    pub(crate) fn admit(&self) {
        let waiting = self.inner.subscribers.admit();
        if waiting.is_empty() {
            return;
        }
        // One object at a time, and without the lock, so that a sink may ask the informer. Nothing changes meanwhile:
        // only this task changes the store.
        let slots = self.selected(None, None).1;
        for sink in waiting {
            for slot in &slots {
                let object = self.cached(self.state().store.record(*slot));
                let key = object.key().clone();
                let delta = Delta::new(self.kind().clone(), key, None, Some(object), DeltaCause::FirstList);
                subscribers::tell(&sink, &delta);
            }
        }
    }

    /// Returns when somebody may wait for a replay.
    pub(crate) async fn subscribed(&self) {
        self.inner.subscribers.arrived().await;
    }

    /// Takes in an object; answers its version.
    fn put(&self, object: &[u8], cause: DeltaCause) -> Result<Version, ScanError> {
        let mut intake = self.intake();
        let Intake { scratch, encoder } = &mut *intake;
        let facts = self.inner.scanner.scan(object, scratch)?;
        if cause == DeltaCause::Event && self.is_past(&facts.version) {
            return Ok(facts.version);
        }
        let held = {
            let state = self.state();
            let slot = state.store.find_by(&facts.namespace, &facts.name);
            slot.map(|slot| {
                let record = state.store.record(slot);
                (slot, record.has_uid(&facts.uid), record.version())
            })
        };
        match held {
            // Recreated under the same name, and its deletion was missed: two changes, never one.
            Some((slot, false, _)) => self.take(slot, cause),
            // Known already, or an event that comes late. A list is always right, even where it is older: the server
            // was restored from a backup.
            Some((slot, true, version))
                if version == facts.version || (cause == DeltaCause::Event && is_newer(&version, &facts.version)) =>
            {
                self.state_mut().store.touch(slot);
                return Ok(facts.version);
            }
            _ => {}
        }
        encoder.encode(&scratch.body);
        let heard = !self.inner.subscribers.is_silent();
        let found = self.index_values(&facts, scratch);
        let (old, new) = {
            let mut state = self.state_mut();
            let State { store, indexes, .. } = &mut *state;
            let before = held.filter(|(_, same, _)| *same && heard);
            let old = before.map(|(slot, _, _)| self.cached(store.record(slot)));
            let Some(slot) = store.insert(&facts, scratch, encoder) else {
                return Err(ScanError::Missing("metadata.name of a length that names have"));
            };
            indexes.set(slot, &found);
            (old, heard.then(|| self.cached(store.record(slot))))
        };
        let key = ObjectKey::new(&*facts.namespace, &*facts.name);
        self.overlay()
            .seen(self.kind(), self.scope(), &key, &facts.uid, &facts.version, false);
        let version = facts.version;
        if encoder.judge(&self.state().store) == Tuning::Learn {
            self.learn(encoder);
        }
        // A sink may ask the informer for whatever it likes.
        drop(intake);
        if let Some(new) = new {
            self.tell(key, old, Some(new), cause);
        }
        Ok(version)
    }

    /// What an object is found under. Asked before the store is locked: the functions are the author's.
    fn index_values(&self, facts: &Facts<'_>, scratch: &Scratch) -> Values {
        let functions = self.state().indexes.functions();
        if functions.is_empty() {
            return Values::new();
        }
        let spec = &self.inner.spec;
        let body = Body::Plain(Bytes::copy_from_slice(&scratch.body));
        let header = Arc::new(facts.header(scratch));
        let object = Cached::new(spec.kind.clone(), header, body, spec.metadata_only);
        index::values(&functions, &object)
    }

    fn learn(&self, encoder: &mut Encoder) {
        let samples = self.state().store.samples();
        if let Some(codec) = encoder.learn(&samples)
            && let Some(id) = self.state_mut().store.take_up(Arc::clone(&codec))
        {
            encoder.take_up(id, codec);
        }
    }

    fn take(&self, slot: u32, cause: DeltaCause) {
        let old = {
            let mut state = self.state_mut();
            let State { store, indexes, .. } = &mut *state;
            let old = self.cached(store.record(slot));
            store.remove(slot);
            indexes.remove(slot);
            old
        };
        let gone = old.header();
        let key = gone.key.clone();
        self.overlay()
            .seen(self.kind(), self.scope(), &key, &gone.uid, &gone.version, true);
        self.tell(key, Some(old), None, cause);
    }

    fn intake(&self) -> MutexGuard<'_, Intake> {
        self.inner.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, key: ObjectKey, old: Option<Cached>, new: Option<Cached>, cause: DeltaCause) {
        let delta = Delta::new(self.kind().clone(), key, old, new, cause);
        self.inner.subscribers.tell(&delta);
    }
}

/// What only the informer's task uses, from one object to the next.
#[derive(Debug)]
pub(super) struct Intake {
    scratch: Scratch,
    encoder: Encoder,
}

impl Intake {
    pub(super) fn new(contexts: Arc<Contexts>, compress: bool) -> Self {
        Self {
            scratch: Scratch::default(),
            encoder: Encoder::new(contexts, compress),
        }
    }
}

fn is_newer(held: &Version, than: &Version) -> bool {
    held.compare(than) == Some(Ordering::Greater)
}
