//! What the controllers know: the objects of the kinds they work on, as one view of one revision, with small indexes.
//!
//! All kinds are fed from one stream in revision order, so the view is consistent across kinds, and a controller that
//! waits for the revision of its own last write ([`Cache::reached`]) never reads behind itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

use super::Seen;
use super::kinds::Kind;
use super::object::{Key, Object};
use super::selector::Selector;
use crate::resource::Resource;

/// A revision that the stream never shows (a change of something no longer served) must not hold a controller forever.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The shared view.
#[derive(Debug)]
pub struct Cache {
    state: Mutex<State>,
    progressed: Notify,
}

#[derive(Debug, Default)]
struct State {
    revision: u64,
    kinds: BTreeMap<&'static str, BTreeMap<&'static str, Objects>>,
}

#[derive(Debug, Default)]
struct Objects {
    by_key: BTreeMap<Key, Arc<Value>>,
    by_controller: BTreeMap<String, BTreeSet<Key>>,
    by_label: BTreeMap<(Arc<str>, String), BTreeSet<Key>>,
}

impl Cache {
    /// An empty view of these kinds.
    #[must_use]
    pub fn new(kinds: &[&'static Kind]) -> Self {
        let mut state = State::default();
        for kind in kinds {
            state
                .kinds
                .entry(kind.group)
                .or_default()
                .insert(kind.plural, Objects::default());
        }
        Self {
            state: Mutex::new(state),
            progressed: Notify::new(),
        }
    }

    /// Takes in one change.
    pub fn apply(&self, seen: &Seen<'_>) {
        let mut state = self.lock();
        let group = state.kinds.get_mut(seen.resource.group.as_str());
        let Some(objects) = group.and_then(|g| g.get_mut(seen.resource.plural.as_str())) else {
            return;
        };
        let key = Key::of(seen.object);
        objects.forget(&key);
        if !seen.deleted {
            objects.learn(key, Arc::clone(seen.object));
        }
    }

    /// The present version of an object of any kind; none if its kind is not kept.
    #[must_use]
    pub fn find(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let state = self.lock();
        let objects = state
            .kinds
            .get(resource.group.as_str())?
            .get(resource.plural.as_str())?;
        objects.by_key.get(&Key::new(namespace, name)).cloned()
    }

    /// Whether objects of this resource are kept.
    #[must_use]
    pub fn keeps(&self, resource: &Resource) -> bool {
        let state = self.lock();
        state
            .kinds
            .get(resource.group.as_str())
            .is_some_and(|g| g.contains_key(resource.plural.as_str()))
    }

    /// Marks that everything up to `revision` has been taken in and handed to the controllers.
    pub fn advance(&self, revision: u64) {
        self.lock().revision = revision;
        self.progressed.notify_waiters();
    }

    /// Waits until the view is at least as new as `revision`, for a second at most.
    pub async fn reached(&self, revision: u64) {
        let wait = async {
            loop {
                let progressed = self.progressed.notified();
                if self.lock().revision >= revision {
                    return;
                }
                progressed.await;
            }
        };
        if tokio::time::timeout(LONGEST_WAIT, wait).await.is_err() {
            tracing::debug!(revision, "the controllers' view did not reach a revision in time");
        }
    }

    /// One object.
    #[must_use]
    pub fn get(&self, kind: &Kind, key: &Key) -> Option<Arc<Value>> {
        self.of(kind, |o| o.by_key.get(key).cloned()).flatten()
    }

    /// The objects of a namespace in name order; all of them if it is empty.
    #[must_use]
    pub fn list(&self, kind: &Kind, namespace: &str) -> Vec<Arc<Value>> {
        self.of(kind, |o| {
            o.in_namespace(namespace).map(|(_, v)| Arc::clone(v)).collect()
        })
        .unwrap_or_default()
    }

    /// The objects whose controller is the owner with that uid.
    #[must_use]
    pub fn controlled_by(&self, kind: &Kind, uid: &str) -> Vec<Arc<Value>> {
        self.of(kind, |o| {
            o.by_controller
                .get(uid)
                .into_iter()
                .flatten()
                .filter_map(|k| o.by_key.get(k).cloned())
                .collect()
        })
        .unwrap_or_default()
    }

    /// The objects of a namespace that a selector selects.
    #[must_use]
    pub fn select(&self, kind: &Kind, namespace: &str, selector: &Selector) -> Vec<Arc<Value>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        self.of(kind, |o| {
            let namespace: Arc<str> = namespace.into();
            let smallest = selector
                .required()
                .map(|(k, v)| o.by_label.get(&(Arc::clone(&namespace), pair(k, v))))
                .min_by_key(|set| set.map_or(0, BTreeSet::len));
            let matching = |v: &&Arc<Value>| selector.matches(v.labels());
            match smallest {
                Some(None) => Vec::new(),
                Some(Some(keys)) => keys
                    .iter()
                    .filter_map(|k| o.by_key.get(k))
                    .filter(matching)
                    .cloned()
                    .collect(),
                None => o
                    .in_namespace(&namespace)
                    .map(|(_, v)| v)
                    .filter(matching)
                    .cloned()
                    .collect(),
            }
        })
        .unwrap_or_default()
    }

