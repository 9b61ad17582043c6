//! ResourceQuotas: what a namespace uses of what it may use.
//!
//! Whether a create fits is for the admission plugin ResourceQuota to say; this controller recounts `status.used` whenever an object of a
//! namespace with a quota comes, goes or, for pods, finishes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::kinds::{PODS, RESOURCE_QUOTAS};
use super::object::{Key, Object};
use super::queue::Queue;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::schema::quantity::Quantity;
use crate::simulate::pods;
use crate::storage::Stored;

/// The quota controller.
pub struct Quotas {
    cx: Cx,
    namespaces: Mutex<BTreeMap<Arc<str>, BTreeSet<Key>>>,
}

impl Quotas {
    /// A controller that knows of no quota yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            namespaces: Mutex::default(),
        }
    }

    fn quotas_in(&self, namespace: &str) -> Vec<Key> {
        let namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        namespaces.get(namespace).into_iter().flatten().cloned().collect()
    }

    /// The sum of what the objects of a namespace use of the resources that `hard` names.
    async fn used(&self, quota: &Value) -> Result<Map<String, Value>, ApiError> {
        let hard = quota
            .at("spec.hard")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let mut sums: BTreeMap<String, Quantity> = BTreeMap::new();
        let mut counted = BTreeSet::new();
        for resource in self.cx.loopback.catalog().iter() {
            let relevant = hard.keys().any(|name| concerns(name, resource));
            if !resource.namespaced || !relevant || !counted.insert(resource.stored_under.to_string()) {
                continue;
            }
            let (objects, _) = self.cx.loopback.list(&resource.gvr(), quota.namespace(), "").await?;
            for object in objects.iter().filter(|o| covers(quota, resource, o)) {
                for (name, amount) in usage(resource, object) {
                    if hard.contains_key(&name) {
                        let sum = sums.get(&name).copied();
                        sums.insert(name, sum.map_or(amount, |s| s.plus(amount)));
                    }
                }
            }
        }
        let of = |name: &String| sums.get(name).map_or_else(|| "0".to_owned(), |sum| sum.canonical());
        Ok(hard.keys().map(|name| (name.clone(), of(name).into())).collect())
    }
}

/// What an object uses, by the names that quotas have for it.
#[must_use]
pub(crate) fn usage(resource: &Resource, object: &Value) -> BTreeMap<String, Quantity> {
    let mut used = BTreeMap::new();
    let mut add = |name: String, amount: &str| {
        if let Some(amount) = Quantity::parse(amount) {
            used.insert(name, amount);
        }
    };
    if PODS.is(resource) && pods::is_finished(object) {
        add("count/pods".to_owned(), "1");
        return used;
    }
    add(format!("count/{}", resource.group_resource()), "1");
    if resource.group.is_empty() && PLAIN.contains(&resource.plural.as_str()) {
        add(resource.plural.clone(), "1");
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => {
            let kind = object.text("spec.type");
            if kind == "LoadBalancer" {
                add("services.loadbalancers".to_owned(), "1");
            }
            if matches!(kind, "NodePort" | "LoadBalancer") {
                let ports = object
                    .items("spec.ports")
                    .iter()
                    .filter(|p| p.int("nodePort").is_some())
                    .count();
                add("services.nodeports".to_owned(), &ports.to_string());
            }
        }
        ("", "persistentvolumeclaims") => {
            let storage = object.text("spec.resources.requests.storage").to_owned();
            add("requests.storage".to_owned(), &storage);
            let class = object.text("spec.storageClassName").to_owned();
            if !class.is_empty() {
                add(
                    format!("{class}.storageclass.storage.k8s.io/requests.storage"),
                    &storage,
                );
                add(
                    format!("{class}.storageclass.storage.k8s.io/persistentvolumeclaims"),
                    "1",
                );
            }
        }
        ("", "pods") => used.extend(compute(object)),
        _ => {}
    }
    used
}

/// Core resources that quotas count by their plain name.
const PLAIN: [&str; 7] = [
    "pods",
    "services",
    "configmaps",
    "secrets",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
];

