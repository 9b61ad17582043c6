//! Rewrites what is stored in an older version of a kind, once another version is the one that is stored.
//!
//! etcd holds each object in the version that was stored when it was last written. A version can be taken out of a
//! definition only when nothing is stored in it any more, which the definition's `status.storedVersions` says; nobody but
//! who has rewritten all objects may shorten that list.
//!
//! An empty patch makes the server write the object anew, in the version that is stored now, and changes nothing: it
//! cannot overwrite what somebody else writes at the same time. How far it came is kept in a ConfigMap.

use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::env::Env;
use crate::kind::Kind;

/// Objects of one list.
const PAGE: usize = 100;
/// How long a write waits after the one before it: 20 a second leave a server room for others.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a migration looks whether there is one to do.
const CHECK: Duration = Duration::from_secs(600);
/// How long it waits after a fault.
const RETRY: Duration = Duration::from_secs(30);
/// How many objects that could not be written a message names.
const MOST_NAMED: usize = 3;

/// The migration of one kind.
pub(crate) struct Migration {
    client: Client,
    kind: Kind,
    operator: String,
    namespace: String,
}

/// The name of the ConfigMap that holds how far the migrations of an operator came.
pub(crate) fn progress_name(operator: &str) -> String {
    format!("{operator}-storage-migration")
}

/// What a look at the definition told.
struct Due {
    storage: String,
}

impl Migration {
    pub(crate) fn new(client: Client, kind: Kind, operator: &str) -> Self {
        Self {
            namespace: client.default_namespace().to_owned(),
            client,
            kind,
            operator: operator.to_owned(),
        }
    }

    /// Migrates whenever there is something to migrate, for ever.
    ///
    /// # Cancel safety
    ///
    /// Safe: another run goes on from the page that was begun.
    pub(crate) async fn run(&self, env: &Env) {
        let mut told = String::new();
        loop {
            let wait = match self.migrate().await {
                Ok(0) => CHECK,
                Ok(rewritten) => {
                    tracing::info!(kind = %self.kind, rewritten, "everything is stored in the current version");
                    CHECK
                }
                Err(why) => {
                    if why != told {
                        tracing::warn!(kind = %self.kind, "the stored objects cannot be migrated: {why}; it is tried again");
                        told = why;
                    }
                    RETRY
                }
            };
            sleep(wait.mul_f64(0.9 + 0.2 * env.fraction())).await;
        }
    }

    /// Rewrites all objects if there may be some in an older version; tells how many there were.
    async fn migrate(&self) -> Result<u64, String> {
        let Some(due) = self.due().await? else { return Ok(0) };
        let mut place = self.progress(&due).await?;
        let mut rewritten = 0;
        let mut failed: Vec<String> = Vec::new();
        loop {
            let Ok(page) = self.page(&place).await? else {
                // The place is no longer known: from the start, where most need no write any more.
                place.clear();
                continue;
            };
            for item in page["items"].as_array().into_iter().flatten() {
                rewritten += 1;
                if let Err(why) = self.rewrite(&item["metadata"]).await {
                    failed.push(why);
                }
                sleep(PAUSE).await;
            }
            place = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if place.is_empty() {
                break;
            }
            self.keep(&due, &place).await?;
        }
        if !failed.is_empty() {
            self.keep(&due, "").await?;
            let named: Vec<&str> = failed.iter().take(MOST_NAMED).map(String::as_str).collect();
            return Err(format!(
                "{} objects cannot be written: {}",
                failed.len(),
                named.join("; ")
            ));
        }
        self.trim(&due).await?;
        self.forget().await?;
        Ok(rewritten)
    }

    /// Whether something may be stored in another version than the current.
    async fn due(&self) -> Result<Option<Due>, String> {
        let definition = self.get(&self.definition()).await?;
        let versions = definition["spec"]["versions"].as_array();
        let storage = versions
            .into_iter()
            .flatten()
            .find(|version| version["storage"] == true);
        let storage = storage.and_then(|version| version["name"].as_str()).unwrap_or_default();
        let stored = &definition["status"]["storedVersions"];
        let settled = stored.is_null() || *stored == json!([storage]);
        Ok((!settled).then(|| Due {
            storage: storage.to_owned(),
        }))
    }