    /// What a controller with this uid and selector may count: what it controls, and what it could adopt. Ordered by
    /// key.
    #[must_use]
    pub fn claimable(&self, kind: &Kind, namespace: &str, uid: &str, selector: &Selector) -> Vec<Arc<Value>> {
        let mut found: BTreeMap<Key, Arc<Value>> = self
            .controlled_by(kind, uid)
            .into_iter()
            .map(|o| (Key::of(&o), o))
            .collect();
        for object in self.select(kind, namespace, selector) {
            if object.controller().is_none() {
                found.insert(Key::of(&object), object);
            }
        }
        found.into_values().collect()
    }

    fn of<T>(&self, kind: &Kind, read: impl FnOnce(&Objects) -> T) -> Option<T> {
        let state = self.lock();
        state.kinds.get(kind.group).and_then(|g| g.get(kind.plural)).map(read)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects {
    fn learn(&mut self, key: Key, object: Arc<Value>) {
        if let Some(owner) = object.controller() {
            self.by_controller
                .entry(owner.text("uid").to_owned())
                .or_default()
                .insert(key.clone());
        }
        for (k, v) in object.labels().into_iter().flatten() {
            let slot = (Arc::clone(&key.namespace), pair(k, v.as_str().unwrap_or("")));
            self.by_label.entry(slot).or_default().insert(key.clone());
        }
        self.by_key.insert(key, object);
    }

    fn forget(&mut self, key: &Key) {
        let Some(object) = self.by_key.remove(key) else { return };
        if let Some(owner) = object.controller() {
            drop_from(&mut self.by_controller, &owner.text("uid").to_owned(), key);
        }
        for (k, v) in object.labels().into_iter().flatten() {
            let slot = (Arc::clone(&key.namespace), pair(k, v.as_str().unwrap_or("")));
            drop_from(&mut self.by_label, &slot, key);
        }
    }

    fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let all = namespace.is_empty();
        let namespace: Arc<str> = namespace.into();
        self.by_key
            .range(
                Key {
                    namespace: Arc::clone(&namespace),
                    name: "".into(),
                }..,
            )
            .take_while(move |(k, _)| all || k.namespace == namespace)
    }
}

fn drop_from<S: Ord>(index: &mut BTreeMap<S, BTreeSet<Key>>, slot: &S, key: &Key) {
    if let Some(set) = index.get_mut(slot) {
        set.remove(key);
        if set.is_empty() {
            index.remove(slot);
        }
    }
}

fn pair(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// Which selectors select an object: the reverse of [`Cache::select`], for Services, budgets and the like.
#[derive(Debug, Default)]
pub struct SelectorIndex(Mutex<Selectors>);

#[derive(Debug, Default)]
struct Selectors {
    by_key: BTreeMap<Key, Selector>,
    by_pair: BTreeMap<(Arc<str>, String), BTreeSet<Key>>,
    without_pair: BTreeMap<Arc<str>, BTreeSet<Key>>,
}

impl SelectorIndex {
    /// Records the selector of an object, or its absence; answers the former one.
    pub fn set(&self, key: &Key, selector: Option<Selector>) -> Option<Selector> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = state.by_key.remove(key);
        if let Some(old) = &old {
            match old.required().next() {
                Some((k, v)) => drop_from(&mut state.by_pair, &(Arc::clone(&key.namespace), pair(k, v)), key),
                None => drop_from(&mut state.without_pair, &key.namespace, key),
            }
        }
        if let Some(selector) = selector {
            match selector.required().next() {
                Some((k, v)) => {
                    let slot = (Arc::clone(&key.namespace), pair(k, v));
                    state.by_pair.entry(slot).or_default().insert(key.clone());
                }
                None => {
                    state
                        .without_pair
                        .entry(Arc::clone(&key.namespace))
                        .or_default()
                        .insert(key.clone());
                }
            }
            state.by_key.insert(key.clone(), selector);
        }
        old
    }

    /// The objects whose selector selects `object`, in key order.
    #[must_use]
    pub fn selecting(&self, object: &Value) -> BTreeSet<Key> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let namespace: Arc<str> = object.namespace().into();
        let mut found = BTreeSet::new();
        let mut check = |keys: Option<&BTreeSet<Key>>| {
            for key in keys.into_iter().flatten() {
                if state.by_key.get(key).is_some_and(|s| s.matches(object.labels())) {
                    found.insert(key.clone());
                }
            }
        };
        check(state.without_pair.get(&namespace));
        for (k, v) in object.labels().into_iter().flatten() {
            check(
                state
                    .by_pair
                    .get(&(Arc::clone(&namespace), pair(k, v.as_str().unwrap_or("")))),
            );
        }
        found
    }
}
