//! CustomResourceDefinitions as writes that change what is served.

use std::sync::Arc;

use serde_json::Value;

use super::Scope;
use crate::builtins;
use crate::catalog::Catalog;
use crate::crd;
use crate::resource::Resource;
use crate::storage::Store;

/// What storage calls definitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Whether the resource is that of definitions.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    &*resource.stored_under == DEFINITIONS
}

/// Computes the accepted names, conditions and stored versions of a definition about to be written.
pub(crate) fn settle(scope: &Scope, definition: &mut Value) {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let others: Vec<Value> = scope
        .core
        .store
        .list(DEFINITIONS, None)
        .iter()
        .filter(|other| *other.key.name != *name)
        .map(|other| other.value())
        .collect();
    crd::settle(definition, others.iter(), &scope.core.clock.now_rfc3339());
}

/// The built-in resources and those of the stored definitions.
pub(crate) fn catalog(store: &Store, builtin: &[Arc<Resource>]) -> Catalog {
    let generation = store.changed_at(DEFINITIONS);
    let mut resources = builtin.to_vec();
    for definition in store.list(DEFINITIONS, None) {
        resources.extend(crd::resources(&definition.value()).into_iter().map(Arc::new));
    }
    Catalog::new(resources, generation)
}

/// The built-in resources, in discovery's order.
pub(crate) fn builtin() -> Vec<Arc<Resource>> {
    builtins::resources().into_iter().map(Arc::new).collect()
}
