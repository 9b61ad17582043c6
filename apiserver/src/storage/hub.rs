//! Who is told of a write: watchers, indexed by what they can possibly be interested in.
//!
//! A write looks up the watchers of its resource, namespace, name, labels and selectable fields; a watcher whose
//! selector cannot match costs it nothing.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::Stream;
use serde_json::Value;

use super::state::Inner;
use super::stored::Stored;

/// One write as watchers see it.
#[derive(Debug)]
pub struct Change {
    /// The revision of the write.
    pub revision: u64,
    /// The object before; absent when the write created it.
    pub old: Option<Arc<Stored>>,
    /// The object after; absent when the write deleted it.
    pub new: Option<Arc<Stored>>,
    frames: Mutex<Vec<((&'static str, u64), Bytes)>>,
    values: Mutex<[Option<Arc<Value>>; 2]>,
}

impl Change {
    pub(super) fn new(revision: u64, old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) -> Self {
        Self {
            revision,
            old,
            new,
            frames: Mutex::default(),
            values: Mutex::default(),
        }
    }

    /// The object that was written or deleted.
    ///
    /// A change always has an old or a new object; the option is for the type's sake.
    #[must_use]
    pub fn object(&self) -> Option<&Arc<Stored>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// The serialised event of this type and form, made by the first watcher that asks and shared by the others.
    pub(crate) fn frame(&self, kind: &'static str, form: u64, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut frames = locked(&self.frames);
        if let Some((_, frame)) = frames.iter().find(|(id, _)| *id == (kind, form)) {
            return frame.clone();
        }
        let frame = make();
        frames.push(((kind, form), frame.clone()));
        frame
    }

    /// The object before, parsed once for everybody who asks.
    #[must_use]
    pub fn old_value(&self) -> Option<Arc<Value>> {
        self.old
            .as_ref()
            .map(|old| Arc::clone(locked(&self.values)[0].get_or_insert_with(|| old.shared())))
    }

    /// The object after, parsed once for everybody who asks.
    #[must_use]
    pub fn new_value(&self) -> Option<Arc<Value>> {
        self.new
            .as_ref()
            .map(|new| Arc::clone(locked(&self.values)[1].get_or_insert_with(|| new.shared())))
    }
}

/// What a watcher can be interested in; what the index cannot express, the watcher filters itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Every object of every resource.
    Everything,
    /// Every object of one resource.
    Resource(Arc<str>),
    /// One namespace of a resource.
    Namespace(Arc<str>, Arc<str>),
    /// One object of a resource: namespace and name.
    Object(Arc<str>, Arc<str>, Arc<str>),
    /// Objects of a resource with this label.
    Label(Arc<str>, Box<str>, Box<str>),
    /// Objects of a resource with this value in a selectable field.
    Field(Arc<str>, Box<str>, Box<str>),
}

impl Interest {
    pub(super) fn covers(&self, object: &Stored) -> bool {
        let key = &object.key;
        match self {
            Self::Everything => true,
            // Label and field interests see every change of the resource here: the object at hand may be the one
            // before or after the transition, and the watcher decides.
            Self::Resource(resource) | Self::Label(resource, ..) | Self::Field(resource, ..) => {
                key.resource == *resource
            }
            Self::Namespace(resource, namespace) => key.resource == *resource && key.namespace == *namespace,
            Self::Object(resource, namespace, name) => {
                key.resource == *resource && key.namespace == *namespace && key.name == *name
            }
        }
    }
}

/// What happens to a watcher that does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It waits for nobody: at so many undelivered changes it is ended.
    End(usize),
    /// It is trusted to read: the queue grows.
    Grow,
}

/// The changes that a watcher asked for, in order.
///
/// Ends when the watcher fell too far behind. Dropping it unregisters the watcher.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
    store: Weak<Inner>,
}

impl Subscription {
    pub(super) fn new(queue: Arc<Queue>, store: Weak<Inner>) -> Self {
        Self { queue, store }
    }

    /// The next change if one is waiting.
    pub fn try_next(&mut self) -> Option<Arc<Change>> {
        locked(&self.queue.state).changes.pop_front()
    }

