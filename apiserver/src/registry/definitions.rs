//! CustomResourceDefinitions as writes that change what is served: their names are accepted and they are established
//! before the write that defines them is answered, in the steps that the real server shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Scope;
use super::options::WriteOptions;
use super::update::{Change, change};
use crate::access::User;
use crate::apply::Views;
use crate::builtins;
use crate::catalog::Catalog;
use crate::crd;
use crate::resource::Resource;
use crate::storage::Store;

/// What storage calls definitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// Holds a definition until its objects are gone.
const CLEAN_UP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// How many steps are tried until a definition is settled; two are needed where nobody interferes.
const ATTEMPTS: usize = 20;

/// Whether the resource is that of definitions.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    &*resource.stored_under == DEFINITIONS
}

/// Marks a definition whose deletion was asked for: it stays until its objects are gone.
pub(crate) fn mark_deleted(definition: &mut Value, now: &str) {
    definition["metadata"]["deletionTimestamp"] = now.into();
    let finalizers = &mut definition["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == CLEAN_UP)
    {
        finalizers.push(CLEAN_UP.into());
    }
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(json!({
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }));
    }
}

/// Accepts the names of the group's definitions and establishes them, as far as they do not conflict.
pub(crate) async fn settle(scope: &Scope, group: &str) {
    let names: Vec<String> = scope
        .core
        .store
        .list(DEFINITIONS, None)
        .iter()
        .filter(|stored| stored.value()["spec"]["group"] == group)
        .map(|stored| stored.key.name.to_string())
        .collect();
    for name in names {
        let one = Scope {
            namespace: String::new(),
            name,
            subresource: "status".to_owned(),
            user: Arc::new(User::new("system:apiserver", ["system:masters"])),
            agent: "kube-apiserver".to_owned(),
            ..scope.clone()
        };
        // Each step is a write of its own, as on the real server.
        for _ in 0..ATTEMPTS {
            let Some(state) = next_state(&one) else { break };
            let mut make = |_: &Value, _: &Views| {
                Ok(Change {
                    object: state.clone(),
                    warnings: Vec::new(),
                    tracked: false,
                })
            };
            match Box::pin(change(&one, &WriteOptions::default(), "", &mut make)).await {
                // Somebody wrote it in between: look again.
                Err(error) if error.code == 409 => {}
                Err(error) => {
                    tracing::debug!(error = %error.message, definition = one.name, "cannot settle a definition");
                    break;
                }
                Ok(_) => {}
            }
        }
    }
}

/// The definition with the next state of its conditions; nothing if it is settled, going or gone.
fn next_state(scope: &Scope) -> Option<Value> {
    let store = &scope.core.store;
    let mut definition = store.find(DEFINITIONS, "", &scope.name)?.value();
    if !definition["metadata"]["deletionTimestamp"].is_null() {
        return None;
    }
    let others: Vec<Value> = store
        .list(DEFINITIONS, None)
        .iter()
        .filter(|other| *other.key.name != *scope.name)
        .map(|other| other.value())
        .collect();
    crd::advance(&mut definition, others.iter(), &scope.core.clock.now_rfc3339()).then_some(definition)
}

/// What the stored definitions define, by name, with the revision of each. Reading a definition compiles its schema.
pub(crate) type Defined = BTreeMap<Arc<str>, (u64, Vec<Arc<Resource>>)>;

/// The built-in resources and those of the stored definitions; `defined` keeps the latter from one time to the next.
pub(crate) fn catalog(store: &Store, builtin: &[Arc<Resource>], defined: &mut Defined) -> Catalog {
    let generation = store.changed_at(DEFINITIONS);
    let mut resources = builtin.to_vec();
    let mut before = std::mem::take(defined);
    for definition in store.list(DEFINITIONS, None) {
        let known = before
            .remove(&definition.key.name)
            .filter(|(at, _)| *at == definition.revision);
        let (_, kinds) = known.unwrap_or_else(|| {
            let kinds = crd::resources(&definition.shared());
            (definition.revision, kinds.into_iter().map(Arc::new).collect())
        });
        resources.extend(kinds.iter().cloned());
        defined.insert(Arc::clone(&definition.key.name), (definition.revision, kinds));
    }
    Catalog::new(resources, generation)
}

/// The built-in resources, in discovery's order.
pub(crate) fn builtin() -> Vec<Arc<Resource>> {
    builtins::resources().into_iter().map(Arc::new).collect()
}
