//! The keys of the attribute: names, for suggestions, and how each is written, for messages.

use crate::args::Known;

/// Keys at the top level, each with an example.
pub(crate) const CONTROLLER: Known = &[
    ("for", "for = App"),
    ("owns", "owns = Deployment"),
    ("tracks", "tracks = ConfigMap"),
    ("watches", "watches(Secret, map = users_of)"),
    ("live", "live = Node"),
    ("writes", "writes = Secret"),
    ("updates", "updates = Deployment"),
    (
        "rbac",
        "rbac(group = \"apps\", resources = [\"deployments\"], verbs = [\"get\"])",
    ),
    (
        "ungranted_client",
        "ungranted_client = \"what the grants cannot cover\"",
    ),
    ("source", "source = AppController::notices"),
    ("event_filter", "event_filter = generation_changed"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
    ("strip", "strip = [\"status\"]"),
    ("workers", "workers = 4"),
    ("backoff", "backoff(min = \"5ms\", max = \"1000s\")"),
    ("rate_limit", "rate_limit(per_second = 10, burst = 100)"),
    ("resync", "resync = \"10h\""),
    ("timeout", "timeout = \"2m\""),
    ("finalizer", "finalizer = \"example.com/cleanup\""),
    ("name", "name = \"app\""),
    ("field_manager", "field_manager = \"app-operator\""),
    ("previous_managers", "previous_managers = [\"old-operator/app\"]"),
    ("needs_leader", "needs_leader = false"),
    ("warmup", "warmup"),
    ("own_events", "own_events = skip"),
    ("retired_finalizers", "retired_finalizers = [\"example.com/old\"]"),
    ("crate", "crate = my_crate::kubewright"),
];

/// What other frameworks call a key, and what people try first.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("primary", "for"),
    ("kind", "for"),
    ("resource", "for"),
    ("reconciles", "for"),
    ("reconcile", "for"),
    ("object", "for"),
    ("own", "owns"),
    ("owned", "owns"),
    ("owner_of", "owns"),
    ("children", "owns"),
    ("creates", "owns"),
    ("manages", "owns"),
    ("dependents", "owns"),
    ("kinds", "owns"),
    ("watched", "watches"),
    ("references", "watches"),
    ("depends_on", "watches"),
    ("related", "watches"),
    ("read", "live"),
    ("reads", "live"),
    ("gets", "live"),
    ("lists", "live"),
    ("applies", "writes"),
    ("patches", "writes"),
    ("deletes", "writes"),
    ("puts", "updates"),
    ("replaces", "updates"),
    ("permissions", "rbac"),
    ("rules", "rbac"),
    ("role", "rbac"),
    ("policy", "rbac"),
    ("filter", "event_filter"),
    ("filters", "event_filter"),
    ("predicates", "event_filter"),
    ("selector", "labels"),
    ("label_selector", "labels"),
    ("field_selector", "fields"),
    ("concurrency", "workers"),
    ("parallelism", "workers"),
    ("threads", "workers"),
    ("max_concurrent_reconciles", "workers"),
    ("retry", "backoff"),
    ("retries", "backoff"),
    ("throttle", "rate_limit"),
    ("rate", "rate_limit"),
    ("interval", "resync"),
    ("period", "resync"),
    ("every", "resync"),
    ("sync_period", "resync"),
    ("requeue_after", "resync"),
    ("deadline", "timeout"),
    ("cleanup", "finalizer"),
    ("manager", "field_manager"),
    ("leader", "needs_leader"),
    ("leader_election", "needs_leader"),
    ("warm", "warmup"),
    ("standby", "warmup"),
    ("echoes", "own_events"),
];

/// Keys after the kind in `owns(K, …)`.
pub(crate) const OWNS: Known = &[
    ("predicate", "predicate = generation_changed"),
    ("metadata_only", "metadata_only"),
    ("adopt", "adopt = always"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
    ("strip", "strip = [\"status\"]"),
];

/// Keys after the kind in `watches(K, …)`.
pub(crate) const WATCHES: Known = &[
    ("map", "map = users_of"),
    ("predicate", "predicate = generation_changed"),
    ("metadata_only", "metadata_only"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
    ("strip", "strip = [\"status\"]"),
];

/// Keys of `rbac(…)`.
pub(crate) const RBAC: Known = &[
    ("group", "group = \"apps\""),
    ("resources", "resources = [\"deployments\"]"),
    ("verbs", "verbs = [\"get\"]"),
    ("names", "names = [\"web\"]"),
    ("urls", "urls = [\"/metrics\"]"),
];

/// Keys of `backoff(…)`.
pub(crate) const BACKOFF: Known = &[("min", "min = \"5ms\""), ("max", "max = \"1000s\"")];

/// Keys of `rate_limit(…)`.
pub(crate) const RATE_LIMIT: Known = &[("per_second", "per_second = 10"), ("burst", "burst = 100")];

/// The key that a person probably meant: by another framework's word, or misspelt.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let other_word = OTHER_WORDS.iter().find(|(word, _)| *word == lower).map(|(_, key)| *key);
    other_word.or_else(|| crate::args::nearest(name, CONTROLLER.iter().map(|(key, _)| *key)))
}