    /// Whether no change is waiting.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        locked(&self.queue.state).changes.is_empty()
    }

    /// Whether the watcher was ended because it fell too far behind.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        locked(&self.queue.state).ended
    }
}

impl Stream for Subscription {
    type Item = Arc<Change>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = locked(&self.queue.state);
        if let Some(change) = state.changes.pop_front() {
            return Poll::Ready(Some(change));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            store.unsubscribe(&self.queue);
        }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    id: u64,
    interest: Interest,
    overflow: Overflow,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    changes: VecDeque<Arc<Change>>,
    ended: bool,
    waker: Option<Waker>,
}

impl Queue {
    /// False when the watcher has been ended.
    fn push(&self, change: &Arc<Change>) -> bool {
        let mut state = locked(&self.state);
        if let Overflow::End(limit) = self.overflow
            && state.changes.len() >= limit
        {
            state.ended = true;
            state.changes = VecDeque::new();
        } else {
            state.changes.push_back(Arc::clone(change));
        }
        let waker = state.waker.take();
        let alive = !state.ended;
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        alive
    }

    fn end(&self) {
        let mut state = locked(&self.state);
        state.ended = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

type Queues = Vec<Arc<Queue>>;

#[derive(Debug, Default)]
pub(super) struct Hub {
    last_id: u64,
    everything: Queues,
    resources: BTreeMap<Arc<str>, Watchers>,
}

#[derive(Debug, Default)]
struct Watchers {
    all: Queues,
    namespaces: BTreeMap<Arc<str>, Queues>,
    objects: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Queues>>,
    labels: BTreeMap<Box<str>, BTreeMap<Box<str>, Queues>>,
    fields: BTreeMap<Box<str>, BTreeMap<Box<str>, Queues>>,
}

impl Hub {
    pub(super) fn add(&mut self, interest: Interest, overflow: Overflow, backlog: Vec<Arc<Change>>) -> Arc<Queue> {
        self.last_id += 1;
        let state = Mutex::new(QueueState {
            changes: backlog.into(),
            ended: false,
            waker: None,
        });
        let queue = Arc::new(Queue {
            id: self.last_id,
            interest,
            overflow,
            state,
        });
        self.place(&queue.interest).push(Arc::clone(&queue));
        queue
    }

    pub(super) fn remove(&mut self, queue: &Queue) {
        self.place(&queue.interest).retain(|other| other.id != queue.id);
        self.prune(&queue.interest);
    }

    /// Hands the change to every watcher that may care, and drops those that have fallen too far behind.
    pub(super) fn publish(&mut self, revision: u64, old: Option<&Arc<Stored>>, new: Option<&Arc<Stored>>) {
        let Some(object) = new.or(old) else { return };
        let Some(watchers) = self.resources.get_mut(&object.key.resource) else {
            if !self.everything.is_empty() {
                let change = Arc::new(Change::new(revision, old.cloned(), new.cloned()));
                deliver(&mut self.everything, &change);
            }
            return;
        };
        let change = Arc::new(Change::new(revision, old.cloned(), new.cloned()));
        deliver(&mut self.everything, &change);
        deliver(&mut watchers.all, &change);
        if let Some(queues) = watchers.namespaces.get_mut(&object.key.namespace) {
            deliver(queues, &change);
        }
        if let Some(queues) = watchers
            .objects
            .get_mut(&object.key.namespace)
            .and_then(|names| names.get_mut(&object.key.name))
        {
            deliver(queues, &change);
        }
        if !watchers.labels.is_empty() {
            for (name, value) in pairs(old, new, |object| {
                object.labels.iter().map(|(n, v)| (&**n, &**v)).collect()
            }) {
                if let Some(queues) = watchers.labels.get_mut(name).and_then(|values| values.get_mut(value)) {
                    deliver(queues, &change);
                }
            }
        }
        for (path, values) in &mut watchers.fields {
            let before = old.map(|object| object.field(path));
            let after = new.map(|object| object.field(path));
            if let Some(queues) = before.and_then(|value| values.get_mut(value)) {
                deliver(queues, &change);
            }
            if after != before
                && let Some(queues) = after.and_then(|value| values.get_mut(value))
            {
                deliver(queues, &change);
            }
        }
    }

    /// Ends every watcher of a resource, once it has read what is waiting for it.
    pub(super) fn end(&mut self, resource: &str) {
        for queue in self.resources.remove(resource).iter().flat_map(Watchers::iter) {
            queue.end();
        }
    }

    /// Ends every watcher but the server's own controllers, as a restart of the server would.
    pub(super) fn end_all(&mut self) {
        let watchers = std::mem::take(&mut self.resources);
        let (own, ended) = std::mem::take(&mut self.everything)
            .into_iter()
            .partition(|queue| queue.overflow == Overflow::Grow);
        self.everything = own;
        let ended: Queues = ended;
        for queue in ended.iter().chain(watchers.values().flat_map(Watchers::iter)) {
            queue.end();
        }
    }

    fn place(&mut self, interest: &Interest) -> &mut Queues {
        let (Interest::Resource(resource)
        | Interest::Namespace(resource, _)
        | Interest::Object(resource, ..)
        | Interest::Label(resource, ..)
        | Interest::Field(resource, ..)) = interest
        else {
            return &mut self.everything;
        };
        let watchers = self.resources.entry(Arc::clone(resource)).or_default();
        match interest {
            Interest::Everything | Interest::Resource(_) => &mut watchers.all,
            Interest::Namespace(_, namespace) => watchers.namespaces.entry(Arc::clone(namespace)).or_default(),
            Interest::Object(_, namespace, name) => watchers
                .objects
                .entry(Arc::clone(namespace))
                .or_default()
                .entry(Arc::clone(name))
                .or_default(),
            Interest::Label(_, name, value) => watchers
                .labels
                .entry(name.clone())
                .or_default()
                .entry(value.clone())
                .or_default(),
            Interest::Field(_, path, value) => watchers
                .fields
                .entry(path.clone())
                .or_default()
                .entry(value.clone())
                .or_default(),
        }
    }

    /// Drops the index entries that the removal of a watcher has left empty.
    fn prune(&mut self, interest: &Interest) {
        match interest {
            Interest::Everything | Interest::Resource(_) => {}
            Interest::Namespace(resource, namespace) => {
                if let Some(watchers) = self.resources.get_mut(resource)
                    && watchers.namespaces.get(namespace).is_some_and(Vec::is_empty)
                {
                    watchers.namespaces.remove(namespace);
                }
            }
            Interest::Object(resource, namespace, name) => {
                if let Some(watchers) = self.resources.get_mut(resource) {
                    prune_nested(&mut watchers.objects, namespace, name);
                }
            }
            Interest::Label(resource, name, value) => {
                if let Some(watchers) = self.resources.get_mut(resource) {
                    prune_nested(&mut watchers.labels, name, value);
                }
            }
            Interest::Field(resource, path, value) => {
                if let Some(watchers) = self.resources.get_mut(resource) {
                    prune_nested(&mut watchers.fields, path, value);
                }
            }
        }
    }
}

impl Watchers {
    fn iter(&self) -> impl Iterator<Item = &Arc<Queue>> {
        let nested = self
            .labels
            .values()
            .chain(self.fields.values())
            .flat_map(BTreeMap::values);
        let objects = self.objects.values().flat_map(BTreeMap::values);
        self.all
            .iter()
            .chain(self.namespaces.values().flatten())
            .chain(objects.flatten())
            .chain(nested.flatten())
    }
}

fn deliver(queues: &mut Queues, change: &Arc<Change>) {
    queues.retain(|queue| queue.push(change));
}

fn pairs<'a>(
    old: Option<&'a Arc<Stored>>,
    new: Option<&'a Arc<Stored>>,
    of: impl Fn(&'a Stored) -> Vec<(&'a str, &'a str)>,
) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<_> = old.into_iter().chain(new).flat_map(|object| of(object)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn prune_nested<K: Ord>(map: &mut BTreeMap<K, BTreeMap<K, Queues>>, outer: &K, inner: &K) {
    let Some(nested) = map.get_mut(outer) else { return };
    if nested.get(inner).is_some_and(Vec::is_empty) {
        nested.remove(inner);
    }
    if nested.is_empty() {
        map.remove(outer);
    }
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
