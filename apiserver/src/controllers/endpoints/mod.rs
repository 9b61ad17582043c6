//! Where the pods of a Service can be reached: Endpoints, EndpointSlices, and the mirroring of hand-made Endpoints.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::Seen;
use super::cache::SelectorIndex;
use super::kinds::{PODS, SERVICES};
use super::object::{Key, Object};
use super::queue::Queue;
use super::selector::Selector;
use crate::simulate::pods;

pub use mirror::Mirror;
pub use slices::Slices;
pub use subsets::Endpoints;

mod mirror;
mod slices;
mod subsets;
mod trigger;

const HEADLESS: &str = "service.kubernetes.io/headless";
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Wakes the Services that a change of a Service or a pod concerns.
fn wake_services(seen: &Seen<'_>, selectors: &SelectorIndex, queue: &Queue<Key>) {
    if seen.is(&SERVICES) {
        let key = Key::of(seen.object);
        selectors.set(
            &key,
            (!seen.deleted).then(|| Selector::of_map(seen.object.at("spec.selector"))),
        );
        queue.add(key);
    } else if seen.is(&PODS) {
        let mut keys = selectors.selecting(seen.object);
        if let Some(old) = seen.old.filter(|old| old.labels() != seen.object.labels()) {
            keys.extend(selectors.selecting(old));
        }
        keys.into_iter().for_each(|key| queue.add(key));
    }
}

/// Whether the Service has pods of its own: a selector, and a name inside the cluster.
fn has_endpoints(service: &Value) -> bool {
    service.at("spec.selector").is_some() && service.text("spec.type") != "ExternalName"
}

/// Whether a pod can be reached at all.
fn is_reachable(pod: &Value, terminating_too: bool) -> bool {
    !pods::is_finished(pod) && !pod.text("status.podIP").is_empty() && (terminating_too || !pod.is_deleting())
}

/// The Service's labels without those that the controllers own, plus the headless mark.
fn service_labels(service: &Value) -> Map<String, Value> {
    let mut labels = service.labels().cloned().unwrap_or_default();
    for own in [SERVICE_NAME, MANAGED_BY, HEADLESS] {
        labels.remove(own);
    }
    if service.text("spec.clusterIP") == "None" {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    labels
}

/// The Service's ports as this pod answers them; a named port that the pod lacks is left out.
fn ports_of(service: &Value, pod: &Value) -> Vec<Value> {
    let mut ports = Vec::new();
    for port in service.items("spec.ports") {
        let protocol = match port.text("protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        let Some(number) = target_port(port, pod, protocol) else {
            continue;
        };
        let mut entry = json!({ "name": port.text("name"), "port": number, "protocol": protocol });
        if let Some(app) = port.get("appProtocol") {
            entry["appProtocol"] = app.clone();
        }
        ports.push(entry);
    }
    ports
}

fn target_port(port: &Value, pod: &Value, protocol: &str) -> Option<i64> {
    match port.get("targetPort") {
        Some(Value::String(name)) => {
            let containers = pod
                .items("spec.containers")
                .iter()
                .chain(pod.items("spec.initContainers"));
            containers.flat_map(|c| c.items("ports")).find_map(|p| {
                let same = p.text("name") == name && (p.text("protocol") == protocol || p.get("protocol").is_none());
                same.then(|| p.int("containerPort")).flatten()
            })
        }
        Some(number) if number.as_i64().is_some_and(|n| n != 0) => number.as_i64(),
        _ => port.int("port"),
    }
}

/// The reference to a pod that an address carries.
fn target_ref(pod: &Value) -> Value {
    json!({ "kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid() })
}

/// The pod's host name, where it belongs to this Service.
fn hostname(pod: &Value, service: &Value) -> Option<String> {
    let name = pod.text("spec.hostname");
    (!name.is_empty() && pod.text("spec.subdomain") == service.name()).then(|| name.to_owned())
}

/// The pod's addresses by family.
fn addresses(pod: &Value) -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for ip in pod
        .items("status.podIPs")
        .iter()
        .map(|i| i.text("ip"))
        .chain([pod.text("status.podIP")])
    {
        if let Some(family) = family(ip) {
            found.entry(family).or_insert_with(|| ip.to_owned());
        }
    }
    found
}

fn family(ip: &str) -> Option<&'static str> {
    ip.parse().ok().map(|ip| match ip {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    })
}
