use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::history::{Expired, History};
use super::horizon;
use super::hub::{Change, Hub, Interest, Overflow, Queue, Subscription};
use super::key::{Key, namespace_order};
use super::past::needed;
use super::recent::Recent;
use super::stored::{Draft, Stored};

/// The objects. Clones share them.
#[derive(Clone, Debug)]
pub struct Store(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    state: Mutex<State>,
    written: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) revision: u64,
    tables: BTreeMap<Arc<str>, Table>,
    pub(super) history: History,
    pub(super) hub: Hub,
    /// Watches from before this revision find nothing to go on from.
    pub(super) watchable: u64,
    /// Who may be shown less than everything.
    pub(super) horizons: Vec<Weak<horizon::Inner>>,
    recent: Recent,
}

#[derive(Debug, Default)]
struct Table {
    namespaces: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Stored>>>,
    changed_at: u64,
}

/// Objects of one resource at one revision, in key order.
#[derive(Debug)]
pub struct View {
    /// The revision that the view shows.
    pub revision: u64,
    /// The objects.
    pub objects: Vec<Arc<Stored>>,
}

impl Store {
    /// An empty store that remembers the last `history` writes.
    ///
    /// Its first write is revision 2: clients read 0 as "any" and 1 as "older than everything".
    #[must_use]
    pub fn new(history: usize) -> Self {
        let state = State {
            revision: 1,
            tables: BTreeMap::new(),
            history: History::new(history, 1),
            hub: Hub::default(),
            watchable: 0,
            horizons: Vec::new(),
            recent: Recent::default(),
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            written: Notify::new(),
        }))
    }

    /// The revision of the last write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.0.lock().revision
    }

    /// The current version of an object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.find(&key.resource, &key.namespace, &key.name)
    }

    /// The current version of an object, by the parts of its key.
    #[must_use]
    pub fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.0
            .lock()
            .tables
            .get(resource)?
            .namespaces
            .get(namespace)?
            .get(name)
            .cloned()
    }

    /// The current objects of a resource, in key order; all namespaces if `namespace` is absent.
    #[must_use]
    pub fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        self.0.lock().present(resource, namespace)
    }

    /// The objects of a resource now, and the revision that "now" is.
    #[must_use]
    pub fn view(&self, resource: &str, namespace: Option<&str>) -> View {
        let state = self.0.lock();
        View {
            revision: state.revision,
            objects: state.present(resource, namespace),
        }
    }

    /// The revision of the last change of any object of the resource; 0 if there was none.
    #[must_use]
    pub fn changed_at(&self, resource: &str) -> u64 {
        self.0.lock().tables.get(resource).map_or(0, |table| table.changed_at)
    }

    /// How many objects of the resource there are.
    #[must_use]
    pub fn count(&self, resource: &str) -> usize {
        self.0
            .lock()
            .tables
            .get(resource)
            .map_or(0, |t| t.namespaces.values().map(BTreeMap::len).sum())
    }

    /// Stores a new object.
    ///
    /// # Errors
    /// With the object that is there already.
    pub fn insert(&self, draft: Draft) -> Result<Arc<Stored>, Arc<Stored>> {
        let mut state = self.0.lock();
        let key = draft.key();
        if let Some(existing) = state.current(key) {
            return Err(Arc::clone(existing));
        }
        let stored = state.write(draft, None);
        drop(state);
        self.0.written.notify_waiters();
        Ok(stored)
    }

    /// Stores the next version of an object, if `old` is still its current one.
    ///
    /// # Errors
    /// With the current version, or nothing if the object is gone.
    pub fn replace(&self, old: &Arc<Stored>, draft: Draft) -> Result<Arc<Stored>, Option<Arc<Stored>>> {
        let mut state = self.0.lock();
        state.expect(old)?;
        let stored = state.write(draft, Some(Arc::clone(old)));
        drop(state);
        self.0.written.notify_waiters();
        Ok(stored)
    }

    /// Deletes an object, if `old` is still its current version; answers the revision of the deletion.
    ///
    /// # Errors
    /// With the current version, or nothing if the object is gone already.
    pub fn remove(&self, old: &Arc<Stored>) -> Result<u64, Option<Arc<Stored>>> {
        let mut state = self.0.lock();
        state.expect(old)?;
        let revision = state.erase(old);
        drop(state);
        self.0.written.notify_waiters();
        Ok(revision)
    }

    /// Forgets the history up to now: older views and watches from older revisions answer "expired".
    pub fn compact(&self) {
        let mut state = self.0.lock();
        let (revision, needed) = (state.revision, needed(&mut state.horizons));
        state.history.forget(revision, needed);
    }

    /// Forgets what objects were up to now, as a compaction of the storage below a watch cache does: older views answer
    /// "expired", and so do watches from revisions before `follow`; others go on.
    pub fn compact_views(&self, follow: u64) {
        let mut state = self.0.lock();
        let revision = state.revision;
        state.history.forget_views(revision, follow);
    }

    /// Whether the history still reaches back to `revision`.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self, revision: u64) -> Result<(), Expired> {
        self.0.lock().history.check(revision)
    }

    /// Follows the changes after `from`.
    ///
    /// # Errors
    /// When the history does not reach back that far.
    pub fn subscribe(&self, interest: Interest, from: u64, overflow: Overflow) -> Result<Subscription, Expired> {
        let mut state = self.0.lock();
        state.history.check(from)?;
        let backlog = state.history.since(from, |object| interest.covers(object));
        let queue = state.hub.add(interest, overflow, backlog);
        Ok(Subscription::new(queue, Arc::downgrade(&self.0)))
    }

    /// The objects of a resource now, and every change after that.
    pub fn view_and_subscribe(
        &self,
        resource: &str,
        namespace: Option<&str>,
        interest: Interest,
        overflow: Overflow,
    ) -> (View, Subscription) {
        let mut state = self.0.lock();
        let view = View {
            revision: state.revision,
            objects: state.present(resource, namespace),
        };
        let queue = state.hub.add(interest, overflow, Vec::new());
        (view, Subscription::new(queue, Arc::downgrade(&self.0)))
    }

    /// Every object there is, in the order of its last write and as if it had been created by that, and every change
    /// after that. For trusted readers: the subscription is never ended.
    #[must_use]
    pub fn world_and_subscribe(&self) -> (Vec<Arc<Change>>, Subscription) {
        let mut state = self.0.lock();
        let mut world: Vec<Arc<Stored>> = state
            .tables
            .values()
            .flat_map(|table| table.namespaces.values())
            .flat_map(BTreeMap::values)
            .cloned()
            .collect();
        world.sort_by_key(|object| object.revision);
        let changes = world
            .into_iter()
            .map(|object| Arc::new(Change::new(object.revision, None, Some(object))))
            .collect();
        let queue = state.hub.add(Interest::Everything, Overflow::Grow, Vec::new());
        (changes, Subscription::new(queue, Arc::downgrade(&self.0)))
    }

    /// Waits until a write has reached `revision`.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn reached(&self, revision: u64) {
        loop {
            let written = self.0.written.notified();
            if self.revision() >= revision {
                return;
            }
            written.await;
        }
    }

    /// Ends every watch of a resource, once what happened so far has been read.
    pub fn end_watches_of(&self, resource: &str) {
        self.0.lock().hub.end(resource);
    }

    /// Ends every watch.
    pub fn end_watches(&self) {
        self.0.lock().hub.end_all();
    }
}