/// Requests and limits of a pod: the sum of its containers, or an init container that needs more.
fn compute(pod: &Value) -> BTreeMap<String, Quantity> {
    let mut used = BTreeMap::new();
    for field in ["requests", "limits"] {
        let mut sums: BTreeMap<String, Quantity> = BTreeMap::new();
        let path = format!("resources.{field}");
        let each = |container: &Value| -> Vec<(String, Quantity)> {
            let amounts = container.at(&path).and_then(Value::as_object);
            amounts
                .into_iter()
                .flatten()
                .filter_map(|(k, v)| Some((k.clone(), Quantity::parse(v.as_str()?)?)))
                .collect()
        };
        for (name, amount) in pod.items("spec.containers").iter().flat_map(each) {
            let sum = sums.get(&name).copied();
            sums.insert(name, sum.map_or(amount, |s| s.plus(amount)));
        }
        for (name, amount) in pod.items("spec.initContainers").iter().flat_map(each) {
            if sums.get(&name).is_none_or(|sum| sum.compare(amount).is_lt()) {
                sums.insert(name, amount);
            }
        }
        for (name, amount) in sums {
            if field == "requests" && matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
                used.insert(name.clone(), amount);
            }
            used.insert(format!("{field}.{name}"), amount);
        }
    }
    used
}

/// Whether a quota's entry can be about this resource at all.
fn concerns(name: &str, resource: &Resource) -> bool {
    let counted = name
        .strip_prefix("count/")
        .is_some_and(|r| r == resource.group_resource());
    counted
        || (resource.group.is_empty()
            && match resource.plural.as_str() {
                "pods" => {
                    name == "pods"
                        || matches!(name, "cpu" | "memory" | "ephemeral-storage")
                        || name.starts_with("limits.")
                        || (name.starts_with("requests.") && name != "requests.storage")
                }
                "services" => name.starts_with("services"),
                "persistentvolumeclaims" => {
                    name == "persistentvolumeclaims" || name == "requests.storage" || name.contains(".storageclass.")
                }
                plural => name == plural,
            })
}

/// Whether an object falls under the quota's scopes.
#[must_use]
pub(crate) fn covers(quota: &Value, resource: &Resource, object: &Value) -> bool {
    if !PODS.is(resource) {
        return true;
    }
    let best_effort = object.text("status.qosClass") == "BestEffort";
    let terminating = object.int("spec.activeDeadlineSeconds").is_some();
    let holds = |scope: &str| match scope {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => best_effort,
        "NotBestEffort" => !best_effort,
        _ => true,
    };
    let class = |e: &Value| {
        if e.text("scopeName") != "PriorityClass" {
            return holds(e.text("scopeName"));
        }
        let name = object.text("spec.priorityClassName");
        let listed = e.items("values").iter().any(|v| v.as_str() == Some(name));
        match e.text("operator") {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => !name.is_empty(),
            "DoesNotExist" => name.is_empty(),
            _ => false,
        }
    };
    quota.items("spec.scopes").iter().filter_map(Value::as_str).all(holds)
        && quota.items("spec.scopeSelector.matchExpressions").iter().all(class)
}

impl Controller for Quotas {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, stored: &Stored) -> bool {
        if RESOURCE_QUOTAS.is(resource) {
            return true;
        }
        let namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        !namespaces.is_empty() && namespaces.contains_key(&stored.key.namespace)
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&RESOURCE_QUOTAS) {
            let key = Key::of(seen.object);
            let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            let quotas = namespaces.entry(Arc::clone(&key.namespace)).or_default();
            if seen.deleted {
                quotas.remove(&key);
                if quotas.is_empty() {
                    namespaces.remove(&key.namespace);
                }
            } else {
                quotas.insert(key.clone());
                queue.add(key);
            }
            return;
        }
        let changed = match seen.old {
            _ if seen.deleted => true,
            None => true,
            Some(old) => seen.is(&PODS) && pods::is_finished(old) != pods::is_finished(seen.object),
        };
        if changed {
            self.quotas_in(seen.object.namespace())
                .into_iter()
                .for_each(|key| queue.add(key));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let gvr = RESOURCE_QUOTAS.gvr();
        let mut quota = match self.cx.loopback.get(&gvr, &key.namespace, &key.name).await {
            Ok(quota) => quota,
            Err(error) if error.code == 404 => return Ok(Next::Wait),
            Err(error) => return Err(error),
        };
        let hard = quota.at("spec.hard").cloned().unwrap_or_else(|| Map::new().into());
        let used = self.used(&quota).await?;
        let mut status = Map::new();
        status.insert("hard".to_owned(), hard);
        status.insert("used".to_owned(), used.into());
        let status = Value::from(status);
        if quota.get("status") != Some(&status) {
            quota["status"] = status;
            match self.cx.loopback.update(&gvr, Some("status"), quota).await {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(Next::Wait)
    }
}
