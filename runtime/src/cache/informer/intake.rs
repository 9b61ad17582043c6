//! What the watch does to an informer: lists, events, bookmarks. Called by the informer's task alone.
//!
//! The order of every change: the store first, then the overlay (what it held is now in the store), then the
//! subscribers.

use std::cmp::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Informer, State};
use crate::cache::Cached;
use crate::cache::index::{self, Values};
use crate::cache::overlay::Moment;
use crate::cache::scanner::{Facts, ScanError, Scratch};
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

    /// The list holds this object.
    pub(crate) fn listed(&self, run: ListRun, object: &[u8]) -> Result<(), ScanError> {
        // Most objects of a relist are as they were; those are not scanned to their end.
        if run.cause == DeltaCause::Relist {
            let found = self.0.scanner.identify(object)?;
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
            self.0.synced.notify_waiters();
        }
        self.0.moved.notify_waiters();
    }

    /// The watch says that the object is there, as it stands in `object`.
    pub(crate) fn changed(&self, object: &[u8]) -> Result<(), ScanError> {
        self.admit();
        let version = self.put(object, DeltaCause::Event)?;
        self.advance(&version);
        Ok(())
    }

    /// The watch says that the object is gone, or has left the selector.
    pub(crate) fn deleted(&self, object: &[u8]) -> Result<(), ScanError> {
        let found = self.0.scanner.identify(object)?;
        self.admit();
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
        self.0.moved.notify_waiters();
    }

    /// Replays what is held to those who came late.
    pub(crate) fn admit(&self) {
        let waiting = self.0.subscribers.admit();
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
                sink(&Delta::new(
                    self.kind().clone(),
                    key,
                    None,
                    Some(object),
                    DeltaCause::FirstList,
                ));
            }
        }
    }

    /// Returns when somebody may wait for a replay.
    pub(crate) async fn subscribed(&self) {
        self.0.subscribers.arrived().await;
    }

    /// Takes in an object; answers its version.
    fn put(&self, object: &[u8], cause: DeltaCause) -> Result<Version, ScanError> {
        let mut intake = self.intake();
        let Intake { scratch, encoder } = &mut *intake;
        let facts = self.0.scanner.scan(object, scratch)?;
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
        let heard = !self.0.subscribers.is_silent();
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
        let spec = &self.0.spec;
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
        self.0.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, key: ObjectKey, old: Option<Cached>, new: Option<Cached>, cause: DeltaCause) {
        let delta = Delta::new(self.kind().clone(), key, old, new, cause);
        self.0.subscribers.tell(&delta);
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
