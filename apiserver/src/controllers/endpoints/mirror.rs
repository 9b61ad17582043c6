//! Endpoints that somebody wrote by hand for a Service without a selector are mirrored to EndpointSlices.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{MANAGED_BY, SERVICE_NAME, TRIGGER_TIME, family};
use crate::controllers::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use crate::controllers::object::{Key, Object, controller_reference};
use crate::controllers::queue::Queue;
use crate::controllers::service_accounts::absorb;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;

const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The mirroring controller.
pub struct Mirror {
    cx: Cx,
}

impl Mirror {
    /// A controller that has seen no Endpoints yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self { cx }
    }

    /// The Endpoints of that key, if they are to be mirrored.
    fn source(&self, key: &Key) -> Option<Arc<Value>> {
        let endpoints = self.cx.cache.get(&ENDPOINTS, key)?;
        let service = self.cx.cache.get(&SERVICES, key)?;
        let skipped = endpoints.label(SKIP) == Some("true") || endpoints.annotation(LEADER).is_some();
        let selects = service
            .at("spec.selector")
            .and_then(Value::as_object)
            .is_some_and(|s| !s.is_empty());
        (!skipped && !selects && !endpoints.is_deleting()).then_some(endpoints)
    }
}

/// One slice per subset and address family: type, ports, endpoints.
fn mirrored(endpoints: &Value) -> Vec<(&'static str, Value, Vec<Value>)> {
    let mut slices = Vec::new();
    for subset in endpoints.items("subsets") {
        let mut by_family: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
        for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
            for address in subset.items(field) {
                let Some(family) = family(address.text("ip")) else {
                    continue;
                };
                let mut endpoint = json!({ "addresses": [address.text("ip")], "conditions": { "ready": ready } });
                for copied in ["hostname", "nodeName", "targetRef"] {
                    if let Some(value) = address.get(copied) {
                        endpoint[copied] = value.clone();
                    }
                }
                by_family.entry(family).or_default().push(endpoint);
            }
        }
        let port = |p: &Value| {
            let mut port = p.clone();
            port["name"] = p.text("name").into();
            port
        };
        let ports: Vec<Value> = subset.items("ports").iter().map(port).collect();
        let ports = if ports.is_empty() {
            Value::Null
        } else {
            Value::from(ports)
        };
        slices.extend(
            by_family
                .into_iter()
                .map(|(family, endpoints)| (family, ports.clone(), endpoints)),
        );
    }
    slices
}

impl Controller for Mirror {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&ENDPOINTS) || seen.is(&SERVICES) {
            queue.add(Key::of(seen.object));
        } else if seen.is(&ENDPOINT_SLICES)
            && seen.object.label(MANAGED_BY) == Some(MANAGER)
            && let Some(name) = seen.object.label(SERVICE_NAME)
        {
            queue.add(Key::new(seen.object.namespace(), name));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(endpoints) = self.source(key) else {
            return Ok(Next::Wait);
        };
        let gvr = ENDPOINT_SLICES.gvr();
        let mut labels = endpoints.labels().cloned().unwrap_or_default();
        labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
        labels.insert(SERVICE_NAME.to_owned(), endpoints.name().into());
        let mut annotations: Map<String, Value> = endpoints
            .at("metadata.annotations")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        annotations.remove(TRIGGER_TIME);
        annotations.remove(LAST_APPLIED);
        let mut present = self.cx.cache.controlled_by(&ENDPOINT_SLICES, endpoints.uid());
        for (family, ports, addresses) in mirrored(&endpoints) {
            let at = present
                .iter()
                .position(|s| s.text("addressType") == family && s.get("ports") == Some(&ports));
            let mut slice = match at.map(|i| present.remove(i)) {
                Some(slice) => {
                    if slice.get("endpoints") == Some(&addresses.clone().into()) && slice.labels() == Some(&labels) {
                        continue;
                    }
                    (*slice).clone()
                }
                None => json!({
                    "apiVersion": "discovery.k8s.io/v1",
                    "kind": "EndpointSlice",
                    "metadata": {
                        "generateName": format!("{}-", endpoints.name()),
                        "namespace": endpoints.namespace(),
                        "ownerReferences": [controller_reference(&endpoints, &ENDPOINTS)],
                    },
                    "addressType": family,
                }),
            };
            slice["endpoints"] = addresses.into();
            slice["ports"] = ports;
            slice["metadata"]["labels"] = labels.clone().into();
            if !annotations.is_empty() {
                slice["metadata"]["annotations"] = annotations.clone().into();
            }
            let written = if slice.name().is_empty() {
                self.cx.loopback.create(&gvr, &key.namespace, slice).await
            } else {
                self.cx.loopback.update(&gvr, None, slice).await
            };
            absorb(written.map(drop))?;
        }
        for slice in present {
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
