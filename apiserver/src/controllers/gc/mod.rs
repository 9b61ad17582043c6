//! The garbage collector: what has lost its last owner goes.
//!
//! - An owner counts if an object of its kind, name and uid exists in the dependent's namespace (or is cluster-scoped).
//! - A dependent without any owner that counts is deleted; beside one that counts, dangling references are dropped.
//! - Foreground: the owner stays until every dependent with `blockOwnerDeletion` is gone. Orphan: the dependents lose
//!   their references, then the owner goes.
//! - A cluster-scoped dependent of a namespaced owner is left alone. Both that and an owner that lives in another
//!   namespace are told in an event `OwnerRefInvalidNamespace`.
//! - Owners of a kind that is not served are taken to exist until it is, but for those that were seen to go: when a
//!   definition is deleted, its objects go first, and their dependents follow.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::events::{Severity, reference};
use super::kinds::{DEFINITIONS, EVENTS};
use super::object::Object;
use super::queue::Queue;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Stored;
use graph::{Deletion, FOREGROUND, Graph, Node, ORPHAN, Owner, Uid};

mod graph;

/// Pods go one at a time, this far apart, so that what owns them shows each of them going.
const BETWEEN_PODS: Duration = Duration::from_millis(2);

/// An owner that waits for its dependents, or for their orphaning, is looked at this much later, so that its controller
/// has shown what happened.
const PATIENCE: Duration = Duration::from_millis(150);

/// The garbage collector.
pub struct GarbageCollector {
    cx: Cx,
    graph: Mutex<Graph>,
    unresolved: Mutex<BTreeSet<Uid>>,
    reported: Mutex<BTreeSet<(Uid, Uid)>>,
}

/// What an owner reference is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    /// The owner lives.
    Solid,
    /// The owner lives but waits for this dependent to go.
    Waiting,
    /// There is no such owner.
    Dangling,
    /// Nobody can tell.
    Unknown,
}

impl GarbageCollector {
    /// A collector with an empty graph.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            graph: Mutex::default(),
            unresolved: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each owner of a node is worth.
    fn classify(&self, node: &Node, uid: &Uid) -> Vec<(Owner, Worth)> {
        let catalog = self.cx.loopback.catalog();
        let worth = |owner: &Owner| {
            // Asked first: an owner may have gone together with its kind, which nobody could look up any more. What lies in
            // no namespace is not asked about here: it outlives a namespaced owner.
            if !node.key.namespace.is_empty() && self.graph().is_gone(&owner.uid) {
                return Worth::Dangling;
            }
            let (group, version) = owner.group_version();
            let Some(resource) = catalog.by_kind(group, version, &owner.kind) else {
                self.unresolved
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(Arc::clone(uid));
                return Worth::Unknown;
            };
            let namespace = if resource.namespaced { &*node.key.namespace } else { "" };
            if resource.namespaced && namespace.is_empty() {
                return Worth::Unknown;
            }
            match self.cx.loopback.uid_of(&resource.gvr(), namespace, &owner.name) {
                Some(found) if *found == *owner.uid && self.graph().waits(&owner.uid) => Worth::Waiting,
                Some(found) if *found == *owner.uid => Worth::Solid,
                _ => Worth::Dangling,
            }
        };
        node.owners.iter().map(|o| (o.clone(), worth(o))).collect()
    }

    /// Tells of owners that live in a namespace other than the dependent's.
    async fn report(&self, live: &Value, node: &Node, uid: &Uid, owners: &[(Owner, Worth)]) -> Result<(), ApiError> {
        for (owner, worth) in owners {
            let (group, version) = owner.group_version();
            let Some(resource) = self.cx.loopback.catalog().by_kind(group, version, &owner.kind) else {
                continue;
            };
            let misplaced = if !resource.namespaced || *worth == Worth::Solid || *worth == Worth::Waiting {
                false
            } else if node.key.namespace.is_empty() {
                true
            } else if self.graph().is_gone(&owner.uid) {
                false
            } else {
                let (everywhere, _) = self.cx.loopback.list(&resource.gvr(), "", "").await?;
                everywhere.iter().any(|o| o.uid() == &*owner.uid)
            };
            let pair = (Arc::clone(uid), Arc::clone(&owner.uid));
            if misplaced
                && self
                    .reported
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(pair)
            {
                let namespace = &node.key.namespace;
                let message = format!(
                    "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
                    owner.api_version, owner.kind, owner.name, owner.uid,
                );
                self.cx
                    .events
                    .record_on(reference(live), Severity::Warning, "OwnerRefInvalidNamespace", message);
            }
        }
        Ok(())
    }

