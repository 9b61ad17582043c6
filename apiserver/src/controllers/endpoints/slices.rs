//! EndpointSlices: the addresses of a Service in pieces of at most a hundred, one address family and one set of ports
//! each. A Service without addresses has one empty slice per family.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::trigger::TriggerTimes;
use super::{
    MANAGED_BY, SERVICE_NAME, TRIGGER_TIME, addresses, has_endpoints, hostname, is_reachable, ports_of, service_labels,
    target_ref, wake_services,
};
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{ENDPOINT_SLICES, PODS, SERVICES};
use crate::controllers::object::{Key, Object, controller_reference, set_annotation};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::service_accounts::absorb;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::simulate::pods;

const MANAGER: &str = "endpointslice-controller.k8s.io";
/// Addresses in one slice at most.
const CAPACITY: usize = 100;

/// The EndpointSlice controller.
pub struct Slices {
    cx: Cx,
    selectors: SelectorIndex,
    times: TriggerTimes,
}

/// Address family and ports: what the endpoints of one slice have in common.
type Group = (&'static str, String);

/// One slice as it should be; without a present object where it has to be made.
struct Wanted {
    present: Option<Arc<Value>>,
    family: &'static str,
    ports: Value,
    endpoints: Vec<Value>,
}

impl Slices {
    /// A controller that has seen no Service yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
            times: TriggerTimes::default(),
        }
    }

    fn present(&self, service: &Value) -> Vec<Arc<Value>> {
        let mut slices = self.cx.cache.controlled_by(&ENDPOINT_SLICES, service.uid());
        slices.retain(|s| s.label(MANAGED_BY) == Some(MANAGER) && !s.is_deleting());
        slices
    }

    async fn write(
        &self,
        service: &Value,
        wanted: Wanted,
        labels: &Map<String, Value>,
        time: Option<&str>,
    ) -> Result<(), ApiError> {
        let endpoints = if wanted.endpoints.is_empty() {
            Value::Null
        } else {
            wanted.endpoints.into()
        };
        let mut slice = match &wanted.present {
            Some(present) => {
                let get = |field: &str| present.get(field).unwrap_or(&Value::Null);
                if get("endpoints") == &endpoints && get("ports") == &wanted.ports && present.labels() == Some(labels) {
                    return Ok(());
                }
                (**present).clone()
            }
            None => json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "generateName": format!("{}-", service.name()),
                    "namespace": service.namespace(),
                    "ownerReferences": [controller_reference(service, &SERVICES)],
                },
                "addressType": wanted.family,
            }),
        };
        slice["endpoints"] = endpoints;
        slice["ports"] = wanted.ports;
        slice["metadata"]["labels"] = labels.clone().into();
        set_annotation(&mut slice, TRIGGER_TIME, time);
        let gvr = ENDPOINT_SLICES.gvr();
        let written = match wanted.present {
            Some(_) => self.cx.loopback.update(&gvr, None, slice).await,
            None => self.cx.loopback.create(&gvr, service.namespace(), slice).await,
        };
        absorb(written.map(drop))
    }
}

/// The endpoints that a Service should have, by what slices have in common.
fn desired(service: &Value, of: &[Arc<Value>]) -> BTreeMap<Group, (Value, Vec<Value>)> {
    let families: Vec<&str> = match service.items("spec.ipFamilies") {
        [] => vec!["IPv4"],
        families => families.iter().filter_map(Value::as_str).collect(),
    };
    let mut groups: BTreeMap<Group, (Value, Vec<Value>)> = BTreeMap::new();
    for pod in of.iter().filter(|p| is_reachable(p, true)) {
        let ports = match ports_of(service, pod) {
            ports if ports.is_empty() => Value::Null,
            ports => ports.into(),
        };
        let (serving, terminating) = (pods::is_ready(pod), pod.is_deleting());
        let ready = service.flag("spec.publishNotReadyAddresses") || (serving && !terminating);
        for (family, address) in addresses(pod) {
            if !families.contains(&family) {
                continue;
            }
            let mut endpoint = json!({
                "addresses": [address],
                "conditions": { "ready": ready, "serving": serving, "terminating": terminating },
                "targetRef": target_ref(pod),
            });
            if !pod.text("spec.nodeName").is_empty() {
                endpoint["nodeName"] = pod.text("spec.nodeName").into();
            }
            if let Some(hostname) = hostname(pod, service) {
                endpoint["hostname"] = hostname.into();
            }
            let group = groups
                .entry((family, ports.to_string()))
                .or_insert_with(|| (ports.clone(), Vec::new()));
            group.1.push(endpoint);
        }
    }
    // Where nothing is reachable a slice without endpoints says so.
    for family in families {
        let family = if family == "IPv6" { "IPv6" } else { "IPv4" };
        if !groups.keys().any(|(f, _)| *f == family) {
            groups.insert((family, "null".to_owned()), (Value::Null, Vec::new()));
        }
    }
    for (_, endpoints) in groups.values_mut() {
        endpoints.sort_by(|a, b| a.text("targetRef.name").cmp(b.text("targetRef.name")));
        endpoints.sort_by(|a, b| first_address(a).cmp(first_address(b)));
    }
    groups
}

