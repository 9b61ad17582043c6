//! The controllers that every cluster has: garbage collection, namespaces, service accounts, endpoints, quotas.
//!
//! All of them, and the simulated workloads of [`crate::simulate`], share one shape. One task reads every change of the
//! store in order, keeps the [`cache`] and tells each controller which of its keys a change concerns; each controller
//! works its [`queue`] one key at a time and, before it takes the next, waits until the cache has seen what it wrote.
//! Nothing polls: a server whose objects are at rest does nothing.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::error::ApiError;
use crate::loopback::Loopback;
use crate::resource::Resource;
use crate::simulate::{self, Simulate};
use crate::storage::{Change, Stored};
use cache::Cache;
use events::Recorder;
use kinds::Kind;
use object::Object;
use queue::Queue;

pub mod cache;
pub mod definitions;
pub mod endpoints;
pub mod events;
pub mod gc;
pub mod kinds;
pub mod namespace;
pub mod object;
pub mod queue;
pub mod quota;
pub mod root_ca;
pub mod selector;
pub mod service_accounts;
pub mod token_secrets;

/// Makes the bearer token of a service account's Secret, from the account and the Secret.
pub type MakeToken = Arc<dyn Fn(&Value, &Value) -> String + Send + Sync>;

/// Which controllers run, and what they need from the server.
#[derive(Clone)]
pub struct Settings {
    /// Make the `default` ServiceAccount and `kube-root-ca.crt` in every namespace and fill token Secrets.
    pub service_accounts: bool,
    /// Keep Endpoints and EndpointSlices of Services.
    pub endpoints: bool,
    /// Workload controllers, and what plays their nodes.
    pub simulate: Simulate,
    /// The certificate authority that clients trust, as PEM, for `kube-root-ca.crt` and token Secrets.
    pub cluster_ca: Option<String>,
    /// Makes the token of a service account's Secret; without it token Secrets stay empty.
    pub make_token: Option<MakeToken>,
}

/// One change, as controllers see it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What changed, in its storage version.
    pub resource: &'a Arc<Resource>,
    /// The object after the change; of a deletion, its last content.
    pub object: &'a Arc<Value>,
    /// The object before the change, where its kind is kept in the cache or it is gone.
    pub old: Option<&'a Arc<Value>>,
    /// Whether the object is gone.
    pub deleted: bool,
}

impl Seen<'_> {
    /// Whether the change is of an object of this kind.
    #[must_use]
    pub fn is(&self, kind: &Kind) -> bool {
        kind.is(self.resource)
    }
}

/// What a reconcile asks for besides being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until something changes.
    Wait,
    /// Another look after this long.
    After(Duration),
}

/// What all controllers share.
#[derive(Clone)]
pub struct Cx {
    /// Reads and writes as this controller.
    pub loopback: Loopback,
    /// The shared view.
    pub cache: Arc<Cache>,
    /// Events in this controller's name.
    pub events: Recorder,
}

impl Cx {
    /// The same for a controller of that name.
    #[must_use]
    pub fn named(&self, component: &'static str) -> Self {
        Self {
            loopback: self.loopback.clone(),
            cache: Arc::clone(&self.cache),
            events: self.events.named(component),
        }
    }
}

/// One controller: which keys a change concerns, and what to do about a key.
pub trait Controller: Send + Sync + 'static {
    /// What its queue holds.
    type Key: Ord + Clone + Send + std::fmt::Debug + 'static;

    /// The context it works in.
    fn cx(&self) -> &Cx;

    /// Adds the keys that want a look before anything changes. None by default.
    fn start(&self, _queue: &Queue<Self::Key>) {}

    /// Adds keys for causes that are no changes of objects. Runs beside the worker; ends never, and never does anything
    /// by default.
    fn listen(&self, _queue: &Queue<Self::Key>) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Whether it looks at writes of an object whose kind is not kept in the cache. Not by default.
    fn wants(&self, _resource: &Resource, _stored: &Stored) -> bool {
        false
    }

    /// Adds the keys that a change concerns. Called in order, after the cache has taken the change in, for every kind
    /// that is cached or wanted, every object that has owners or is being deleted, and every deletion.
    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Self::Key>);

    /// How long the key that was just worked on rests. A real controller takes some milliseconds for every request, in
    /// which others see and show the states in between; those that simulate one rest instead. Not at all by default.
    fn rest(&self) -> Duration {
        Duration::ZERO
    }

    /// Brings one key up to date.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Next, ApiError>> + Send;
}

/// Something that is told of changes.
trait Observer: Send + Sync {
    fn wants(&self, resource: &Resource, stored: &Stored) -> bool;
    fn observe(&self, seen: &Seen<'_>);
}

struct Worker<C: Controller> {
    controller: C,
    queue: Queue<C::Key>,
}

impl<C: Controller> Observer for Worker<C> {
    fn wants(&self, resource: &Resource, stored: &Stored) -> bool {
        self.controller.wants(resource, stored)
    }

    fn observe(&self, seen: &Seen<'_>) {
        self.controller.observe(seen, &self.queue);
    }
}

impl<C: Controller> Worker<C> {
    async fn run(self: Arc<Self>) {
        tokio::select! {
            biased;
            () = self.controller.listen(&self.queue) => {}
            () = self.work() => {}
        }
    }