    /// Deletes a dependent that nothing holds, or drops the references that hold nothing.
    async fn collect(&self, mut node: Node, uid: &Uid) -> Result<(), ApiError> {
        let owners = self.classify(&node, uid);
        if owners.iter().all(|(_, w)| *w == Worth::Solid) {
            return Ok(());
        }
        let gvr = node.resource.gvr();
        let Some(live) = found(self.cx.loopback.get(&gvr, &node.key.namespace, &node.key.name).await)? else {
            return Ok(());
        };
        if live.uid() != &**uid || live.is_deleting() {
            return Ok(());
        }
        node.owners = Owner::all(&live);
        let owners = self.classify(&node, uid);
        self.report(&live, &node, uid, &owners).await?;
        let has = |worth| owners.iter().any(|(_, w)| *w == worth);
        if owners.is_empty() || has(Worth::Unknown) {
            return Ok(());
        }
        if has(Worth::Solid) {
            if !has(Worth::Dangling) && !has(Worth::Waiting) {
                return Ok(());
            }
            let solid = |o: &&Value| {
                owners
                    .iter()
                    .any(|(x, w)| &*x.uid == o.text("uid") && *w == Worth::Solid)
            };
            let kept: Vec<&Value> = live.items("metadata.ownerReferences").iter().filter(solid).collect();
            return self.replace_owners(&node, &live, &kept).await;
        }
        let policy = if has(Worth::Waiting) && !self.graph().dependents(uid).is_empty() {
            self.unblock_cycle(uid, &live, &node).await?;
            "Foreground"
        } else if live.has_finalizer(ORPHAN) {
            "Orphan"
        } else if live.has_finalizer(FOREGROUND) {
            "Foreground"
        } else {
            "Background"
        };
        self.delete(&node, &live, policy).await
    }

    /// A dependent that itself waits for one of its dependents must not wait for a circle.
    async fn unblock_cycle(&self, uid: &Uid, live: &Value, node: &Node) -> Result<(), ApiError> {
        let in_circle = self
            .graph()
            .dependents(uid)
            .iter()
            .any(|(_, n)| n.deletion == Deletion::Foreground);
        if !in_circle {
            return Ok(());
        }
        let free = |o: &Value| {
            let mut o = o.clone();
            o["blockOwnerDeletion"] = false.into();
            o
        };
        let owners: Vec<Value> = live.items("metadata.ownerReferences").iter().map(free).collect();
        self.replace_owners(node, live, &owners.iter().collect::<Vec<_>>())
            .await
    }