impl Inner {
    pub(super) fn unsubscribe(&self, queue: &Queue) {
        self.lock().hub.remove(queue);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn current(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.tables
            .get(&key.resource)?
            .namespaces
            .get(&key.namespace)?
            .get(&key.name)
    }

    pub(super) fn present(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        let Some(table) = self.tables.get(resource) else {
            return Vec::new();
        };
        if let Some(namespace) = namespace {
            return table
                .namespaces
                .get(namespace)
                .into_iter()
                .flat_map(BTreeMap::values)
                .cloned()
                .collect();
        }
        let mut namespaces: Vec<_> = table.namespaces.iter().collect();
        namespaces.sort_by(|(a, _), (b, _)| namespace_order(a, b));
        namespaces
            .into_iter()
            .flat_map(|(_, objects)| objects.values())
            .cloned()
            .collect()
    }

    fn expect(&self, old: &Arc<Stored>) -> Result<(), Option<Arc<Stored>>> {
        match self.current(&old.key) {
            Some(current) if current.revision == old.revision => Ok(()),
            other => Err(other.cloned()),
        }
    }

    fn write(&mut self, draft: Draft, old: Option<Arc<Stored>>) -> Arc<Stored> {
        self.revision += 1;
        let (stored, value) = draft.seal(self.revision);
        self.recent.keep(value, stored.json.len());
        let stored = Arc::new(stored);
        let key = &stored.key;
        let table = self.tables.entry(Arc::clone(&key.resource)).or_default();
        table.changed_at = self.revision;
        table
            .namespaces
            .entry(Arc::clone(&key.namespace))
            .or_default()
            .insert(Arc::clone(&key.name), Arc::clone(&stored));
        self.hub.publish(self.revision, old.as_ref(), Some(&stored));
        self.record(old, Some(Arc::clone(&stored)));
        stored
    }

    fn erase(&mut self, old: &Arc<Stored>) -> u64 {
        self.revision += 1;
        if let Some(table) = self.tables.get_mut(&old.key.resource) {
            table.changed_at = self.revision;
            if let Some(objects) = table.namespaces.get_mut(&old.key.namespace) {
                objects.remove(&old.key.name);
                if objects.is_empty() {
                    table.namespaces.remove(&old.key.namespace);
                }
            }
        }
        self.hub.publish(self.revision, Some(old), None);
        self.record(Some(Arc::clone(old)), None);
        self.revision
    }

    fn record(&mut self, old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) {
        let horizons = &mut self.horizons;
        self.history.record(self.revision, old, new, || needed(horizons));
    }
}