    async fn work(&self) {
        loop {
            let key = self.queue.next().await;
            let result = self.controller.reconcile(&key).await;
            self.queue.rest(&key, self.controller.rest());
            match result {
                Ok(next) => {
                    self.queue.forget(&key);
                    if let Next::After(delay) = next {
                        self.queue.add_after(key, delay);
                    }
                }
                Err(error) => {
                    tracing::debug!(?key, code = error.code, "will try again: {}", error.message);
                    self.queue.add_failed(key);
                }
            }
            let cx = self.controller.cx();
            cx.cache.reached(cx.loopback.revision()).await;
        }
    }
}

/// The controllers of one server, before they run.
pub struct Controllers {
    cx: Cx,
    observers: Vec<Arc<dyn Observer>>,
    tasks: JoinSet<()>,
}

impl Controllers {
    /// Adds a controller; it runs once changes are read.
    pub fn add<C: Controller>(&mut self, controller: C) {
        let worker = Arc::new(Worker {
            controller,
            queue: Queue::default(),
        });
        worker.controller.start(&worker.queue);
        self.observers.push(Arc::clone(&worker) as Arc<dyn Observer>);
        self.tasks.spawn(worker.run());
    }

    /// The context to make controllers with.
    #[must_use]
    pub fn cx(&self, component: &'static str) -> Cx {
        self.cx.named(component)
    }
}

/// Runs the controllers. Never returns while the server lives; dropping it stops them all.
pub async fn run(loopback: Loopback, settings: Settings) {
    let (recorder, writer) = events::pair(&loopback);
    let cache = Arc::new(Cache::new(&cached(&settings)));
    let loopback = loopback.as_manager("kube-controller-manager");
    let cx = Cx {
        loopback: loopback.clone(),
        cache: Arc::clone(&cache),
        events: recorder,
    };
    let mut controllers = Controllers {
        cx,
        observers: Vec::new(),
        tasks: JoinSet::new(),
    };
    controllers.tasks.spawn(writer.run());
    controllers.add(gc::GarbageCollector::new(
        controllers.cx("garbage-collector-controller"),
    ));
    controllers.add(namespace::Namespaces::new(controllers.cx("namespace-controller")));
    controllers.add(definitions::Definitions::new(
        controllers.cx("customresource-finalizer"),
    ));
    if settings.service_accounts {
        controllers.add(service_accounts::ServiceAccounts::new(
            controllers.cx("serviceaccount-controller"),
        ));
        if let Some(ca) = settings.cluster_ca {
            let cx = controllers.cx("root-ca-certificate-publisher");
            controllers.add(root_ca::RootCa::new(cx, ca.clone()));
            if let Some(make_token) = settings.make_token {
                controllers.add(token_secrets::TokenSecrets::new(
                    controllers.cx("tokens-controller"),
                    ca,
                    make_token,
                ));
            }
        }
    }
    if settings.endpoints {
        controllers.add(endpoints::Endpoints::new(controllers.cx("endpoint-controller")));
        controllers.add(endpoints::Slices::new(controllers.cx("endpointslice-controller")));
        controllers.add(endpoints::Mirror::new(
            controllers.cx("endpointslicemirroring-controller"),
        ));
    }
    if settings.simulate != Simulate::Off {
        controllers.add(quota::Quotas::new(controllers.cx("resourcequota-controller")));
    }
    simulate::add(&mut controllers, settings.simulate);

    let mut served = Served::default();
    let mut changes = pin!(loopback.follow());
    while let Some(change) = changes.next().await {
        if let Some(resource) = served.resource(&loopback, &change) {
            show(&change, &resource, &cache, &controllers.observers);
        }
        cache.advance(change.revision);
    }
}

/// Hands a change to the cache and the controllers, unless it can concern none of them: then it is not even parsed.
fn show(change: &Change, resource: &Arc<Resource>, cache: &Cache, observers: &[Arc<dyn Observer>]) {
    let kept = cache.keeps(resource);
    let linked = [&change.old, &change.new]
        .into_iter()
        .flatten()
        .any(|stored| stored.linked);
    let deleted = change.new.is_none();
    let wanted = || {
        change
            .object()
            .is_some_and(|stored| observers.iter().any(|o| o.wants(resource, stored)))
    };
    if !kept && !linked && !deleted && !wanted() {
        return;
    }
    let Some(object) = change.new_value().or_else(|| change.old_value()) else {
        return;
    };
    let old = match (&change.old, deleted) {
        (None, _) => None,
        (Some(_), true) => Some(Arc::clone(&object)),
        (Some(_), false) => cache.find(resource, object.namespace(), object.name()),
    };
    let seen = Seen {
        resource,
        object: &object,
        old: old.as_ref(),
        deleted,
    };
    cache.apply(&seen);
    for observer in observers {
        observer.observe(&seen);
    }
}

/// The resources by the names that objects are stored under.
#[derive(Default)]
struct Served {
    generation: Option<u64>,
    by_name: BTreeMap<Arc<str>, Arc<Resource>>,
}

impl Served {
    /// The resource of a change in its storage version. One that is no longer served is still known.
    fn resource(&mut self, loopback: &Loopback, change: &Change) -> Option<Arc<Resource>> {
        let catalog = loopback.catalog();
        if self.generation != Some(catalog.generation()) {
            self.generation = Some(catalog.generation());
            for resource in catalog.iter() {
                let slot = self.by_name.entry(Arc::clone(&resource.stored_under));
                let slot = slot.or_insert_with(|| Arc::clone(resource));
                if resource.version == resource.storage_version {
                    *slot = Arc::clone(resource);
                }
            }
        }
        self.by_name.get(&change.object()?.key.resource).cloned()
    }
}

/// The kinds whose objects are kept in memory a second time: none unless a controller needs them.
fn cached(settings: &Settings) -> Vec<&'static Kind> {
    let mut kinds: Vec<&'static Kind> = Vec::new();
    if settings.endpoints {
        kinds.extend([
            &kinds::PODS,
            &kinds::SERVICES,
            &kinds::ENDPOINTS,
            &kinds::ENDPOINT_SLICES,
        ]);
    }
    kinds.extend(simulate::cached(settings.simulate));
    kinds
}
