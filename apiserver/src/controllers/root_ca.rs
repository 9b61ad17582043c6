//! Every namespace has a ConfigMap `kube-root-ca.crt` with the certificate authority of the API server. One that is
//! deleted or edited is put back.

use serde_json::{Value, json};

use super::kinds::{CONFIG_MAPS, NAMESPACES};
use super::object::{Key, Object};
use super::queue::Queue;
use super::service_accounts::absorb;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Stored;

const NAME: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
                         such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                         distributions of Kubernetes clusters.";

/// Publishes the certificate authority.
pub struct RootCa {
    cx: Cx,
    ca: String,
}

impl RootCa {
    /// A publisher of this certificate (PEM).
    #[must_use]
    pub fn new(cx: Cx, ca: String) -> Self {
        Self { cx, ca }
    }
}

impl Controller for RootCa {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, stored: &Stored) -> bool {
        NAMESPACES.is(resource) || (&*stored.key.name == NAME && CONFIG_MAPS.is(resource))
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&NAMESPACES) && !seen.deleted && !seen.object.is_deleting() {
            queue.add(Key::new(seen.object.name(), NAME));
        } else if seen.is(&CONFIG_MAPS) && seen.object.name() == NAME {
            queue.add(Key::of(seen.object));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let gvr = CONFIG_MAPS.gvr();
        let data = json!({ "ca.crt": self.ca });
        let result = match self.cx.loopback.get(&gvr, &key.namespace, NAME).await {
            Ok(mut map) => {
                if map.get("data") == Some(&data) && map.annotation(DESCRIPTION) == Some(DESCRIBED) {
                    return Ok(Next::Wait);
                }
                map["data"] = data;
                super::object::annotate(&mut map, DESCRIPTION, DESCRIBED);
                self.cx.loopback.update(&gvr, None, map).await
            }
            Err(error) if error.code == 404 => {
                let map: Value = json!({
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": NAME, "namespace": &*key.namespace, "annotations": { DESCRIPTION: DESCRIBED },
                    },
                    "data": data,
                });
                self.cx.loopback.create(&gvr, &key.namespace, map).await
            }
            Err(error) => return Err(error),
        };
        absorb(result.map(drop))?;
        Ok(Next::Wait)
    }
}
