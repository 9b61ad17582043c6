//! The keys of `#[controller(…)]` as fields, which is where an editor finds their names and documentation.

/// A value of any kind: only names and documentation matter here.
pub(crate) type Anything = ();

/// Keys of `#[controller(…)]`.
#[derive(Debug, Default)]
pub struct ControllerKeys {
    /// `for = App`: the primary kind. Required.
    pub r#for: Anything,
    /// `owns = Deployment`, `owns = [Deployment, Service]`, `owns(Secret, metadata_only)`: watched, mapped to its
    /// controller owner, and writable.
    pub owns: Anything,
    /// `tracks = ConfigMap`: as `owns`, for children in other namespaces or of another scope, told by a label.
    pub tracks: Anything,
    /// `watches(Secret, map = users_of)`: watched; the function answers the keys that a change wakes.
    pub watches: Anything,
    /// `live = Node`: read live, not watched.
    pub live: Anything,
    /// `writes = Secret`: written without being watched.
    pub writes: Anything,
    /// `updates = Deployment`: replaced by `cx.update`.
    pub updates: Anything,
    /// `rbac(group = "apps", resources = ["deployments"], verbs = ["get"])`: a rule for code of your own.
    pub rbac: Anything,
    /// `ungranted_client = "reason"`: opens `cx.ungranted_client()`; the manifests print the reason.
    pub ungranted_client: Anything,
    /// `source = AppController::notices`: a stream of keys from outside the cluster.
    pub source: Anything,
    /// `event_filter = generation_changed`: filter over all watches.
    pub event_filter: Anything,
    /// `labels = "app=web"`: watches only primary objects that match.
    pub labels: Anything,
    /// `fields = "metadata.name=web"`: watches only primary objects that match.
    pub fields: Anything,
    /// `strip = ["status"]`: what is never kept of primary objects.
    pub strip: Anything,
    /// `workers = 4`: concurrent reconciles. Default: 1.
    pub workers: Anything,
    /// `backoff(min = "5ms", max = "1000s")`: delays after failures of one key.
    pub backoff: Anything,
    /// `rate_limit(per_second = 10, burst = 100)`: limit over all keys. Default: none.
    pub rate_limit: Anything,
    /// `resync = "10h"`: reconciles every object again from the cache. Default: never.
    pub resync: Anything,
    /// `timeout = "2m"`: limit of one reconcile. Default: none.
    pub timeout: Anything,
    /// `finalizer = "example.com/cleanup"`: calls `Cleanup::cleanup` before an object goes.
    pub finalizer: Anything,
    /// `name = "app"`: name of the controller. Default: the struct's, in kebab case.
    pub name: Anything,
    /// `field_manager = "app-operator"`: field manager of applies. Default: `<operator>/<name>`.
    pub field_manager: Anything,
    /// `previous_managers = ["old-operator/app"]`: earlier field managers, whose fields are taken over.
    pub previous_managers: Anything,
    /// `needs_leader = false`: runs on every replica.
    pub needs_leader: Anything,
    /// `warmup`: fills the caches before the replica leads.
    pub warmup: Anything,
    /// `own_events = skip`: echoes of own writes wake nothing.
    pub own_events: Anything,
    /// `retired_finalizers = ["example.com/old"]`: finalizers of earlier releases, removed where found.
    pub retired_finalizers: Anything,
}

/// Keys after the kind in `owns(K, …)` and `tracks(K, …)`.
#[derive(Debug, Default)]
pub struct OwnsKeys {
    /// `predicate = generation_changed`: filter for this watch.
    pub predicate: Anything,
    /// `metadata_only`: fetches and keeps metadata only.
    pub metadata_only: Anything,
    /// `adopt = always`, `adopt = labels("app=web")`: what an apply may take over.
    pub adopt: Anything,
    /// `labels = "app=web"`: watches only objects that match.
    pub labels: Anything,
    /// `fields = "metadata.name=web"`: watches only objects that match.
    pub fields: Anything,
    /// `strip = ["status"]`: what is never kept.
    pub strip: Anything,
}

/// Keys after the kind in `watches(K, …)`.
#[derive(Debug, Default)]
pub struct WatchesKeys {
    /// `map = users_of`: from the watched object to the keys it wakes. Required.
    pub map: Anything,
    /// `predicate = generation_changed`: filter for this watch.
    pub predicate: Anything,
    /// `metadata_only`: fetches and keeps metadata only.
    pub metadata_only: Anything,
    /// `labels = "app=web"`: watches only objects that match.
    pub labels: Anything,
    /// `fields = "metadata.name=web"`: watches only objects that match.
    pub fields: Anything,
    /// `strip = ["status"]`: what is never kept.
    pub strip: Anything,
}

/// Keys of `rbac(…)`.
#[derive(Debug, Default)]
pub struct RbacKeys {
    /// `group = "apps"`: the API group. The core group is `""`.
    pub group: Anything,
    /// `resources = ["deployments"]`: plural names; `"deployments/scale"` for a subresource.
    pub resources: Anything,
    /// `verbs = ["get"]`: what may be done.
    pub verbs: Anything,
    /// `names = ["web"]`: only objects of these names. Default: all.
    pub names: Anything,
    /// `urls = ["/metrics"]`: paths outside the API groups, instead of resources.
    pub urls: Anything,
}

/// Keys of `backoff(…)`.
#[derive(Debug, Default)]
pub struct BackoffKeys {
    /// `min = "5ms"`: the delay after the first failure.
    pub min: Anything,
    /// `max = "1000s"`: the longest delay.
    pub max: Anything,
}

/// Keys of `rate_limit(…)`.
#[derive(Debug, Default)]
pub struct RateLimitKeys {
    /// `per_second = 10`: how many reconciles may start in a second.
    pub per_second: Anything,
    /// `burst = 100`: how many may start at once after a rest.
    pub burst: Anything,
}

/// Keys of `#[webhooks(…)]`.
#[derive(Debug, Default)]
pub struct WebhookKeys {
    /// `for = App`: the kind whose objects are judged; where versions are converted, the hub. Required.
    pub r#for: Anything,
    /// `validate`: objects are judged by `impl Validate<App>`.
    pub validate: Anything,
    /// `mutate`: objects are changed by `impl Mutate<App>` before they are stored.
    pub mutate: Anything,
    /// `convert = v1alpha1::App`, `convert = [v1alpha1::App, v1beta1::App]`: versions that are served too.
    pub convert: Anything,
    /// `loses(v1alpha1::App, "spec.mode")`: a field that gets lost on the way to that version and back, and may be.
    pub loses: Anything,
    /// `operations = [create, update]`: what the webhooks are asked about. Default: create and update.
    pub operations: Anything,
    /// `failure_policy = ignore`: what happens while the operator is down. Default: the request fails.
    pub failure_policy: Anything,
    /// `side_effects = none_on_dry_run`: effects outside of the answer. Default: none.
    pub side_effects: Anything,
    /// `match_conditions = [("not-mine", "request.name != 'a'")]`: CEL; the webhooks are called where all hold.
    pub match_conditions: Anything,
    /// `object_selector = "app=web"`: the webhooks are called for objects that match.
    pub object_selector: Anything,
    /// `timeout = "10s"`: how long the API server waits. Default: 10 s.
    pub timeout: Anything,
}
