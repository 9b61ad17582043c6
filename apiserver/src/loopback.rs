//! The way in for the server's own controllers: the code path of an HTTP request, below authentication and
//! authorization.

use std::fmt;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::error::ApiError;
use crate::registry;
use crate::resource::{Gvr, Resource};
use crate::server::Core;
use crate::simulate::kubelet::Scripts;
use crate::storage::{Change, Interest, Overflow};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// One change, as the server's own controllers see it: in the version that objects are stored in.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// The revision of the change.
    pub revision: u64,
    /// The object after the change; of a deletion, its last content.
    pub object: Arc<Value>,
    /// The object before the change; of a deletion, the same as `object`.
    pub old: Option<Arc<Value>>,
}

impl WatchEvent {
    pub(crate) fn of(change: &Change) -> Option<Self> {
        let old = change.old_value();
        let (kind, object) = match (&old, change.new_value()) {
            (None, Some(new)) => (EventKind::Added, new),
            (Some(_), Some(new)) => (EventKind::Modified, new),
            (Some(old), None) => (EventKind::Deleted, Arc::clone(old)),
            (None, None) => return None,
        };
        Some(Self {
            kind,
            revision: change.revision,
            object,
            old,
        })
    }
}

/// Reads and writes objects as one of the server's own controllers. Clones are cheap.
#[derive(Clone)]
pub struct Loopback {
    core: Arc<Core>,
    manager: &'static str,
}

impl Loopback {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            manager: "kube-controller-manager",
        }
    }

    /// The same way in, as the controller of that name: user `system:<name>`, field manager `<name>`.
    #[must_use]
    pub fn as_manager(&self, name: &'static str) -> Self {
        Self {
            core: Arc::clone(&self.core),
            manager: name,
        }
    }

    /// What workloads are told from outside.
    #[must_use]
    pub fn scripts(&self) -> &Scripts {
        &self.core.scripts
    }

    /// One object; `namespace` is empty for cluster-scoped kinds.
    ///
    /// # Errors
    /// As over HTTP: 404 if there is no such object.
    pub async fn get(&self, resource: &Gvr, namespace: &str, name: &str) -> Result<Value, ApiError> {
        registry::loopback::get(&self.core, resource, namespace, name).await
    }

    /// Objects of a resource (all namespaces if `namespace` is empty) and the revision of the list; `query` is a URL
    /// query such as `labelSelector=a%3Db`.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn list(&self, resource: &Gvr, namespace: &str, query: &str) -> Result<(Vec<Value>, u64), ApiError> {
        registry::loopback::list(&self.core, resource, namespace, query).await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn create(&self, resource: &Gvr, namespace: &str, object: Value) -> Result<Value, ApiError> {
        registry::loopback::create(&self.core, self.manager, resource, namespace, object).await
    }

    /// Creates by a subresource: a Pod's `binding` or `eviction`.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn create_sub(
        &self,
        resource: &Gvr,
        namespace: &str,
        name: &str,
        subresource: &str,
        object: Value,
    ) -> Result<Value, ApiError> {
        let of = (namespace, name, subresource);
        registry::loopback::create_sub(&self.core, self.manager, resource, of, object).await
    }

    /// Replaces an object, or one of its subresources.
    ///
    /// # Errors
    /// As over HTTP: 409 if the object's resourceVersion is no longer current.
    pub async fn update(&self, resource: &Gvr, subresource: Option<&str>, object: Value) -> Result<Value, ApiError> {
        registry::loopback::update(&self.core, self.manager, resource, subresource, object).await
    }

    /// Applies a JSON merge patch.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn merge_patch(
        &self,
        resource: &Gvr,
        subresource: Option<&str>,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Value, ApiError> {
        let kind = registry::PatchKind::Merge;
        registry::loopback::patch(
            &self.core,
            self.manager,
            resource,
            subresource,
            (namespace, name),
            kind,
            patch,
        )
        .await
    }

    /// Applies a JSON patch.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn json_patch(
        &self,
        resource: &Gvr,
        subresource: Option<&str>,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Value, ApiError> {
        let kind = registry::PatchKind::Json;
        registry::loopback::patch(
            &self.core,
            self.manager,
            resource,
            subresource,
            (namespace, name),
            kind,
            patch,
        )
        .await
    }

    /// Deletes an object; `options` is a DeleteOptions or null.
    ///
    /// # Errors
    /// As over HTTP.
    pub async fn delete(&self, resource: &Gvr, namespace: &str, name: &str, options: Value) -> Result<Value, ApiError> {
        registry::loopback::delete(&self.core, self.manager, resource, namespace, name, options).await
    }

    /// Every change of a resource after the revision `from`, in order. Never lags: its reader is trusted to read.
    ///
    /// From a revision that the history no longer reaches, it starts with the present state as `Added` events.
    pub fn watch(&self, resource: &Gvr, from: u64) -> impl Stream<Item = WatchEvent> + Send + use<> {
        let name: Arc<str> = registry::loopback::storage_name(&self.core, resource).into();
        let interest = Interest::Resource(Arc::clone(&name));
        match self.core.store.subscribe(interest.clone(), from, Overflow::Grow) {
            Ok(changes) => futures::stream::iter(Vec::new())
                .chain(changes.filter_map(event))
                .left_stream(),
            Err(_) => {
                let (view, changes) = self
                    .core
                    .store
                    .view_and_subscribe(&name, None, interest, Overflow::Grow);
                let present = view.objects.into_iter().map(|object| WatchEvent {
                    kind: EventKind::Added,
                    revision: object.revision,
                    object: object.shared(),
                    old: None,
                });
                let present: Vec<_> = present.collect();
                futures::stream::iter(present)
                    .chain(changes.filter_map(event))
                    .right_stream()
            }
        }
    }

    /// Every change of every served resource after the revision `from`, in order, with the resource in its storage
    /// version.
    ///
    /// From 0, and from a revision that the history no longer reaches, it starts with the present state as `Added`
    /// events.
    pub fn changes(&self, from: u64) -> impl Stream<Item = (Arc<Resource>, WatchEvent)> + Send + use<> {
        let store = &self.core.store;
        let (world, changes) = match store.subscribe(Interest::Everything, from, Overflow::Grow) {
            Ok(changes) if from > 0 => (Vec::new(), changes),
            _ => store.world_and_subscribe(),
        };
        let core = Arc::clone(&self.core);
        futures::stream::iter(world).chain(changes).filter_map(move |change| {
            let resource = change
                .object()
                .and_then(|object| core.catalog().stored(&object.key.resource));
            futures::future::ready(resource.zip(WatchEvent::of(&change)))
        })
    }

    /// Everything there is, as if created, and then every change: the raw form of [`changes`](Self::changes).
    pub(crate) fn follow(&self) -> impl Stream<Item = Arc<Change>> + Send + use<> {
        let (world, changes) = self.core.store.world_and_subscribe();
        futures::stream::iter(world).chain(changes)
    }

    /// The revision of the last write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.core.store.revision()
    }

    /// The uid of an object, without reading its body; none if there is no such object.
    #[must_use]
    pub fn uid_of(&self, resource: &Gvr, namespace: &str, name: &str) -> Option<Box<str>> {
        let table = registry::loopback::storage_name(&self.core, resource);
        self.core
            .store
            .find(&table, namespace, name)
            .map(|stored| stored.uid.clone())
    }

    /// What is served now.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.core.catalog()
    }

    /// The server's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the stream hands it over")]
fn event(change: Arc<Change>) -> futures::future::Ready<Option<WatchEvent>> {
    futures::future::ready(WatchEvent::of(&change))
}
