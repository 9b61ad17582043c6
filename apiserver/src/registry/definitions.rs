//! CustomResourceDefinitions as writes that change what is served: their names are accepted and they are established
//! before the write that defines them is answered, in the steps that the real server shows.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Scope;
use super::options::WriteOptions;
use super::update::{Change, change};
use crate::access::User;
use crate::builtins;
use crate::catalog::Catalog;
use crate::crd;
use crate::resource::Resource;
use crate::storage::Store;

/// What storage calls definitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// Holds a definition until its objects are gone.
const CLEAN_UP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the resource is that of definitions.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    &*resource.stored_under == DEFINITIONS
}

/// The status that a new definition is stored with.
pub(crate) fn initial_status(definition: &Value) -> Value {
    json!({
        "conditions": null,
        "acceptedNames": { "plural": "", "kind": "" },
        "storedVersions": [storage_version(definition)],
    })
}

/// Remembers the storage version of a changed definition among those that objects may be stored in.
pub(crate) fn remember_storage_version(definition: &mut Value) {
    let version = Value::from(storage_version(definition));
    if let Some(stored) = definition["status"]["storedVersions"].as_array_mut()
        && !stored.contains(&version)
    {
        stored.push(version);
    }
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
            user: User::new("system:apiserver", ["system:masters"]),
            agent: "kube-apiserver".to_owned(),
            ..scope.clone()
        };
        // One step makes the conditions, the next turns Established true; more there are not.
        for _ in 0..2 {
            let mut make = |old: &Value| {
                Ok(Change {
                    object: next_state(&one, old),
                    warnings: Vec::new(),
                    tracked: false,
                })
            };
            if let Err(error) = Box::pin(change(&one, &WriteOptions::default(), "", &mut make)).await {
                // It went away, which is as good as settled.
                tracing::debug!(error = %error.message, definition = one.name, "cannot settle a definition");
            }
        }
    }
}

/// The definition with the next state of its conditions.
fn next_state(scope: &Scope, old: &Value) -> Value {
    let mut settled = old.clone();
    if !old["metadata"]["deletionTimestamp"].is_null() {
        return settled;
    }
    let others: Vec<Value> = scope
        .core
        .store
        .list(DEFINITIONS, None)
        .iter()
        .filter(|other| *other.key.name != *scope.name)
        .map(|other| other.value())
        .collect();
    crd::settle(&mut settled, others.iter(), &scope.core.clock.now_rfc3339());
    let condition = |object: &Value, name: &str| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().position(|condition| condition["type"] == name)
    };
    let first = condition(old, "Established").is_none();
    if first
        && let Some(index) = condition(&settled, "Established")
        && settled["status"]["conditions"][index]["status"] == "True"
    {
        // Established comes a step after the names were accepted.
        settled["status"]["conditions"][index]["status"] = "False".into();
        settled["status"]["conditions"][index]["reason"] = "Installing".into();
    }
    settled
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

fn storage_version(definition: &Value) -> &str {
    definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .and_then(|version| version["name"].as_str())
        .unwrap_or_default()
}
