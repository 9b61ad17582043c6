//! What the watch does to an informer: lists, events, bookmarks. Called by the informer's task alone.
//!
//! The order of every change: the store first, then the overlay (what it held is now in the store), then the
//! subscribers.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::{Informer, State};
use crate::cache::Cached;
use crate::cache::overlay::Moment;
use crate::cache::scanner::ScanError;
use crate::cache::store::Record;
use crate::delta::{Delta, DeltaCause, Header, Version};
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
        let (header, body) = self.0.scanner.scan(object)?;
        self.put(header, body, run.cause);
        Ok(())
    }

    /// The list has ended: the store equals the server at this version.
    pub(crate) fn end_list(&self, run: ListRun, version: &Version) {
        let stale = self.state().store.stale();
        for key in stale {
            self.take(&key, run.cause);
        }
        self.state_mut().progress = Some(version.clone());
        self.overlay().listed(self.kind(), self.scope(), run.begun, version);
        self.admit();
        if !std::mem::replace(&mut self.state_mut().synced, true) {
            self.0.synced.notify_waiters();
        }
    }

    /// The watch says that the object is there, as it stands in `object`.
    pub(crate) fn changed(&self, object: &[u8]) -> Result<(), ScanError> {
        let (header, body) = self.0.scanner.scan(object)?;
        self.admit();
        let version = header.version.clone();
        self.put(header, body, DeltaCause::Event);
        self.advance(&version);
        Ok(())
    }

    /// The watch says that the object is gone, or has left the selector.
    pub(crate) fn deleted(&self, object: &[u8]) -> Result<(), ScanError> {
        let (header, _) = self.0.scanner.scan(object)?;
        self.admit();
        // An event that comes late must not take what came after it.
        let held = self.state().store.get(&header.key);
        if held.is_some_and(|held| !is_newer(&held.header, &header.version)) {
            self.take(&header.key, DeltaCause::Event);
        }
        let overlay = self.overlay();
        overlay.seen(
            self.kind(),
            self.scope(),
            &header.key,
            &header.uid,
            &header.version,
            true,
        );
        self.advance(&header.version);
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
    }

    /// Replays what is held to those who came late.
    pub(crate) fn admit(&self) {
        for sink in self.0.subscribers.admit() {
            // A copy of handles, not of bodies; taken so that the sink may ask the informer.
            for object in self.list(None, None) {
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

    fn put(&self, header: Header, body: Bytes, cause: DeltaCause) {
        let key = header.key.clone();
        let held = self.state().store.get(&key);
        if let Some(held) = &held {
            if held.header.uid != header.uid {
                // Recreated under the same name, and its deletion was missed: two changes, never one.
                self.take(&key, cause);
            } else if held.header.version == header.version
                || (cause == DeltaCause::Event && is_newer(&held.header, &header.version))
            {
                // Known already, or an event that comes late. A list is always right, even where it is older: the
                // server was restored from a backup.
                self.state_mut().store.touch(&key);
                return;
            }
        }
        let record = Record {
            header: Arc::new(header),
            body,
        };
        let new = self.cached(record.clone());
        let old = {
            let mut state = self.state_mut();
            let State { store, indexes, .. } = &mut *state;
            let old = store.insert(record).map(|record| self.cached(record));
            indexes.update(old.as_ref(), Some(&new));
            old
        };
        let own = new.header();
        self.overlay()
            .seen(self.kind(), self.scope(), &key, &own.uid, &own.version, false);
        self.tell(key, old, Some(new), cause);
    }

    fn take(&self, key: &ObjectKey, cause: DeltaCause) {
        let old = {
            let mut state = self.state_mut();
            let State { store, indexes, .. } = &mut *state;
            let Some(record) = store.remove(key) else { return };
            let old = self.cached(record);
            indexes.update(Some(&old), None);
            old
        };
        let gone = old.header();
        self.overlay()
            .seen(self.kind(), self.scope(), key, &gone.uid, &gone.version, true);
        self.tell(key.clone(), Some(old), None, cause);
    }

    fn tell(&self, key: ObjectKey, old: Option<Cached>, new: Option<Cached>, cause: DeltaCause) {
        let delta = Delta::new(self.kind().clone(), key, old, new, cause);
        self.0.subscribers.tell(&delta);
    }
}

fn is_newer(header: &Header, than: &Version) -> bool {
    header.version.compare(than) == Some(Ordering::Greater)
}
