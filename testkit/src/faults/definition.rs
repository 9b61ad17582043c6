//! A custom kind that is taken away and comes back.

use http::{Method, Request};
use kubewright::kube::core::crd::CustomResourceExt;
use serde_json::Value;

use crate::cluster::TestCluster;

/// A custom kind that is no longer served. Dropping it does not bring it back.
#[derive(Debug)]
#[must_use = "`restore` brings the kind back"]
pub struct RemovedKind {
    cluster: TestCluster,
    name: String,
    definition: Value,
}

impl RemovedKind {
    /// Installs the definition again, as it was. Its objects are gone for good, as on a real server.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn restore(self) {
        self.cluster.apply(&self.definition).await;
        self.cluster.story().fault(&self.name, "is defined again");
    }
}

impl TestCluster {
    /// Deletes the definition of a custom kind, and with it all its objects, as `kubectl delete crd` does by mistake.
    /// Returns once the kind is no longer served: its paths answer 404 and its watches have ended.
    ///
    /// # Panics
    ///
    /// When the kind is not installed, or an object's finalizer keeps it for longer than two minutes.
    pub async fn remove_kind<K: CustomResourceExt>(&self) -> RemovedKind {
        let name = K::crd_name().to_owned();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let stored = self.definition(Method::GET, &path).await;
        let Some(stored) = stored else {
            panic!("remove_kind: {name} is not installed");
        };
        let definition = serde_json::json!({
            "apiVersion": stored["apiVersion"], "kind": stored["kind"],
            "metadata": { "name": name },
            "spec": serde_json::to_value(K::crd()).expect("a definition is plain JSON")["spec"],
        });
        self.story().fault(&name, "is deleted with all its objects");
        self.definition(Method::DELETE, &path).await;
        let gone = format!("the definition {name} is gone");
        self.eventually(&gone, || async { self.definition(Method::GET, &path).await.is_none() })
            .await;
        RemovedKind {
            cluster: self.clone(),
            name,
            definition,
        }
    }

    async fn definition(&self, method: Method, path: &str) -> Option<Value> {
        let request = Request::builder().method(&method).uri(path).body(Vec::new());
        let request = request.expect("the path of a definition is a URL");
        match self.own_client().request::<Value>(request).await {
            Ok(definition) => Some(definition),
            Err(kubewright::kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}
