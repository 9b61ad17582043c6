//! The served resources by group and version, in discovery's order.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::resource::{Resource, api_version};

/// All groups, the core group included.
pub(super) struct Groups(pub(super) Vec<Group>);

/// A group with its versions, preferred first.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) versions: Vec<Version>,
}

/// A version with its resources.
pub(super) struct Version {
    pub(super) name: String,
    pub(super) group_version: String,
    pub(super) resources: Vec<Arc<Resource>>,
}

impl Groups {
    /// Built-in groups in the order given, then those of custom resources by name.
    pub(super) fn of(resources: &[Arc<Resource>]) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let (custom, builtin): (Vec<_>, Vec<_>) = resources.iter().partition(|r| r.custom.is_some());
        for resource in builtin {
            add(&mut groups, resource);
        }
        let first_custom = groups.len();
        for resource in custom {
            add(&mut groups, resource);
        }
        for group in &mut groups {
            if group
                .versions
                .iter()
                .any(|v| v.resources.iter().any(|r| r.custom.is_some()))
            {
                group.versions.sort_by(|a, b| by_preference(&a.name, &b.name));
            }
        }
        groups[first_custom..].sort_by(|a, b| a.name.cmp(&b.name));
        Self(groups)
    }

    pub(super) fn get(&self, group: &str) -> Option<&Group> {
        self.0.iter().find(|g| g.name == group)
    }
}

fn add(groups: &mut Vec<Group>, resource: &Arc<Resource>) {
    let index = groups.iter().position(|g| g.name == resource.group).unwrap_or_else(|| {
        groups.push(Group {
            name: resource.group.clone(),
            versions: Vec::new(),
        });
        groups.len() - 1
    });
    let versions = &mut groups[index].versions;
    let index = versions
        .iter()
        .position(|v| v.name == resource.version)
        .unwrap_or_else(|| {
            let group_version = api_version(&resource.group, &resource.version);
            versions.push(Version {
                name: resource.version.clone(),
                group_version,
                resources: Vec::new(),
            });
            versions.len() - 1
        });
    versions[index].resources.push(Arc::clone(resource));
}

/// Stable before beta before alpha, higher numbers first, other names last and by name
/// (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>).
pub(crate) fn by_preference(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(first), Some(second)) => second.cmp(&first),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability, major and minor number of `v1`, `v2beta1`, `v1alpha3`; none for other names.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, stage) = rest.split_at(digits);
    let major = number(major)?;
    if stage.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = if let Some(minor) = stage.strip_prefix("beta") {
        (1, minor)
    } else {
        (0, stage.strip_prefix("alpha")?)
    };
    Some((stability, major, number(minor)?))
}

fn number(digits: &str) -> Option<u64> {
    (!digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_from_stable_to_alpha_and_odd_names_last() {
        let mut versions = ["old1", "v1alpha1", "v10beta2", "v2", "v1beta1", "v11", "v0", "foo"];
        versions.sort_by(|a, b| by_preference(a, b));
        assert_eq!(
            versions,
            ["v11", "v2", "v10beta2", "v1beta1", "v1alpha1", "foo", "old1", "v0"]
        );
    }
}