    /// A page of the metadata of all objects; none where its place is no longer known.
    async fn page(&self, place: &str) -> Result<Result<Value, ()>, String> {
        let mut path = format!("{}?limit={PAGE}", self.kind.collection_path(None));
        if !place.is_empty() {
            path = format!("{path}&continue={place}");
        }
        let request = Request::get(&path)
            .header(
                ACCEPT,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            )
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        match self.client.request(request).await {
            Ok(page) => Ok(Ok(page)),
            Err(kube::Error::Api(status)) if status.code == 410 => Ok(Err(())),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    /// Has the server write one object anew.
    async fn rewrite(&self, metadata: &Value) -> Result<(), String> {
        let name = metadata["name"].as_str().unwrap_or_default();
        let namespace = metadata["namespace"].as_str();
        let path = format!("{}/{name}", self.kind.collection_path(namespace));
        match self.merge(&path, &json!({})).await {
            Ok(()) => Ok(()),
            // It is gone, or somebody else has just written it.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(format!(
                "{}{name}: {error}",
                namespace.map(|ns| format!("{ns}/")).unwrap_or_default()
            )),
        }
    }

    /// Says that nothing is stored in another version.
    async fn trim(&self, due: &Due) -> Result<(), String> {
        let path = self.definition();
        let definition = self.get(&path).await?;
        let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
        let still = versions
            .clone()
            .any(|version| version["storage"] == true && version["name"] == *due.storage);
        if !still {
            return Err("another version is stored since it began".to_owned());
        }
        let patch = json!({
            "metadata": { "resourceVersion": definition["metadata"]["resourceVersion"] },
            "status": { "storedVersions": [due.storage] },
        });
        let path = format!("{path}/status");
        self.merge(&path, &patch)
            .await
            .map_err(|error| format!("{path}: {error}"))
    }

    /// The place that an earlier run came to.
    async fn progress(&self, due: &Due) -> Result<String, String> {
        let path = self.progress_path();
        let request = Request::get(&path)
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        let kept: Value = match self.client.request(request).await {
            Ok(kept) => kept,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(String::new()),
            Err(error) => return Err(format!("{path}: {error}")),
        };
        let of_kind = kept["data"][self.kind.to_string()].as_str().unwrap_or_default();
        let (storage, place) = of_kind.split_once(' ').unwrap_or_default();
        Ok(if storage == due.storage {
            place.to_owned()
        } else {
            String::new()
        })
    }

    /// Writes down how far it came.
    async fn keep(&self, due: &Due, place: &str) -> Result<(), String> {
        let key = self.kind.to_string();
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": progress_name(&self.operator),
                "labels": { "app.kubernetes.io/managed-by": "kubewright", "app.kubernetes.io/name": self.operator },
            },
            "data": { (key): format!("{} {place}", due.storage) },
        });
        let path = self.progress_path();
        match self.merge(&path, &map).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let maps = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
                let request = Request::post(&maps)
                    .header(CONTENT_TYPE, "application/json")
                    .body(map.to_string().into_bytes())
                    .map_err(|error| error.to_string())?;
                let created: kube::Result<Value> = self.client.request(request).await;
                created.map(|_| ()).map_err(|error| format!("{maps}: {error}"))
            }
            other => other.map_err(|error| format!("{path}: {error}")),
        }
    }

    async fn forget(&self) -> Result<(), String> {
        let key = self.kind.to_string();
        match self
            .merge(&self.progress_path(), &json!({ "data": { (key): null } }))
            .await
        {
            Ok(()) => Ok(()),
            // A migration of one page never wrote it.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        self.client
            .request(request)
            .await
            .map_err(|error| format!("{path}: {error}"))
    }

    async fn merge(&self, path: &str, patch: &Value) -> kube::Result<()> {
        let request = Request::patch(path)
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        let _: Value = self.client.request(request).await?;
        Ok(())
    }

    fn definition(&self) -> String {
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", self.kind)
    }

    fn progress_path(&self) -> String {
        let name = progress_name(&self.operator);
        format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace)
    }
}