    async fn delete(&self, node: &Node, live: &Value, policy: &str) -> Result<(), ApiError> {
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": { "uid": live.uid() },
            "propagationPolicy": policy,
        });
        let gvr = node.resource.gvr();
        found(
            self.cx
                .loopback
                .delete(&gvr, &node.key.namespace, &node.key.name, options)
                .await,
        )?;
        if gvr.plural == "pods" && gvr.group.is_empty() {
            tokio::time::sleep(BETWEEN_PODS).await;
        }
        Ok(())
    }

    async fn replace_owners(&self, node: &Node, live: &Value, owners: &[&Value]) -> Result<(), ApiError> {
        let owners = if owners.is_empty() { Value::Null } else { json!(owners) };
        let patch = json!({ "metadata": {
            "uid": live.uid(),
            "resourceVersion": live.text("metadata.resourceVersion"),
            "ownerReferences": owners,
        }});
        let (key, gvr) = (&node.key, node.resource.gvr());
        found(
            self.cx
                .loopback
                .merge_patch(&gvr, None, &key.namespace, &key.name, patch)
                .await,
        )
        .map(drop)
    }

    /// Foreground: deletes what blocks the owner, and lets the owner go when nothing does.
    async fn release_or_wait(&self, node: &Node, uid: &Uid) -> Result<(), ApiError> {
        let dependents = self.graph().dependents(uid);
        let blocking: Vec<_> = dependents
            .into_iter()
            .filter(|(_, d)| d.owners.iter().any(|o| o.uid == *uid && o.blocks))
            .collect();
        if blocking.is_empty() {
            return self.drop_finalizer(node, uid, FOREGROUND).await;
        }
        for (dependent, node) in blocking {
            if node.deletion == Deletion::None {
                self.collect(node, &dependent).await?;
            }
        }
        Ok(())
    }

    /// Orphan: takes the reference from every dependent, then lets the owner go.
    async fn orphan(&self, node: &Node, uid: &Uid) -> Result<(), ApiError> {
        for (dependent, child) in self.graph_dependents(uid) {
            let gvr = child.resource.gvr();
            let got = self.cx.loopback.get(&gvr, &child.key.namespace, &child.key.name).await;
            let Some(live) = found(got)?.filter(|l| l.uid() == &*dependent) else {
                continue;
            };
            let kept: Vec<&Value> = live
                .items("metadata.ownerReferences")
                .iter()
                .filter(|o| o.text("uid") != &**uid)
                .collect();
            self.replace_owners(&child, &live, &kept).await?;
        }
        self.drop_finalizer(node, uid, ORPHAN).await
    }

    fn graph_dependents(&self, uid: &Uid) -> Vec<(Uid, Node)> {
        self.graph().dependents(uid)
    }

    async fn drop_finalizer(&self, node: &Node, uid: &Uid, finalizer: &str) -> Result<(), ApiError> {
        let (key, gvr) = (&node.key, node.resource.gvr());
        let Some(live) = found(self.cx.loopback.get(&gvr, &key.namespace, &key.name).await)? else {
            return Ok(());
        };
        if live.uid() != &**uid || !live.has_finalizer(finalizer) {
            return Ok(());
        }
        let kept: Vec<&Value> = live
            .items("metadata.finalizers")
            .iter()
            .filter(|f| f.as_str() != Some(finalizer))
            .collect();
        let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
        let patch = json!({ "metadata": {
            "uid": live.uid(),
            "resourceVersion": live.text("metadata.resourceVersion"),
            "finalizers": kept,
        }});
        found(
            self.cx
                .loopback
                .merge_patch(&gvr, None, &key.namespace, &key.name, patch)
                .await,
        )
        .map(drop)
    }
}

impl Controller for GarbageCollector {
    type Key = Uid;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, _: &Stored) -> bool {
        DEFINITIONS.is(resource)
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Uid>) {
        if seen.is(&EVENTS) {
            return;
        }
        let mut graph = self.graph();
        for uid in graph.observe(seen) {
            if graph
                .node(&uid)
                .is_some_and(|n| matches!(n.deletion, Deletion::Foreground | Deletion::Orphan))
            {
                queue.add_after(uid, PATIENCE);
            } else {
                queue.add(uid);
            }
        }
        drop(graph);
        if seen.deleted {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            if !reported.is_empty() {
                reported.retain(|(dependent, _)| &**dependent != seen.object.uid());
            }
        }
        if seen.is(&DEFINITIONS) {
            let mut unresolved = self.unresolved.lock().unwrap_or_else(PoisonError::into_inner);
            for uid in std::mem::take(&mut *unresolved) {
                queue.add(uid);
            }
        }
    }

    async fn reconcile(&self, uid: &Uid) -> Result<Next, ApiError> {
        let Some(node) = self.graph().node(uid) else {
            return Ok(Next::Wait);
        };
        match node.deletion {
            Deletion::Orphan => self.orphan(&node, uid).await?,
            Deletion::Foreground => self.release_or_wait(&node, uid).await?,
            Deletion::None => self.collect(node, uid).await?,
            Deletion::Other => {}
        }
        Ok(Next::Wait)
    }
}

/// The object, or none if there is no such object.
fn found(result: Result<Value, ApiError>) -> Result<Option<Value>, ApiError> {
    match result {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
