//! What is served now: the built-in resources and those that CustomResourceDefinitions define.
//!
//! A catalog never changes; a write to a definition replaces the whole of it, so a request works on one view from
//! start to end and reading it takes no lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::resource::Resource;

type ByName = BTreeMap<String, BTreeMap<String, BTreeMap<String, Arc<Resource>>>>;

/// All served resources at one moment.
#[derive(Debug, Default)]
pub struct Catalog {
    ordered: Vec<Arc<Resource>>,
    by_plural: ByName,
    by_kind: ByName,
    stored: BTreeMap<Arc<str>, Arc<Resource>>,
    generation: u64,
}

impl Catalog {
    /// A catalog of these resources, in the order in which discovery shows them.
    ///
    /// Where two resources claim one name, the first keeps it.
    #[must_use]
    pub fn new(resources: Vec<Arc<Resource>>, generation: u64) -> Self {
        let mut by_plural = ByName::new();
        let mut by_kind = ByName::new();
        let mut stored = BTreeMap::new();
        for resource in &resources {
            slot(&mut by_plural, resource)
                .entry(resource.plural.clone())
                .or_insert_with(|| Arc::clone(resource));
            slot(&mut by_kind, resource)
                .entry(resource.kind.clone())
                .or_insert_with(|| Arc::clone(resource));
            // Events are stored as the core group has them, which comes first.
            if resource.version == resource.storage_version {
                stored
                    .entry(Arc::clone(&resource.stored_under))
                    .or_insert_with(|| Arc::clone(resource));
            }
        }
        Self {
            ordered: resources,
            by_plural,
            by_kind,
            stored,
            generation,
        }
    }

    /// The resource that a URL names.
    #[must_use]
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.by_plural.get(group)?.get(version)?.get(plural).cloned()
    }

    /// The resource of a kind, as `apiVersion` and `kind` of an object name it.
    #[must_use]
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.by_kind.get(group)?.get(version)?.get(kind).cloned()
    }

    /// The resource that storage knows by this name, in the version that it is stored in.
    #[must_use]
    pub fn stored(&self, name: &str) -> Option<Arc<Resource>> {
        self.stored.get(name).cloned()
    }

    /// Every served resource, in discovery's order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.ordered.iter()
    }

    /// Whether any version of the group is served.
    #[must_use]
    pub fn has_group(&self, group: &str) -> bool {
        self.by_plural.contains_key(group)
    }

    /// Whether this version of the group is served.
    #[must_use]
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.by_plural
            .get(group)
            .is_some_and(|versions| versions.contains_key(version))
    }

    /// A number that changes with every change of what is served.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

fn slot<'a>(names: &'a mut ByName, resource: &Resource) -> &'a mut BTreeMap<String, Arc<Resource>> {
    names
        .entry(resource.group.clone())
        .or_default()
        .entry(resource.version.clone())
        .or_default()
}
