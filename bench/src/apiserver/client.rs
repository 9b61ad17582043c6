//! A server inside this process, and requests to it by a user whose rights RBAC decides.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use kubewright::dev::apiserver::ApiServer;
use kubewright::dev::apiserver::http::body::Body;
use kubewright::dev::apiserver::server::InProcess;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::object;
use crate::Failure;

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The server, and a ServiceAccount's way in.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) server: ApiServer,
    service: InProcess,
    authorization: String,
}

impl Client {
    /// A server with RBAC on and the widgets' definition installed; the client may do everything with widgets and
    /// config maps.
    ///
    /// # Errors
    /// When the definition or the rights are refused.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let server = ApiServer::builder().build();
        let mut client = Self {
            service: server.service(),
            authorization: format!("Bearer {}", server.admin_token()),
            server,
        };
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": { "name": "bench" },
            "rules": [
                { "apiGroups": ["bench.dev"], "resources": ["widgets"], "verbs": ["*"] },
                { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] },
            ],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": { "name": "bench" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bench" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "bench" }],
        });
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bench" } });
        client
            .send("POST", "/api/v1/namespaces/default/serviceaccounts", JSON, &account)
            .await?;
        client
            .send("POST", &format!("{rbac}/clusterroles"), JSON, &role)
            .await?;
        client
            .send("POST", &format!("{rbac}/clusterrolebindings"), JSON, &binding)
            .await?;
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        client.send("POST", definitions, JSON, &object::definition()).await?;
        let token = kubewright::dev::service_account_token(&client.server, "default", "bench");
        client.authorization = format!("Bearer {token}");
        Ok(client)
    }

    /// The `Authorization` header of its requests.
    pub(crate) fn authorization(&self) -> &str {
        &self.authorization
    }

    /// Sends a value and reads the answer.
    ///
    /// # Errors
    /// When the answer is not a success.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        let text = self.bytes(method, path, content_type, body.to_string().into()).await?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Sends a text and reads the answer whole, unparsed.
    ///
    /// # Errors
    /// When the answer is not a success.
    pub(crate) async fn bytes(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, Failure> {
        let response = self.open(method, path, content_type, body).await?;
        Ok(response.into_body().collect().await?.to_bytes())
    }

    /// Sends a text and hands back the answer unread.
    ///
    /// # Errors
    /// When the answer is not a success.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<Body>, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", &self.authorization)
            .header("user-agent", "bench/1")
            .header("content-type", content_type)
            .body(Full::new(body))?;
        let response = self.service.clone().oneshot(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        Err(format!("{method} {path} answered {status}: {}", String::from_utf8_lossy(&text)).into())
    }
}
