//! The permissions that follow from a declaration, as data.

use serde::{Deserialize, Serialize};

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
}
