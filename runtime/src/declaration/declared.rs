use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::declaration::{Backoff, OwnEvents, RateLimit, WatchDecl};
use crate::kind::Kind;
use crate::predicate::Predicate;
use crate::rbac::PolicyRule;

/// What a controller declared, without its type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Declared {
    /// Unique per manager. Default: the struct's name in kebab case without a trailing `Controller` or `Reconciler`.
    pub name: String,
    /// The kind whose objects are the queue's keys.
    pub primary: Kind,
    /// Whether the primary kind has a status.
    pub primary_has_status: bool,
    /// What is watched; the primary comes first.
    pub watches: Vec<WatchDecl>,
    /// Kinds written without being watched.
    pub writes: Vec<Kind>,
    /// Kinds replaced by `cx.update`.
    pub updates: Vec<Kind>,
    /// Kinds read live, without a watch.
    pub live: Vec<Kind>,
    /// Rules asked for by `rbac(…)`, beyond what follows from the other keys.
    pub rules: Vec<PolicyRule>,
    /// Concurrent reconciles. Default: 1.
    pub workers: usize,
    /// Delays after failures. Default: 5 ms to 1000 s.
    pub backoff: Backoff,
    /// Limit over all keys. Default: none.
    pub rate_limit: Option<RateLimit>,
    /// How often every object is reconciled again from the cache. Default: never.
    pub resync: Option<Duration>,
    /// Limit of one reconcile. Default: none.
    pub timeout: Option<Duration>,
    /// The finalizer that guards outside effects.
    pub finalizer: Option<String>,
    /// Finalizers of earlier releases, removed where found.
    pub retired_finalizers: Vec<String>,
    /// Field manager of the controller's applies. Default: `<operator>/<controller name>`.
    pub field_manager: Option<String>,
    /// What echoes of its own writes do. Default: they wake the key once more.
    pub own_events: OwnEvents,
    /// Earlier names of that, and other managers, whose fields it takes over.
    pub previous_managers: Vec<String>,
    /// Whether it runs on the leader only. Default: true.
    pub needs_leader: bool,
    /// Whether its caches are filled before the replica leads. Default: false.
    pub warmup: bool,
    /// The definition of the primary kind, where it is a custom one.
    pub crd: Option<fn() -> CustomResourceDefinition>,
    /// Why the controller may use a client that its grants do not restrict; `None` where it may not.
    pub ungranted_client: Option<String>,
    /// Filter over all watches, each watch's own predicate apart.
    pub event_filter: Option<Predicate>,
}

impl Declared {
    /// The declaration of the primary's watch, once `for_` was called.
    #[must_use]
    pub fn primary_watch(&self) -> Option<&WatchDecl> {
        self.watches.first()
    }

    /// Kinds declared by `owns`, each once, in order of declaration.
    pub fn owned(&self) -> impl Iterator<Item = &WatchDecl> {
        self.watches.iter().filter(|w| w.role.is_owned())
    }

    /// Kinds declared by `owns` or by `tracks`.
    pub fn children(&self) -> impl Iterator<Item = &WatchDecl> {
        let is_child = |w: &&WatchDecl| w.role.is_owned() || w.role.is_tracked();
        self.watches.iter().filter(is_child)
    }

    /// Whether the controller may apply, create, patch and delete `kind`.
    #[must_use]
    pub fn may_write(&self, kind: &Kind) -> bool {
        self.writes.contains(kind) || self.may_own(kind)
    }

    /// Whether the controller owns or tracks `kind`.
    #[must_use]
    pub fn may_own(&self, kind: &Kind) -> bool {
        self.children().any(|w| w.kind == *kind)
    }

    /// Whether the controller tracks `kind`: its children carry a label and no reference.
    #[must_use]
    pub fn may_track(&self, kind: &Kind) -> bool {
        self.watches.iter().any(|w| w.role.is_tracked() && w.kind == *kind)
    }

    /// Whether the controller may replace `kind`.
    #[must_use]
    pub fn may_update(&self, kind: &Kind) -> bool {
        self.updates.contains(kind)
    }

    /// Whether the controller may read `kind`, from the cache or live.
    #[must_use]
    pub fn may_read(&self, kind: &Kind) -> bool {
        self.live.contains(kind) || self.watches.iter().any(|w| w.kind == *kind)
    }
}
