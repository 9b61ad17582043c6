//! The keys of the attribute: names, for suggestions, and how each is written, for messages.

/// Keys at the top level, each with an example.
pub(crate) const CONTROLLER: [(&str, &str); 21] = [
    ("for", "for = App"),
    ("owns", "owns = Deployment"),
    ("watches", "watches(Secret, map = users_of)"),
    ("live", "live = Node"),
    ("writes", "writes = Secret"),
    ("updates", "updates = Deployment"),
    (
        "rbac",
        "rbac(group = \"apps\", resources = [\"deployments\"], verbs = [\"get\"])",
    ),
    ("event_filter", "event_filter = generation_changed"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
    ("workers", "workers = 4"),
    ("backoff", "backoff(min = \"5ms\", max = \"1000s\")"),
    ("rate_limit", "rate_limit(per_second = 10, burst = 100)"),
    ("resync", "resync = \"10h\""),
    ("timeout", "timeout = \"2m\""),
    ("finalizer", "finalizer = \"example.com/cleanup\""),
    ("name", "name = \"app\""),
    ("field_manager", "field_manager = \"app-operator\""),
    ("needs_leader", "needs_leader = false"),
    ("retired_finalizers", "retired_finalizers = [\"example.com/old\"]"),
    ("crate", "crate = my_crate::kubewright"),
];

/// What other frameworks call a key, and people try first.
pub(crate) const OTHER_WORDS: [(&str, &str); 21] = [
    ("primary", "for"),
    ("kind", "for"),
    ("resource", "for"),
    ("reconciles", "for"),
    ("children", "owns"),
    ("creates", "owns"),
    ("reads", "live"),
    ("gets", "live"),
    ("applies", "writes"),
    ("patches", "writes"),
    ("concurrency", "workers"),
    ("parallelism", "workers"),
    ("threads", "workers"),
    ("max_concurrent_reconciles", "workers"),
    ("interval", "resync"),
    ("sync_period", "resync"),
    ("requeue_after", "resync"),
    ("deadline", "timeout"),
    ("retry", "backoff"),
    ("permissions", "rbac"),
    ("leader_election", "needs_leader"),
];

/// Keys after the kind in `owns(K, …)`.
pub(crate) const OWNS: [(&str, &str); 5] = [
    ("predicate", "predicate = generation_changed"),
    ("metadata_only", "metadata_only"),
    ("adopt", "adopt = always"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
];

/// Keys after the kind in `watches(K, …)`.
pub(crate) const WATCHES: [(&str, &str); 5] = [
    ("map", "map = users_of"),
    ("predicate", "predicate = generation_changed"),
    ("metadata_only", "metadata_only"),
    ("labels", "labels = \"app=web\""),
    ("fields", "fields = \"metadata.name=web\""),
];

/// Keys of `rbac(…)`.
pub(crate) const RBAC: [(&str, &str); 5] = [
    ("group", "group = \"apps\""),
    ("resources", "resources = [\"deployments\"]"),
    ("verbs", "verbs = [\"get\"]"),
    ("names", "names = [\"web\"]"),
    ("urls", "urls = [\"/metrics\"]"),
];

/// Keys of `backoff(…)`.
pub(crate) const BACKOFF: [(&str, &str); 2] = [("min", "min = \"5ms\""), ("max", "max = \"1000s\"")];

/// Keys of `rate_limit(…)`.
pub(crate) const RATE_LIMIT: [(&str, &str); 2] = [("per_second", "per_second = 10"), ("burst", "burst = 100")];

/// How a key is written.
pub(crate) fn example(keys: &'static [(&'static str, &'static str)], name: &str) -> &'static str {
    keys.iter()
        .find(|(key, _)| *key == name)
        .map_or("for = App", |(_, example)| example)
}
