//! A server in process with its controllers running, and the requests that tests send it.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use kubewright_apiserver::server::InProcess;
use kubewright_apiserver::{ApiServer, Clock, Simulate};
use serde_json::{Value, json};
use tower::Service as _;

/// A running server.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    service: InProcess,
}

impl Cluster {
    /// A server with everything simulated that can be.
    pub(crate) fn simulated() -> Self {
        Self::start(Simulate::Full, 1)
    }

    /// A server with these controllers, whose randomness follows from `seed`.
    pub(crate) fn start(simulate: Simulate, seed: u64) -> Self {
        let clock = Clock::new("2026-01-01T00:00:00Z".parse().expect("a time"), seed);
        let server = ApiServer::builder().token("t").simulate(simulate).clock(clock).build();
        let controllers = server.clone();
        tokio::spawn(async move { controllers.run_controllers().await });
        Self {
            service: server.service(),
            server,
        }
    }

    /// Sends a request; answers the code and the body.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let media = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("a method"))
            .uri(path)
            .header("authorization", "Bearer t")
            .header("content-type", media)
            .body(Full::new(body))
            .expect("a request");
        let answer = self.service.clone().call(request).await.expect("infallible");
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The body of an object that exists.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (code, body) = self.send("GET", path, &Value::Null).await;
        assert_eq!(code, 200, "{path}: {body}");
        body
    }

    /// Creates an object in the collection at `path`.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        let (code, body) = self.send("POST", path, object).await;
        assert_eq!(code, 201, "{path}: {body}");
        body
    }

    /// Applies a merge patch.
    pub(crate) async fn patch(&self, path: &str, patch: &Value) -> Value {
        let (code, body) = self.send("PATCH", path, patch).await;
        assert_eq!(code, 200, "{path}: {body}");
        body
    }

    /// Deletes with a propagation policy.
    pub(crate) async fn delete(&self, path: &str, policy: &str) {
        let (code, body) = self
            .send("DELETE", &format!("{path}?propagationPolicy={policy}"), &Value::Null)
            .await;
        assert_eq!(code, 200, "{path}: {body}");
    }

    /// The items of a list.
    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().cloned().unwrap_or_default()
    }

    /// The names in a list.
    pub(crate) async fn names(&self, path: &str) -> Vec<String> {
        self.list(path)
            .await
            .iter()
            .map(|o| o["metadata"]["name"].as_str().unwrap_or("").to_owned())
            .collect()
    }

    /// Waits, for two simulated minutes at most, until what is at `path` satisfies `holds`; null where nothing is.
    pub(crate) async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..2400 {
            let (code, body) = self.send("GET", path, &Value::Null).await;
            last = if code == 200 { body } else { Value::Null };
            if holds(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path} never got there; last: {last:#}");
    }

    /// Waits until there is nothing at `path`.
    pub(crate) async fn until_gone(&self, path: &str) {
        self.until(path, Value::is_null).await;
    }
}

/// A Deployment `web` in the namespace `default`, its pods annotated.
pub(crate) fn deployment(replicas: i64, image: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" }, "annotations": annotations },
                "spec": { "containers": [{ "name": "main", "image": image }] },
            },
        },
    })
}

/// Whether a condition of an object has this status.
pub(crate) fn has(object: &Value, condition: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == condition && c["status"] == status)
}

pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
pub(crate) const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
