use std::io;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kubewright_apiserver::server::InProcess;
use kubewright_apiserver::{ApiServer, Clock};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A server and an administrator's requests to it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) server: ApiServer,
    service: InProcess,
}

/// An answer that was read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) body: Value,
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
}

impl Client {
    /// A server with 100 writes of history, at a fixed time and from a fixed seed.
    pub(crate) fn new() -> Self {
        let clock = Clock::new(jiff::Timestamp::from_second(1_700_000_000).unwrap(), 1);
        let server = ApiServer::builder().token("t").history(100).clock(clock).build();
        let service = server.service();
        Self { server, service }
    }

    pub(crate) fn request(method: &str, path: &str, content_type: &str, body: &Value) -> Request<Full<Bytes>> {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        Request::builder()
            .method(method)
            .uri(path)
            .header("Authorization", "Bearer t")
            .header("User-Agent", "test/1")
            .header("Content-Type", content_type)
            .body(Full::from(text))
            .unwrap()
    }

    /// Sends a request and hands back the answer unread.
    pub(crate) async fn open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> http::Response<kubewright_apiserver::http::body::Body> {
        self.try_open(request).await.unwrap()
    }

    /// As [`Client::open`], or the error of the connection.
    pub(crate) async fn try_open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> io::Result<http::Response<kubewright_apiserver::http::body::Body>> {
        self.service.clone().oneshot(request).await
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let (parts, body) = self.open(request).await.into_parts();
        let text = body.collect().await.unwrap().to_bytes();
        let warnings = parts.headers.get_all("Warning").iter();
        Answer {
            code: parts.status,
            body: serde_json::from_slice(&text).unwrap_or_default(),
            text: String::from_utf8_lossy(&text).into_owned(),
            warnings: warnings.map(|value| value.to_str().unwrap().to_owned()).collect(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Self::request("GET", path, "", &Value::Null)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Self::request("POST", path, "application/json", body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Self::request("PUT", path, "application/json", body)).await
    }

    pub(crate) async fn patch(&self, path: &str, kind: &str, body: &Value) -> Answer {
        self.send(Self::request("PATCH", path, kind, body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Self::request("DELETE", path, "", &Value::Null)).await
    }

    /// Creates a ConfigMap in the namespace `default`.
    pub(crate) async fn config_map(&self, name: &str, data: Value) -> Answer {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data });
        let answer = self.post(CONFIG_MAPS, &object).await;
        assert_eq!(answer.code, 201, "{}", answer.text);
        answer
    }
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The path of a ConfigMap.
pub(crate) fn config_map(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}
