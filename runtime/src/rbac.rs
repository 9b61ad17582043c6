//! The permissions that follow from a declaration, as data.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::declaration::Declared;
use crate::kind::Kind;

const READS: &[&str] = &["get", "list", "watch"];
const OWNS: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
const LIVE: &[&str] = &["get", "list"];
const WRITES: &[&str] = &["get", "create", "patch", "delete"];
const UPDATES: &[&str] = &["get", "update"];

/// What a declaration needs: one rule per resource, sorted by group and resource; rules asked for by `rbac(…)` follow
/// as they were written. Leader election is not part of it: that is the operator's, not the controller's.
#[must_use]
pub fn rules(declared: &Declared) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<(String, String), BTreeSet<&'static str>> = BTreeMap::new();
    let mut grant = |kind: &Kind, subresource: &str, granted: &[&'static str]| {
        let place = (kind.group().to_owned(), format!("{}{subresource}", kind.plural()));
        verbs.entry(place).or_default().extend(granted);
    };
    for watch in &declared.watches {
        grant(
            &watch.kind,
            "",
            if watch.role.is_owned() || watch.role.is_tracked() {
                OWNS
            } else {
                READS
            },
        );
    }
    let primary = &declared.primary;
    if declared.primary_has_status {
        grant(primary, "/status", &["patch"]);
    }
    if declared.finalizer.is_some() || !declared.retired_finalizers.is_empty() {
        grant(primary, "", &["patch"]);
    }
    if declared.owned().next().is_some() {
        // What OwnerReferencesPermissionEnforcement asks of whoever sets blockOwnerDeletion.
        grant(primary, "/finalizers", &["update"]);
    }
    for (kinds, granted) in [
        (&declared.live, LIVE),
        (&declared.writes, WRITES),
        (&declared.updates, UPDATES),
    ] {
        kinds.iter().for_each(|kind| grant(kind, "", granted));
    }
    grant(
        &Kind::new("events.k8s.io", "v1", "Event", "events", true),
        "",
        &["create", "patch"],
    );
    let derived = verbs.into_iter().map(|((group, resource), verbs)| PolicyRule {
        api_groups: vec![group],
        resources: vec![resource],
        verbs: verbs.into_iter().map(str::to_owned).collect(),
        ..PolicyRule::default()
    });
    derived.chain(declared.rules.iter().cloned()).collect()
}

/// One rule of a role, as `rbac.authorization.k8s.io/v1` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// API groups; the empty string is the core group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Plural names, with `/subresource` where one is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of single objects; all where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// Paths outside the resources, such as `/metrics`.
    #[serde(default, rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

impl PolicyRule {
    /// Verbs on resources of one group.
    #[must_use]
    pub fn new<S: Into<String>>(
        group: &str,
        resources: impl IntoIterator<Item = S>,
        verbs: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            api_groups: vec![group.to_owned()],
            resources: resources.into_iter().map(Into::into).collect(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
    /// Verbs on paths outside the resources.
    #[must_use]
    pub fn urls<S: Into<String>>(urls: impl IntoIterator<Item = S>, verbs: impl IntoIterator<Item = S>) -> Self {
        Self {
            non_resource_urls: urls.into_iter().map(Into::into).collect(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Narrows the rule to objects of these names. `create`, `list` and `watch` cannot be narrowed so.
    #[must_use]
    pub fn names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.resource_names = names.into_iter().map(Into::into).collect();
        self
    }
}
