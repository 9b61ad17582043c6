//! Children: each made once, each with an owner that lives.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Violation;
use super::world::{controller, created, storage_name, title, uids};
use crate::cluster::TestCluster;

/// No two objects that operators made are for the same: of one kind, under one owner, with the same content and labels,
/// but for their names.
///
/// An operator that makes several alike on purpose says how to tell them apart with [`no_duplicates_by`].
///
/// # Errors
///
/// The objects that are there twice.
pub fn no_duplicates(cluster: &TestCluster) -> Result<(), Violation> {
    no_duplicates_by(cluster, content)
}

/// As [`no_duplicates`], where `purpose` says what an object is for: two objects of one kind with the same purpose are
/// duplicates. `None` leaves an object out.
///
/// # Errors
///
/// The objects that are there twice.
pub fn no_duplicates_by(cluster: &TestCluster, purpose: impl Fn(&Value) -> Option<String>) -> Result<(), Violation> {
    let mut first: BTreeMap<(Arc<str>, String), String> = BTreeMap::new();
    let mut found = Vec::new();
    for (replica, object) in created(cluster) {
        let Some(purpose) = purpose(&object.value()) else {
            continue;
        };
        let id = (Arc::clone(&object.key.resource), purpose);
        let own = title(&object.key);
        match first.get(&id) {
            Some(other) => found.push(format!("{own}, made by {replica}, is there beside {other}")),
            None => {
                first.insert(id, own);
            }
        }
    }
    Violation::unless_none("no_duplicates", "objects are there twice", &found)
}

/// What an object is for, by its owner and content.
fn content(object: &Value) -> Option<String> {
    let owner = controller(object)?["uid"].as_str()?.to_owned();
    let mut content = object.clone();
    let labels = content["metadata"]["labels"].take();
    let namespace = content["metadata"]["namespace"].take();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("metadata");
        fields.remove("status");
    }
    Some(format!("{owner} {namespace} {labels} {content}"))
}

/// Every object that operators made has a controller that lives.
///
/// Kinds that a controller declares under `writes` need none; of an operator on kube alone, any owner will do.
///
/// # Errors
///
/// The objects that nobody will ever delete, or that garbage collection has not come to yet: let the cluster come to
/// rest first, as [`converged`](super::converged) does.
pub fn no_orphans(cluster: &TestCluster) -> Result<(), Violation> {
    let living = uids(cluster);
    let mut found = Vec::new();
    for (replica, object) in created(cluster) {
        let known = cluster.known(&replica);
        let declared = known.iter().flat_map(|known| &known.declared);
        let of_kind = |kind: &kubewright::Kind| storage_name(kind) == *object.key.resource;
        let free = declared
            .clone()
            .any(|declared| declared.writes.iter().chain(&declared.updates).any(of_kind));
        if free || declared.clone().any(|declared| of_kind(&declared.primary)) {
            continue;
        }
        let value = object.value();
        let owners = value["metadata"]["ownerReferences"].as_array().map(Vec::as_slice);
        let owner = match (controller(&value), known.is_some()) {
            (Some(owner), _) => Some(owner),
            (None, true) => None,
            (None, false) => owners.and_then(<[Value]>::first),
        };
        let own = title(&object.key);
        match owner {
            None => found.push(format!("{own}, made by {replica}, has no controller")),
            Some(owner) if !living.contains(owner["uid"].as_str().unwrap_or_default()) => {
                let (kind, name) = (&owner["kind"], &owner["name"]);
                found.push(format!("{own}, made by {replica}: its owner {kind} {name} is gone"));
            }
            Some(_) => {}
        }
    }
    Violation::unless_none("no_orphans", "objects have no living owner", &found)
}
