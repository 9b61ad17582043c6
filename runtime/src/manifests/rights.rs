//! Rules of several controllers as one list without repetition, and their split by scope.

use std::collections::{BTreeMap, BTreeSet};

use crate::declaration::Declared;
use crate::kind::Kind;
use crate::rbac::{self, PolicyRule};

/// Cluster-scoped kinds of every cluster that a hand-written `rbac(…)` may name. What a declaration names carries its
/// scope itself.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    ("admissionregistration.k8s.io", "*"),
    ("apiextensions.k8s.io", "*"),
    ("apiregistration.k8s.io", "*"),
    ("certificates.k8s.io", "*"),
    ("flowcontrol.apiserver.k8s.io", "*"),
    ("networking.k8s.io", "ingressclasses"),
    ("node.k8s.io", "*"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "*"),
];

/// What the operator may do, by where it may do it.
#[derive(Debug, Default)]
pub(super) struct Rights {
    /// Cluster-scoped kinds and paths that are no resources.
    pub(super) cluster: Vec<PolicyRule>,
    /// Kinds in namespaces.
    pub(super) namespaced: Vec<PolicyRule>,
}

/// The rules of all controllers, merged and sorted.
pub(super) fn all(declared: &[Declared]) -> Vec<PolicyRule> {
    merged(declared.iter().flat_map(rbac::rules))
}

/// The rules of all controllers, split by scope, each part merged and sorted.
pub(super) fn by_scope(declared: &[Declared]) -> Rights {
    let cluster_kinds: BTreeSet<(String, String)> = declared
        .iter()
        .flat_map(kinds)
        .filter(|kind| !kind.namespaced())
        .map(|kind| (kind.group().to_owned(), kind.plural().to_owned()))
        .collect();
    let cluster_scoped = |group: &str, resource: &str| {
        let plural = resource.split('/').next().unwrap_or(resource);
        cluster_kinds.contains(&(group.to_owned(), plural.to_owned()))
            || CLUSTER_SCOPED
                .iter()
                .any(|(g, p)| *g == group && (*p == "*" || *p == plural))
    };
    let (cluster, namespaced) = declared
        .iter()
        .flat_map(rbac::rules)
        .flat_map(single)
        .partition::<Vec<_>, _>(|rule| {
            !rule.non_resource_urls.is_empty() || cluster_scoped(&first(&rule.api_groups), &first(&rule.resources))
        });
    Rights {
        cluster: merged(cluster),
        namespaced: merged(namespaced),
    }
}

fn kinds(declared: &Declared) -> impl Iterator<Item = &Kind> {
    declared
        .watches
        .iter()
        .map(|watch| &watch.kind)
        .chain(&declared.writes)
        .chain(&declared.updates)
        .chain(&declared.live)
}

/// One rule per group and resource, or the rule itself where it names paths.
fn single(rule: PolicyRule) -> Vec<PolicyRule> {
    if !rule.non_resource_urls.is_empty() {
        return vec![rule];
    }
    let mut rules = Vec::with_capacity(rule.api_groups.len() * rule.resources.len());
    for group in &rule.api_groups {
        for resource in &rule.resources {
            rules.push(PolicyRule {
                api_groups: vec![group.clone()],
                resources: vec![resource.clone()],
                ..rule.clone()
            });
        }
    }
    rules
}

/// Unites the verbs of equal resources, then the resources of equal verbs within one group.
fn merged(rules: impl IntoIterator<Item = PolicyRule>) -> Vec<PolicyRule> {
    let mut urls: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    let mut verbs: BTreeMap<(String, Vec<String>, String), BTreeSet<String>> = BTreeMap::new();
    for rule in rules.into_iter().flat_map(single) {
        if rule.non_resource_urls.is_empty() {
            let mut names = rule.resource_names.clone();
            names.sort();
            let place = (first(&rule.api_groups), names, first(&rule.resources));
            verbs.entry(place).or_default().extend(rule.verbs);
        } else {
            let mut paths = rule.non_resource_urls.clone();
            paths.sort();
            urls.entry(paths).or_default().extend(rule.verbs);
        }
    }
    let mut resources: BTreeMap<(String, Vec<String>, BTreeSet<String>), Vec<String>> = BTreeMap::new();
    for ((group, names, resource), verbs) in verbs {
        resources.entry((group, names, verbs)).or_default().push(resource);
    }
    let mut merged: Vec<PolicyRule> = resources
        .into_iter()
        .map(|((group, names, verbs), resources)| PolicyRule {
            api_groups: vec![group],
            resources,
            resource_names: names,
            verbs: in_order(&verbs),
            non_resource_urls: Vec::new(),
        })
        .collect();
    merged.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    merged.extend(urls.into_iter().map(|(paths, verbs)| PolicyRule {
        api_groups: Vec::new(),
        resources: Vec::new(),
        resource_names: Vec::new(),
        verbs: in_order(&verbs),
        non_resource_urls: paths,
    }));
    merged
}

/// Verbs as people write them: reads, then writes, then whatever else.
fn in_order(verbs: &BTreeSet<String>) -> Vec<String> {
    const ORDER: [&str; 8] = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
    ];
    let known = ORDER.iter().filter(|v| verbs.contains(**v)).map(|v| (*v).to_owned());
    let rest = verbs.iter().filter(|v| !ORDER.contains(&v.as_str())).cloned();
    known.chain(rest).collect()
}

fn first(values: &[String]) -> String {
    values.first().cloned().unwrap_or_default()
}