fn first_address(endpoint: &Value) -> &str {
    endpoint
        .items("addresses")
        .first()
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// Spreads endpoints over the slices that exist, changing as few as possible, and over new ones.
fn place(groups: BTreeMap<Group, (Value, Vec<Value>)>, mut present: Vec<Arc<Value>>) -> (Vec<Wanted>, Vec<Arc<Value>>) {
    let mut wanted = Vec::new();
    for ((family, _), (ports, mut endpoints)) in groups {
        // An empty slice takes any ports.
        let fits = |s: &Arc<Value>| {
            s.text("addressType") == family
                && (s.get("ports").unwrap_or(&Value::Null) == &ports
                    || s.items("endpoints").is_empty()
                    || endpoints.is_empty())
        };
        let (fitting, rest): (Vec<_>, Vec<_>) = present.into_iter().partition(fits);
        present = rest;
        let mut kept: Vec<Wanted> = Vec::new();
        for slice in fitting {
            let mut stay = Vec::new();
            for old in slice.items("endpoints") {
                let same = |e: &Value| e.text("targetRef.uid") == old.text("targetRef.uid");
                if let Some(at) = endpoints.iter().position(same) {
                    stay.push(endpoints.remove(at));
                }
            }
            kept.push(Wanted {
                present: Some(slice),
                family,
                ports: ports.clone(),
                endpoints: stay,
            });
        }
        let mut left = endpoints.into_iter();
        for slice in &mut kept {
            slice
                .endpoints
                .extend(left.by_ref().take(CAPACITY.saturating_sub(slice.endpoints.len())));
        }
        let mut rest: Vec<Value> = left.collect();
        while !rest.is_empty() || kept.is_empty() {
            let piece = rest.drain(..rest.len().min(CAPACITY)).collect();
            kept.push(Wanted {
                present: None,
                family,
                ports: ports.clone(),
                endpoints: piece,
            });
        }
        // One slice stays for a group even when it is empty; the others need not.
        let mut any = kept.iter().any(|k| !k.endpoints.is_empty());
        for slice in kept {
            if slice.endpoints.is_empty() && any {
                present.extend(slice.present);
            } else {
                any = true;
                wanted.push(slice);
            }
        }
    }
    (wanted, present)
}

impl Controller for Slices {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        wake_services(seen, &self.selectors, queue);
        if seen.is(&ENDPOINT_SLICES)
            && seen.object.label(MANAGED_BY) == Some(MANAGER)
            && let Some(service) = seen.object.label(SERVICE_NAME)
        {
            queue.add(Key::new(seen.object.namespace(), service));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(service) = self.cx.cache.get(&SERVICES, key) else {
            self.times.forget(key);
            return Ok(Next::Wait);
        };
        if !has_endpoints(&service) || service.is_deleting() {
            return Ok(Next::Wait);
        }
        let selector = Selector::of_map(service.at("spec.selector"));
        let pods = self.cx.cache.select(&PODS, &key.namespace, &selector);
        let time = self.times.next(key, &service, &pods);
        let (wanted, surplus) = place(desired(&service, &pods), self.present(&service));
        let mut labels = service_labels(&service);
        labels.insert(SERVICE_NAME.to_owned(), service.name().into());
        labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
        for slice in wanted {
            self.write(&service, slice, &labels, time.as_deref()).await?;
        }
        for slice in surplus {
            let gvr = ENDPOINT_SLICES.gvr();
            absorb(
                self.cx
                    .loopback
                    .delete(&gvr, &key.namespace, slice.name(), Value::Null)
                    .await
                    .map(drop),
            )?;
        }
        Ok(Next::Wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(n: usize) -> Arc<Value> {
        Arc::new(json!({
            "metadata": {"name": format!("p{n:03}"), "uid": format!("u{n}")},
            "status": {"podIP": format!("10.0.{}.{}", n / 100, n % 100), "phase": "Running"},
        }))
    }

    fn service() -> Value {
        json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    }

    #[test]
    fn a_service_without_pods_has_one_empty_slice() {
        let (wanted, surplus) = place(desired(&service(), &[]), Vec::new());
        assert_eq!(wanted.len(), 1);
        assert!(wanted[0].endpoints.is_empty() && wanted[0].ports.is_null() && surplus.is_empty());
    }

    #[test]
    fn more_than_a_hundred_endpoints_need_another_slice_and_placed_ones_stay() {
        let pods: Vec<_> = (0..150).map(pod).collect();
        let (wanted, _) = place(desired(&service(), &pods), Vec::new());
        assert_eq!(wanted.iter().map(|w| w.endpoints.len()).collect::<Vec<_>>(), [100, 50]);
        let slices: Vec<_> = wanted
            .iter()
            .map(|w| Arc::new(json!({"addressType": "IPv4", "ports": w.ports, "endpoints": w.endpoints})))
            .collect();
        // The first thirty pods go: the second slice stays as it is.
        let (wanted, surplus) = place(desired(&service(), &pods[30..]), slices);
        assert_eq!(wanted.iter().map(|w| w.endpoints.len()).collect::<Vec<_>>(), [70, 50]);
        assert!(surplus.is_empty());
    }
}
