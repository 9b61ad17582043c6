//! Somebody else who works in the cluster.

use http::{Method, Request, header};
use kubewright::kube;
use kubewright::{Kind, Object};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cluster::{TestCluster, key};

/// Another user of the cluster, with all rights, a name in the story and a field manager of its own: a person with
/// kubectl, another controller, a script. [`TestCluster::actor`] makes it.
///
/// Faults do not hit it unless they name it.
#[derive(Clone)]
pub struct Actor {
    name: String,
    client: kube::Client,
}

impl TestCluster {
    /// Somebody else who works in the cluster, under this name.
    #[must_use]
    pub fn actor(&self, name: &str) -> Actor {
        Actor {
            name: name.to_owned(),
            client: self.client_as(name, &["system:masters"]),
        }
    }
}

impl Actor {
    /// The user's name, which is its field manager as well.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A client of this user, for what has no helper here.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Changes an object with a JSON merge patch, whoever owns it.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn edit<K: Object>(&self, name: &str, patch: Value) -> K {
        self.object::<K, K>("edit", Method::PATCH, name, Some(patch)).await
    }

    /// Applies an object by server-side apply and takes every field that it names, whoever owns it.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn apply<K: Object>(&self, object: &Value) -> K {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str();
        let name = text("name").unwrap_or_default();
        let kind = Kind::of::<K>();
        let namespace = kind.namespaced().then(|| text("namespace").unwrap_or("default"));
        let path = format!(
            "{}/{name}?fieldManager={}&force=true",
            kind.collection_path(namespace),
            self.name
        );
        self.send(
            "apply",
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            Some(object.clone()),
        )
        .await
    }

    /// Deletes an object; finalizers and dependents take their time.
    ///
    /// # Panics
    ///
    /// When there is no such object.
    pub async fn delete<K: Object>(&self, name: &str) {
        self.object::<K, Value>("delete", Method::DELETE, name, None).await;
    }

    /// Deletes an object and creates it again at once, with the same labels, annotations and content: another uid, no
    /// owner, no finalizer, no status.
    ///
    /// An operator may be faster to put back what it owns; pause it first where this one has to win.
    ///
    /// # Panics
    ///
    /// When there is no such object, a finalizer keeps it there, or somebody else was faster.
    pub async fn recreate<K: Object>(&self, name: &str) -> K {
        let mut object: Value = self.object::<K, Value>("recreate", Method::GET, name, None).await;
        self.delete::<K>(name).await;
        let metadata = object["metadata"].take();
        object["metadata"] = json!({});
        for field in ["name", "namespace", "labels", "annotations"] {
            if !metadata[field].is_null() {
                object["metadata"][field] = metadata[field].clone();
            }
        }
        if let Some(object) = object.as_object_mut() {
            object.remove("status");
        }
        self.create(&object).await
    }

    /// Creates an object.
    ///
    /// # Panics
    ///
    /// When the server refuses it, as it does where one of that name is there.
    pub async fn create<K: Object>(&self, object: &Value) -> K {
        let kind = Kind::of::<K>();
        let namespace = kind
            .namespaced()
            .then(|| object["metadata"]["namespace"].as_str().unwrap_or("default"));
        let path = format!("{}?fieldManager={}", kind.collection_path(namespace), self.name);
        self.send("create", Method::POST, &path, "application/json", Some(object.clone()))
            .await
    }

    /// Adds a finalizer at the end of the list.
    ///
    /// # Panics
    ///
    /// When there is no such object, or it is being deleted.
    pub async fn add_finalizer<K: Object>(&self, name: &str, finalizer: &str) -> K {
        let mut finalizers = self.finalizers::<K>(name).await;
        finalizers.push(finalizer.to_owned());
        self.edit(name, json!({ "metadata": { "finalizers": finalizers } }))
            .await
    }

    /// Removes a finalizer; an object that is being deleted goes with its last one.
    ///
    /// # Panics
    ///
    /// When there is no such object, or it has no such finalizer.
    pub async fn remove_finalizer<K: Object>(&self, name: &str, finalizer: &str) {
        let mut finalizers = self.finalizers::<K>(name).await;
        let before = finalizers.len();
        finalizers.retain(|other| other != finalizer);
        assert!(
            finalizers.len() < before,
            "{} {name} has no finalizer {finalizer}",
            Kind::of::<K>()
        );
        self.edit::<K>(name, json!({ "metadata": { "finalizers": finalizers } }))
            .await;
    }

    /// Takes an object from its owners: it belongs to nobody then.
    ///
    /// # Panics
    ///
    /// When there is no such object.
    pub async fn disown<K: Object>(&self, name: &str) -> K {
        self.edit(name, json!({ "metadata": { "ownerReferences": null } }))
            .await
    }

    async fn finalizers<K: Object>(&self, name: &str) -> Vec<String> {
        let object: Value = self.object::<K, Value>("read", Method::GET, name, None).await;
        serde_json::from_value(object["metadata"]["finalizers"].clone()).unwrap_or_default()
    }

    async fn object<K: Object, T: DeserializeOwned>(
        &self,
        doing: &str,
        method: Method,
        name: &str,
        patch: Option<Value>,
    ) -> T {
        let key = key::<K>(name);
        let manager = if patch.is_some() {
            format!("?fieldManager={}", self.name)
        } else {
            String::new()
        };
        let path = format!(
            "{}/{}{manager}",
            Kind::of::<K>().collection_path(key.namespace()),
            key.name
        );
        self.send(doing, method, &path, "application/merge-patch+json", patch)
            .await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<Value>,
    ) -> T {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, content_type)
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default());
        let request = request.expect("a kind's path is a URL");
        match self.client.request(request).await {
            Ok(answer) => answer,
            Err(error) => panic!("{} cannot {doing} {path}: {error}", self.name),
        }
    }
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actor")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
