//! What one does with kubectl, beside applying and looking.

use std::time::Duration;

use http::{Method, Request, header};
use kubewright::k8s_openapi::api::events::v1::Event;
use kubewright::{Kind, Object};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cluster::{TestCluster, key};

impl TestCluster {
    /// Sets a label, or removes it where `value` is `None`; `kubectl label --overwrite`.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn label<K: Object>(&self, name: &str, label: &str, value: Option<&str>) -> K {
        self.patch(name, json!({ "metadata": { "labels": { label: value } } }))
            .await
    }

    /// Sets an annotation, or removes it where `value` is `None`; `kubectl annotate --overwrite`.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn annotate<K: Object>(&self, name: &str, annotation: &str, value: Option<&str>) -> K {
        self.patch(name, json!({ "metadata": { "annotations": { annotation: value } } }))
            .await
    }

    /// Asks for a number of replicas by the scale subresource, as `kubectl scale` and autoscalers do; answers the Scale.
    ///
    /// # Panics
    ///
    /// When the kind has no such subresource or the server refuses it.
    pub async fn scale<K: Object>(&self, name: &str, replicas: i32) -> Value {
        let patch = json!({ "spec": { "replicas": replicas } });
        match self.subresource::<K>(Method::PATCH, name, "scale", patch).await {
            Ok(scale) => scale,
            Err(error) => panic!("scale {} {name}: {error}", Kind::of::<K>()),
        }
    }

    /// Merges into an object's status, past its controller.
    ///
    /// # Panics
    ///
    /// When the kind has no status subresource or the server refuses it.
    pub async fn patch_status<K: Object>(&self, name: &str, status: Value) -> Value {
        let patch = json!({ "status": status });
        match self.subresource::<K>(Method::PATCH, name, "status", patch).await {
            Ok(object) => object,
            Err(error) => panic!("patch the status of {} {name}: {error}", Kind::of::<K>()),
        }
    }

    /// The Events about an object, oldest first.
    ///
    /// # Panics
    ///
    /// When the request fails.
    pub async fn events_about<K: Object>(&self, name: &str) -> Vec<Event> {
        let (kind, key) = (Kind::of::<K>(), key::<K>(name));
        let mut events = self.list::<Event>().await;
        events.retain(|event| {
            event.regarding.as_ref().is_some_and(|of| {
                of.kind.as_deref() == Some(kind.kind())
                    && of.name.as_deref() == Some(&key.name)
                    && of.namespace.as_deref().unwrap_or_default() == &*key.namespace
            })
        });
        events
    }

    /// Lets the test's time pass; operators, controllers and pods do what falls due meanwhile.
    pub async fn advance(&self, by: Duration) {
        sleep(by).await;
    }

    async fn subresource<K: Object>(
        &self,
        method: Method,
        name: &str,
        subresource: &str,
        body: Value,
    ) -> Result<Value, kubewright::kube::Error> {
        let key = key::<K>(name);
        let path = Kind::of::<K>().collection_path(key.namespace());
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}/{}/{subresource}", key.name))
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(body.to_string().into_bytes())
            .map_err(kubewright::kube::Error::HttpError)?;
        self.own_client().request(request).await
    }
}
