//! Who owns whom, by uid.
//!
//! Only objects that have owners, or that are deleted in a way that concerns their dependents, have a node: a store full
//! of ownerless objects costs the graph nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::controllers::Seen;
use crate::controllers::object::{Key, Object};
use crate::resource::Resource;

/// Finalizer of an owner that waits for its dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an owner whose dependents are to be kept.
pub(super) const ORPHAN: &str = "orphan";
/// Deleted owners that are remembered.
const REMEMBERED: usize = 1000;

/// A unique identifier of an object.
pub(super) type Uid = Arc<str>;

/// What the graph knows of an object.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The object's resource.
    pub(super) resource: Arc<Resource>,
    /// The object's namespace and name.
    pub(super) key: Key,
    /// Its owners.
    pub(super) owners: Vec<Owner>,
    /// How it is being deleted.
    pub(super) deletion: Deletion,
    sequence: u64,
}

/// One owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// `apiVersion` as written.
    pub(super) api_version: String,
    /// Kind.
    pub(super) kind: String,
    /// Name.
    pub(super) name: String,
    /// Uid.
    pub(super) uid: Uid,
    /// Whether the owner's foreground deletion waits for this dependent.
    pub(super) blocks: bool,
}

/// How an object is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// It is not.
    None,
    /// It waits for its dependents to go.
    Foreground,
    /// It waits for its dependents to lose their reference.
    Orphan,
    /// It waits for something that is no concern of the garbage collector.
    Other,
}

/// The graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<Uid, Node>,
    dependents: BTreeMap<Uid, BTreeSet<Uid>>,
    gone: BTreeSet<Uid>,
    gone_order: VecDeque<Uid>,
    sequence: u64,
}

impl Owner {
    /// The owners that an object names.
    #[must_use]
    pub(super) fn all(object: &Value) -> Vec<Self> {
        let of = |o: &Value| Self {
            api_version: o.text("apiVersion").to_owned(),
            kind: o.text("kind").to_owned(),
            name: o.text("name").to_owned(),
            uid: o.text("uid").into(),
            blocks: o.flag("blockOwnerDeletion"),
        };
        object.items("metadata.ownerReferences").iter().map(of).collect()
    }

    /// Group and version of the owner's kind.
    #[must_use]
    pub(super) fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

impl Deletion {
    /// How `object` is being deleted.
    #[must_use]
    pub(super) fn of(object: &Value) -> Self {
        if !object.is_deleting() {
            Self::None
        } else if object.has_finalizer(ORPHAN) {
            Self::Orphan
        } else if object.has_finalizer(FOREGROUND) {
            Self::Foreground
        } else {
            Self::Other
        }
    }

    fn concerns_dependents(self) -> bool {
        matches!(self, Self::Foreground | Self::Orphan)
    }
}

impl Graph {
    /// Takes in a change; answers the uids that need a look.
    pub(super) fn observe(&mut self, seen: &Seen<'_>) -> Vec<Uid> {
        if seen.deleted {
            return self.remove(seen.object.uid());
        }
        let owners = Owner::all(seen.object);
        let deletion = Deletion::of(seen.object);
        let uid: Uid = seen.object.uid().into();
        let before = self.nodes.remove(&uid);
        if owners.is_empty() && !deletion.concerns_dependents() && before.is_none() {
            return Vec::new();
        }
        let mut wake = Vec::new();
        let (old_owners, old_deletion, sequence) = match before {
            Some(node) => (node.owners, node.deletion, node.sequence),
            None => {
                self.sequence += 1;
                (Vec::new(), Deletion::None, self.sequence)
            }
        };
        for old in &old_owners {
            match owners.iter().find(|o| o.uid == old.uid) {
                Some(new) if new.blocks || !old.blocks => {}
                kept => {
                    if kept.is_none() {
                        self.unlink(&old.uid, &uid);
                    }
                    self.wake_waiting(&old.uid, &mut wake);
                }
            }
        }
        for new in &owners {
            if !old_owners.iter().any(|o| o.uid == new.uid) {
                self.dependents
                    .entry(Arc::clone(&new.uid))
                    .or_default()
                    .insert(Arc::clone(&uid));
                push(&mut wake, &uid);
            }
        }
        if deletion != old_deletion && deletion.concerns_dependents() {
            push(&mut wake, &uid);
        }
        if !owners.is_empty() || deletion.concerns_dependents() {
            let node = Node {
                resource: Arc::clone(seen.resource),
                key: Key::of(seen.object),
                owners,
                deletion,
                sequence,
            };
            self.nodes.insert(uid, node);
        }
        wake
    }

    /// The node of an object.
    #[must_use]
    pub(super) fn node(&self, uid: &str) -> Option<Node> {
        self.nodes.get(uid).cloned()
    }

    /// Whether an object waits for its dependents to go.
    #[must_use]
    pub(super) fn waits(&self, uid: &str) -> bool {
        self.nodes.get(uid).is_some_and(|n| n.deletion == Deletion::Foreground)
    }

    /// The dependents of an object, the oldest first.
    #[must_use]
    pub(super) fn dependents(&self, uid: &str) -> Vec<(Uid, Node)> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        let mut found: Vec<_> = uids
            .filter_map(|u| Some((Arc::clone(u), self.nodes.get(u)?.clone())))
            .collect();
        found.sort_by_key(|(_, node)| node.sequence);
        found
    }

    /// Whether this object was seen to be deleted, lately.
    #[must_use]
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    fn remove(&mut self, uid: &str) -> Vec<Uid> {
        let mut wake = Vec::new();
        if let Some(node) = self.nodes.remove(uid) {
            for owner in &node.owners {
                self.unlink(&owner.uid, uid);
                self.wake_waiting(&owner.uid, &mut wake);
            }
        }
        let dependents = self.dependents(uid);
        if !dependents.is_empty() {
            let uid: Uid = uid.into();
            self.gone.insert(Arc::clone(&uid));
            self.gone_order.push_back(uid);
            if self.gone_order.len() > REMEMBERED
                && let Some(oldest) = self.gone_order.pop_front()
            {
                self.gone.remove(&oldest);
            }
        }
        wake.extend(dependents.into_iter().map(|(uid, _)| uid));
        wake
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(set) = self.dependents.get_mut(owner) {
            set.remove(dependent);
            if set.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn wake_waiting(&self, owner: &Uid, wake: &mut Vec<Uid>) {
        if self.waits(owner) {
            push(wake, owner);
        }
    }
}

fn push(wake: &mut Vec<Uid>, uid: &Uid) {
    if !wake.contains(uid) {
        wake.push(Arc::clone(uid));
    }
}
