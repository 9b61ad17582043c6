//! What oracles know of a cluster: what is there, and who made it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubewright::Kind;
use kubewright::dev::apiserver::storage::{Key, Stored};
use serde_json::Value;

use crate::cluster::TestCluster;
use crate::story::{Effect, RequestMade};

/// One change that a replica made.
pub(super) struct Deed {
    /// The replica.
    pub(super) replica: Arc<str>,
    pub(super) request: Arc<RequestMade>,
    pub(super) effect: Effect,
}

impl Deed {
    pub(super) fn object(&self) -> &Arc<Stored> {
        let object = self.effect.new.as_ref().or(self.effect.old.as_ref());
        object.expect("a change has an object before it or after it")
    }
}

/// What replicas changed, in the order of the changes, Leases and events apart.
pub(super) fn deeds(cluster: &TestCluster) -> Vec<Deed> {
    let mut deeds: Vec<Deed> = cluster
        .story()
        .effects()
        .into_iter()
        .filter(|(_, role, _)| *role == crate::story::Role::Replica)
        .flat_map(|(replica, _, request)| {
            request.effects.clone().into_iter().map(move |effect| Deed {
                replica: Arc::clone(&replica),
                request: Arc::clone(&request),
                effect,
            })
        })
        .filter(|deed| !is_bookkeeping(&deed.object().key))
        .collect();
    deeds.sort_by_key(|deed| deed.effect.revision);
    deeds
}

/// Whether an operator writes such objects about itself.
pub(super) fn is_bookkeeping(key: &Key) -> bool {
    matches!(
        &*key.resource,
        "events" | "events.events.k8s.io" | "leases.coordination.k8s.io"
    )
}

/// Every object that there is now.
pub(super) fn living(cluster: &TestCluster) -> Vec<Arc<Stored>> {
    let (world, _) = cluster.server().store().world_and_subscribe();
    world.iter().filter_map(|change| change.new.clone()).collect()
}

/// The uids of every object that there is now.
pub(super) fn uids(cluster: &TestCluster) -> BTreeSet<String> {
    living(cluster).iter().map(|object| object.uid.to_string()).collect()
}

/// The objects that replicas created and that are still there, with who did it.
pub(super) fn created(cluster: &TestCluster) -> Vec<(Arc<str>, Arc<Stored>)> {
    let store = cluster.server().store();
    let mut created = BTreeMap::new();
    for deed in deeds(cluster) {
        if let (None, Some(new)) = (&deed.effect.old, &deed.effect.new)
            && let Some(now) = store.get(&new.key)
            && now.uid == new.uid
        {
            created.insert(now.key.clone(), (deed.replica, now));
        }
    }
    created.into_values().collect()
}

/// What the store calls objects of a kind.
pub(super) fn storage_name(kind: &Kind) -> String {
    match kind.group() {
        "" => kind.plural().to_owned(),
        group => format!("{}.{group}", kind.plural()),
    }
}

/// `deployments.apps default/hello`
pub(super) fn title(key: &Key) -> String {
    if key.namespace.is_empty() {
        format!("{} {}", key.resource, key.name)
    } else {
        format!("{} {}/{}", key.resource, key.namespace, key.name)
    }
}

/// The owner reference that is marked as the controller.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}
