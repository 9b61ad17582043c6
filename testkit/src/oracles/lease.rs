//! One writer at a time under one Lease.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright::dev::apiserver::storage::Key;

use super::Violation;
use super::world::{deeds, is_bookkeeping, storage_name, title};
use crate::cluster::TestCluster;

const ORACLE: &str = "one_writer_per_lease";

/// Every change that a replica with leader election made came while the Lease named that replica as its holder.
///
/// It is judged by the order in which the server stored things, so no clock has a say. Kinds that a controller without
/// leader election (`needs_leader = false`) may write are left out, as are events and Leases.
///
/// # Errors
///
/// The changes that came outside the Lease, each with who held it.
pub fn one_writer_per_lease(cluster: &TestCluster) -> Result<(), Violation> {
    let mut found = Vec::new();
    for known in cluster.all_known() {
        let Some(lease) = &known.lease else { continue };
        let unbound: Vec<String> = known
            .declared
            .iter()
            .filter(|declared| !declared.needs_leader)
            .flat_map(|declared| {
                let owned = declared.owned().map(|watch| &watch.kind);
                let written = declared.writes.iter().chain(&declared.updates).chain(owned);
                written.chain([&declared.primary]).map(storage_name)
            })
            .collect();
        found.extend(strays(cluster, lease, &known.replicas, &|key| {
            unbound.iter().any(|kind| *kind == *key.resource)
        }));
    }
    Violation::unless_none(ORACLE, "replicas wrote outside their Lease", &found)
}

/// As [`one_writer_per_lease`], for operators on kube alone: `replicas` are names of
/// [`TestCluster::client_named`], each the identity that the replica uses in the Lease, `namespace/name`.
///
/// # Errors
///
/// The changes that came outside the Lease, each with who held it.
pub fn one_writer_of(cluster: &TestCluster, lease: &str, replicas: &[&str]) -> Result<(), Violation> {
    let (namespace, name) = lease.split_once('/').unwrap_or(("default", lease));
    let replicas: Vec<(Arc<str>, String)> = replicas.iter().map(|r| ((*r).into(), (*r).to_owned())).collect();
    let found = strays(cluster, &(namespace.to_owned(), name.to_owned()), &replicas, &|_| false);
    Violation::unless_none(ORACLE, "replicas wrote outside their Lease", &found)
}

fn strays(
    cluster: &TestCluster,
    lease: &(String, String),
    replicas: &[(Arc<str>, String)],
    is_free: &dyn Fn(&Key) -> bool,
) -> Vec<String> {
    let holders = holders(cluster, lease);
    let mut found = Vec::new();
    for deed in deeds(cluster) {
        let Some((_, identity)) = replicas.iter().find(|(name, _)| *name == deed.replica) else {
            continue;
        };
        let key = &deed.object().key;
        if is_free(key) {
            continue;
        }
        let holder = holders
            .range(..deed.effect.revision)
            .next_back()
            .map_or("", |(_, holder)| holder);
        if holder != identity {
            let held = if holder.is_empty() { "nobody" } else { holder };
            found.push(format!(
                "{} wrote {} @{} while {held} held {}/{}",
                deed.replica,
                title(key),
                deed.effect.revision,
                lease.0,
                lease.1
            ));
        }
    }
    found
}

/// Who holds the Lease from which revision on.
fn holders(cluster: &TestCluster, lease: &(String, String)) -> BTreeMap<u64, String> {
    let mut holders = BTreeMap::new();
    for (_, _, request) in cluster.story().effects() {
        for effect in &request.effects {
            let Some(object) = effect.new.as_ref().or(effect.old.as_ref()) else {
                continue;
            };
            let key = &object.key;
            let is_it = *key.namespace == *lease.0 && *key.name == *lease.1;
            if !is_it || !is_bookkeeping(key) || !key.resource.starts_with("leases") {
                continue;
            }
            let holder = effect
                .new
                .as_ref()
                .map(|lease| lease.value()["spec"]["holderIdentity"].clone());
            let holder = holder.and_then(|holder| holder.as_str().map(str::to_owned));
            holders.insert(effect.revision, holder.unwrap_or_default());
        }
    }
    holders
}
