use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kube::core::{DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;

use super::name;
use crate::context::Context;
use crate::controller::{AnyController, Controller};
use crate::declaration::{
    Backoff, Children, Declared, Index, InvalidDeclaration, MapFn, Mapper, Others, OwnEvents, RateLimit, Role,
    TRACKED_BY, Watch, WatchDecl,
};
use crate::error::Result;
use crate::grants::{Declare, Owns, Reads, ReadsMetadata, Ungranted, Updates, Writes};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::object::Object;
use crate::predicate::Predicate;
use crate::rbac::PolicyRule;
use crate::reconciler::{Action, Cleanup, Reconciler};
use crate::scope::OwnableBy;
use crate::sources::SourceFn;

/// A controller's clean-up without its trait, so that those without one need none.
pub type CleanupFn<C> =
    for<'a> fn(&'a C, Arc<<C as Declare>::Primary>, &'a Context<C>) -> BoxFuture<'a, Result<Action>>;

/// Builds what a controller declares. Each method is a key of `#[controller(…)]`.
pub struct Declaration<C: Declare> {
    declared: Declared,
    erase: Option<EraseFn<C>>,
    cleanup: Option<CleanupFn<C>>,
    sources: Vec<StartFn<C>>,
}

/// Starts a source of the author's own.
pub(crate) type StartFn<C> = Arc<dyn Fn(&C) -> BoxStream<'static, ObjectKey> + Send + Sync>;

/// Makes a controller whose type the manager need not know. `for_` knows the bounds, so nothing else has to ask for
/// them: one mistake in the primary kind is one error.
type EraseFn<C> = fn(C, Declaration<C>) -> Box<dyn AnyController>;

impl<C: Declare> Declaration<C> {
    /// What `C` declares. Needs no instance: manifests are made from it.
    #[must_use]
    pub fn of() -> Self {
        C::declare(Self::new())
    }

    /// An empty declaration. `Declare::declare` fills it.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "an empty declaration is no sensible default: `for_` is required"
    )]
    pub fn new() -> Self {
        Self {
            declared: Declared {
                name: name::of_type(std::any::type_name::<C>()),
                primary: Kind::new("", "", "", "", true),
                primary_has_status: false,
                watches: Vec::new(),
                writes: Vec::new(),
                updates: Vec::new(),
                live: Vec::new(),
                rules: Vec::new(),
                workers: 1,
                backoff: Backoff::default(),
                rate_limit: None,
                resync: None,
                timeout: None,
                finalizer: None,
                retired_finalizers: Vec::new(),
                field_manager: None,
                own_events: OwnEvents::Wake,
                previous_managers: Vec::new(),
                needs_leader: true,
                warmup: false,
                crd: None,
                ungranted_client: None,
                event_filter: None,
            },
            erase: None,
            cleanup: None,
            sources: Vec::new(),
        }
    }

    /// What was declared so far.
    #[must_use]
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// The controller's clean-up, where a finalizer is declared.
    #[must_use]
    pub fn cleanup(&self) -> Option<CleanupFn<C>> {
        self.cleanup
    }

    /// The controller's own sources.
    pub(crate) fn sources(&self) -> Vec<StartFn<C>> {
        self.sources.clone()
    }

    /// The controller without its type; what is wrong with the declaration if it has no primary kind.
    pub(crate) fn erase(self, reconciler: C) -> Result<Box<dyn AnyController>, InvalidDeclaration> {
        match self.erase {
            Some(erase) => Ok(erase(reconciler, self)),
            None => Err(self.declared.check().err().unwrap_or_else(|| InvalidDeclaration {
                controller: self.declared.name,
                problems: vec!["no primary kind: call `for_::<K>()`".to_owned()],
            })),
        }
    }

    /// The primary kind: one queue key per object of it. Call it first.
    #[must_use]
    pub fn for_<K>(mut self) -> Self
    where
        K: Object,
        C: Reconciler<Primary = K> + 'static,
    {
        let kind = Kind::of::<K>();
        self.erase = Some(|reconciler, declaration| Box::new(Controller::new(reconciler, declaration)));
        self.declared.primary_has_status = crate::status_of::has_status::<K>();
        self.declared.primary = kind.clone();
        self.declared.watches.push(WatchDecl::new(kind, Role::Primary));
        self
    }

    /// Says that the primary is a custom kind, whose definition goes into the manifests. The attribute adds the call
    /// where the primary derives `CustomResource`.
    #[must_use]
    pub fn crd<K>(mut self) -> Self
    where
        K: kube::CustomResourceExt,
        C: Declare<Primary = K>,
    {
        self.declared.crd = Some(K::crd);
        self
    }

    /// Watches `K`, maps it to its controller owner, and may write it.
    #[must_use]
    pub fn owns<K>(self) -> Self
    where
        K: OwnableBy<C::Primary>,
        C: Owns<K>,
    {
        self.owns_with::<K>(|w| w)
    }

    /// As [`owns`](Self::owns), with options.
    #[must_use]
    pub fn owns_with<K>(mut self, options: impl FnOnce(Watch<K, Children>) -> Watch<K, Children>) -> Self
    where
        K: OwnableBy<C::Primary>,
        C: Owns<K>,
    {
        self.declared
            .watches
            .push(options(Watch::new(Kind::of::<K>(), Role::Owned)).decl);
        self
    }

    /// As [`owns`](Self::owns), for children in other namespaces or of another scope than the primary's, which no owner
    /// reference can name. They carry a label with the primary's uid, [`TRACKED_BY`](super::TRACKED_BY), and nothing
    /// removes them by itself: `cleanup` does, by [`Context::children_gone`].
    #[must_use]
    pub fn tracks<K>(self) -> Self
    where
        K: Object,
        C: Owns<K> + Cleanup,
    {
        self.tracks_with::<K>(|w| w)
    }

    /// As [`tracks`](Self::tracks), with options.
    #[must_use]
    pub fn tracks_with<K>(mut self, options: impl FnOnce(Watch<K, Children>) -> Watch<K, Children>) -> Self
    where
        K: Object,
        C: Owns<K> + Cleanup,
    {
        self.push_tracked(options(Watch::new(Kind::of::<K>(), Role::Tracked)));
        self
    }

    /// As [`tracks`](Self::tracks), for a kind that is known at run time only; written through [`Context::dynamic`].
    #[must_use]
    pub fn tracks_dynamic(
        mut self,
        kind: Kind,
        options: impl FnOnce(Watch<DynamicObject, Children>) -> Watch<DynamicObject, Children>,
    ) -> Self
    where
        C: Cleanup,
    {
        self.push_tracked(options(Watch::new(kind, Role::Tracked)));
        self
    }

    /// Watches `K`; a change wakes the keys that `map` answers for the old and the new object.
    #[must_use]
    pub fn watches<K, M>(self, map: impl MapFn<K, M>) -> Self
    where
        K: Object,
        C: Reads<K>,
    {
        self.watches_with::<K, M>(map, |w| w)
    }

    /// As [`watches`](Self::watches), with options.
    #[must_use]
    pub fn watches_with<K, M>(
        mut self,
        map: impl MapFn<K, M>,
        options: impl FnOnce(Watch<K, Others>) -> Watch<K, Others>,
    ) -> Self
    where
        K: Object,
        C: Reads<K>,
    {
        let role = Role::Watched(self.mapper(map));
        self.declared
            .watches
            .push(options(Watch::new(Kind::of::<K>(), role)).decl);
        self
    }

    /// As [`watches_with`](Self::watches_with), but fetches and keeps the metadata only (`PartialObjectMetadata`): the
    /// key `metadata_only`. The cache then answers for `PartialObjectMeta<K>`; bodies are read live.
    #[must_use]
    pub fn watches_metadata<K, M>(
        mut self,
        map: impl MapFn<PartialObjectMeta<K>, M>,
        options: impl FnOnce(Watch<K, Others>) -> Watch<K, Others>,
    ) -> Self
    where
        K: Object,
        C: ReadsMetadata<K>,
    {
        let role = Role::Watched(self.mapper(map));
        let mut decl = options(Watch::new(Kind::of::<K>(), role)).decl;
        decl.metadata_only = true;
        self.declared.watches.push(decl);
        self
    }

    /// Watches a kind that is known at run time only, from configuration or discovery; a change wakes the keys that
    /// `map` answers. It is read through [`Context::dynamic`].
    #[must_use]
    pub fn watches_dynamic<M>(
        mut self,
        kind: Kind,
        map: impl MapFn<DynamicObject, M>,
        options: impl FnOnce(Watch<DynamicObject, Others>) -> Watch<DynamicObject, Others>,
    ) -> Self {
        let role = Role::Watched(self.mapper(map));
        self.declared.watches.push(options(Watch::new(kind, role)).decl);
        self
    }

    /// Watches a kind that is known at run time only, maps it to its controller owner, and may write it through
    /// [`Context::dynamic`]. [`check`](Self::check) refuses a cluster-scoped kind under a namespaced primary.
    #[must_use]
    pub fn owns_dynamic(
        mut self,
        kind: Kind,
        options: impl FnOnce(Watch<DynamicObject, Children>) -> Watch<DynamicObject, Children>,
    ) -> Self {
        self.declared.watches.push(options(Watch::new(kind, Role::Owned)).decl);
        self
    }

    /// Reads `K` live, without a watch.
    #[must_use]
    pub fn live<K>(mut self) -> Self
    where
        K: Object,
        C: Reads<K>,
    {
        self.declared.live.push(Kind::of::<K>());
        self
    }

    /// May apply, create, patch and delete `K` without watching it. Grants no reads.
    #[must_use]
    pub fn writes<K>(mut self) -> Self
    where
        K: Object,
        C: Writes<K>,
    {
        self.declared.writes.push(Kind::of::<K>());
        self
    }

    /// May replace `K` with `cx.update`.
    #[must_use]
    pub fn updates<K>(mut self) -> Self
    where
        K: Object,
        C: Updates<K>,
    {
        self.declared.updates.push(Kind::of::<K>());
        self
    }

    /// As [`live`](Self::live), for a kind that is known at run time only; read through [`Context::dynamic`].
    #[must_use]
    pub fn live_dynamic(mut self, kind: Kind) -> Self {
        self.declared.live.push(kind);
        self
    }

    /// As [`writes`](Self::writes), for a kind that is known at run time only; written through [`Context::dynamic`].
    #[must_use]
    pub fn writes_dynamic(mut self, kind: Kind) -> Self {
        self.declared.writes.push(kind);
        self
    }

    /// As [`updates`](Self::updates), for a kind that is known at run time only; written through [`Context::dynamic`].
    #[must_use]
    pub fn updates_dynamic(mut self, kind: Kind) -> Self {
        self.declared.updates.push(kind);
        self
    }

    /// Watches only primary objects that match a label selector, written as kubectl takes it: `app=web,tier!=cache`.
    /// Others are not reconciled. Call it after [`for_`](Self::for_).
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        if let Some(primary) = self.primary_watch_mut() {
            primary.labels = Some(selector.into());
        }
        self
    }

    /// Watches only primary objects that match a field selector: `metadata.name=web`. Call it after
    /// [`for_`](Self::for_).
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        if let Some(primary) = self.primary_watch_mut() {
            primary.fields = Some(selector.into());
        }
        self
    }

    /// Never keeps what lies at these paths of primary objects, as [`Watch::strip`]. Call it after [`for_`](Self::for_).
    #[must_use]
    pub fn strip<S: AsRef<str>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        if let Some(primary) = self.primary_watch_mut() {
            primary.add_strip(paths);
        }
        self
    }

    /// Finds primary objects by what `function` answers for them, as [`Watch::index`]. Call it after
    /// [`for_`](Self::for_).
    #[must_use]
    pub fn index<I>(
        mut self,
        name: impl Into<Arc<str>>,
        function: impl Fn(&C::Primary) -> I + Send + Sync + 'static,
    ) -> Self
    where
        C::Primary: DeserializeOwned + Send + Sync,
        I: IntoIterator<Item: Into<String>>,
    {
        if let Some(primary) = self.primary_watch_mut() {
            primary.indexes.push(Index::new(name, function));
        }
        self
    }

    /// Reconciles the keys that a stream yields, so that something outside the cluster can wake them: a channel, a timer,
    /// a subscription. `source` is called once, when the controller starts. May be called again. See
    /// [`sources`](crate::sources).
    #[must_use]
    pub fn source<M>(mut self, source: impl SourceFn<C, M>) -> Self {
        self.sources.push(Arc::new(move |controller| source.keys(controller)));
        self
    }

    /// Adds a rule to the operator's role, for what its code does beyond the framework.
    #[must_use]
    pub fn rbac(mut self, rule: PolicyRule) -> Self {
        self.declared.rules.push(rule);
        self
    }

    /// Opens [`Context::ungranted_client`], for code that the grants cannot cover. `reason` is printed in the manifests,
    /// for who reviews the operator's rights; those that the client uses are declared by [`rbac`](Self::rbac).
    #[must_use]
    pub fn ungranted_client(mut self, reason: impl Into<String>) -> Self
    where
        C: Ungranted,
    {
        self.declared.ungranted_client = Some(reason.into());
        self
    }

    /// Name of the controller, unique per manager. Default: the struct's name in kebab case without a trailing
    /// `Controller` or `Reconciler`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.declared.name = name.into();
        self
    }

    /// Concurrent reconciles; never two of one key. Default: 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.declared.workers = workers;
        self
    }

    /// Delays after failures of one key. Default: 5 ms, doubled up to 1000 s.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.declared.backoff = backoff;
        self
    }

    /// Limits how many reconciles start, over all keys. Default: no limit.
    #[must_use]
    pub fn rate_limit(mut self, per_second: u32, burst: u32) -> Self {
        self.declared.rate_limit = Some(RateLimit { per_second, burst });
        self
    }

    /// Reconciles every object again from the cache, this often. Default: never.
    #[must_use]
    pub fn resync(mut self, every: Duration) -> Self {
        self.declared.resync = Some(every);
        self
    }

    /// Drops a reconcile that takes longer; it counts as failed. Default: no limit.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.declared.timeout = Some(limit);
        self
    }

    /// Guards outside effects: the finalizer is set before the first reconcile and removed after a successful clean-up.
    #[must_use]
    pub fn finalizer(mut self, name: impl Into<String>) -> Self
    where
        C: Cleanup,
    {
        self.declared.finalizer = Some(name.into());
        self.cleanup = Some(|controller, object, cx| Box::pin(controller.cleanup(object, cx)));
        self
    }

    /// A finalizer of an earlier release, removed where found. May be called again.
    #[must_use]
    pub fn retired_finalizer(mut self, name: impl Into<String>) -> Self {
        self.declared.retired_finalizers.push(name.into());
        self
    }

    /// Field manager of the controller's applies. Default: `<operator>/<controller name>`.
    #[must_use]
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.declared.field_manager = Some(name.into());
        self
    }

    /// An earlier field manager, whose fields the controller takes over before it applies an object: that of an earlier
    /// release, `kubectl-client-side-apply`, or that of an operator which wrote by PUT. So what it set and this
    /// controller does not set goes away. May be called again.
    ///
    /// Costs nothing for objects in the cache that have no fields of such managers. Kinds that are written without being
    /// watched are read once more before each apply.
    #[must_use]
    pub fn previous_manager(mut self, name: impl Into<String>) -> Self {
        self.declared.previous_managers.push(name.into());
        self
    }

    /// Whether the controller runs on the leader only. Default: true.
    #[must_use]
    pub fn needs_leader(mut self, needs: bool) -> Self {
        self.declared.needs_leader = needs;
        self
    }

    /// What echoes of the controller's own writes do. Default: [`OwnEvents::Wake`].
    #[must_use]
    pub fn own_events(mut self, own_events: OwnEvents) -> Self {
        self.declared.own_events = own_events;
        self
    }

    /// Fills the controller's caches on replicas that do not lead, so that one that takes over need not list first: it
    /// asks for names and versions, waits until its caches have what the answer has, and reconciles. Costs each standby
    /// the memory and the watches of a leader. Default: caches begin when the replica leads.
    #[must_use]
    pub fn warmup(mut self) -> Self {
        self.declared.warmup = true;
        self
    }

    /// Filters the changes of all watches. A second call narrows further.
    ///
    /// Deletions, recreations and the start of a deletion always pass.
    #[must_use]
    pub fn event_filter(mut self, filter: Predicate) -> Self {
        self.declared.event_filter = Some(match self.declared.event_filter.take() {
            Some(first) => first & filter,
            None => filter,
        });
        self
    }

    /// Only what carries the label is watched.
    fn push_tracked<K>(&mut self, watch: Watch<K, Children>) {
        let mut decl = watch.decl;
        decl.labels = Some(match decl.labels.take() {
            Some(labels) => format!("{TRACKED_BY},{labels}"),
            None => TRACKED_BY.to_owned(),
        });
        self.declared.watches.push(decl);
    }

    fn mapper<K, M>(&self, map: impl MapFn<K, M>) -> Mapper {
        Mapper::new(map, self.declared.primary.namespaced())
    }

    fn primary_watch_mut(&mut self) -> Option<&mut WatchDecl> {
        self.declared
            .watches
            .iter_mut()
            .find(|w| matches!(w.role, Role::Primary))
    }
}

impl<C: Declare> fmt::Debug for Declaration<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declaration").field(&self.declared).finish()
    }
}
