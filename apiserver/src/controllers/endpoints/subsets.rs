//! Endpoints: one object per Service, all its addresses grouped by the ports that they answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::trigger::TriggerTimes;
use super::{TRIGGER_TIME, has_endpoints, hostname, is_reachable, ports_of, service_labels, target_ref, wake_services};
use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::{ENDPOINTS, PODS, SERVICES};
use crate::controllers::object::{Key, Object, set, set_annotation};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::service_accounts::absorb;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::simulate::pods;

const MANAGED: &str = "endpoints.kubernetes.io/managed-by";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// Addresses in one object at most.
const CAPACITY: usize = 1000;

/// The Endpoints controller.
pub struct Endpoints {
    cx: Cx,
    selectors: SelectorIndex,
    times: TriggerTimes,
}

/// Ready and unready addresses, each under its address as text.
type Addresses = [BTreeMap<String, Value>; 2];

impl Endpoints {
    /// A controller that has seen no Service yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            selectors: SelectorIndex::default(),
            times: TriggerTimes::default(),
        }
    }
}

/// Groups the pods' addresses by their ports; answers also whether some had to be left out.
fn subsets(service: &Value, of: &[std::sync::Arc<Value>]) -> (Vec<Value>, bool) {
    let unready_too = service.flag("spec.publishNotReadyAddresses");
    let mut groups: BTreeMap<String, (Vec<Value>, Addresses)> = BTreeMap::new();
    let mut left = CAPACITY;
    let mut cut = false;
    for pod in of.iter().filter(|p| is_reachable(p, unready_too)) {
        let mut ports = ports_of(service, pod);
        if ports.is_empty() && !service.items("spec.ports").is_empty() {
            continue;
        }
        ports.sort_by(|a, b| a.text("name").cmp(b.text("name")));
        for port in &mut ports {
            if port.text("name").is_empty() {
                set(port, "name", Value::Null);
            }
        }
        if left == 0 {
            cut = true;
            break;
        }
        left -= 1;
        let ip = pod.text("status.podIP");
        let mut address = json!({ "ip": ip, "targetRef": target_ref(pod) });
        if !pod.text("spec.nodeName").is_empty() {
            address["nodeName"] = pod.text("spec.nodeName").into();
        }
        if let Some(hostname) = hostname(pod, service) {
            address["hostname"] = hostname.into();
        }
        let slot = usize::from(!(unready_too || pods::is_ready(pod)));
        let key = Value::from(ports.clone()).to_string();
        let group = groups.entry(key).or_insert_with(|| (ports, Addresses::default()));
        group.1[slot].insert(ip.to_owned(), address);
    }
    let subset = |(ports, [ready, unready]): (Vec<Value>, Addresses)| {
        let mut subset = json!({});
        for (field, addresses) in [("addresses", ready), ("notReadyAddresses", unready)] {
            if !addresses.is_empty() {
                subset[field] = addresses.into_values().collect();
            }
        }
        if !ports.is_empty() {
            subset["ports"] = ports.into();
        }
        subset
    };
    (groups.into_values().map(subset).collect(), cut)
}

impl Controller for Endpoints {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        wake_services(seen, &self.selectors, queue);
        if seen.is(&ENDPOINTS) && seen.object.label(MANAGED).is_some() {
            queue.add(Key::of(seen.object));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let gvr = ENDPOINTS.gvr();
        let present = self.cx.cache.get(&ENDPOINTS, key);
        let Some(service) = self.cx.cache.get(&SERVICES, key) else {
            self.times.forget(key);
            if present.is_some() {
                absorb(
                    self.cx
                        .loopback
                        .delete(&gvr, &key.namespace, &key.name, Value::Null)
                        .await
                        .map(drop),
                )?;
            }
            return Ok(Next::Wait);
        };
        if !has_endpoints(&service) {
            return Ok(Next::Wait);
        }
        let selector = Selector::of_map(service.at("spec.selector"));
        let pods = self.cx.cache.select(&PODS, &key.namespace, &selector);
        let time = self.times.next(key, &service, &pods);
        let (subsets, cut) = subsets(&service, &pods);
        let mut labels = service_labels(&service);
        labels.insert(MANAGED.to_owned(), "endpoint-controller".into());
        let subsets = if subsets.is_empty() {
            Value::Null
        } else {
            subsets.into()
        };
        let mut endpoints = match &present {
            Some(present) => {
                let same = present.get("subsets").unwrap_or(&Value::Null) == &subsets
                    && present.labels() == Some(&labels)
                    && present.annotation(OVER_CAPACITY).is_some() == cut;
                if same {
                    return Ok(Next::Wait);
                }
                (**present).clone()
            }
            None => json!({
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": { "name": &*key.name, "namespace": &*key.namespace },
            }),
        };
        set(&mut endpoints, "subsets", subsets);
        endpoints["metadata"]["labels"] = labels.into();
        set_annotation(&mut endpoints, TRIGGER_TIME, time.as_deref());
        set_annotation(&mut endpoints, OVER_CAPACITY, cut.then_some("truncated"));
        let written = match present {
            Some(_) => self.cx.loopback.update(&gvr, None, endpoints).await,
            None => self.cx.loopback.create(&gvr, &key.namespace, endpoints).await,
        };
        absorb(written.map(drop))?;
        Ok(Next::Wait)
    }
}
