//! Who may read the metrics: asked of the API server, as kube-rbac-proxy and controller-runtime do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{ClientError, Origin, Target, Transport};
use crate::kind::Kind;

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricsAccess {
    /// Everybody who reaches the address.
    #[default]
    Open,
    /// Who sends a bearer token that the API server knows (TokenReview), of a user who may `get` the path `/metrics`
    /// (SubjectAccessReview). The operator needs the right to create both; `manifests --metrics-access reviewed` gives
    /// it, and a ClusterRole `<operator>-metrics-reader` for those who scrape.
    Reviewed,
}

/// How long an answer of the API server holds.
const HOLDS: Duration = Duration::from_secs(10);
/// How many answers are kept.
const KEPT: usize = 256;

/// Asks the API server, and remembers its answers for a moment.
#[derive(Clone)]
pub struct Reviewer {
    transport: Transport,
    verdicts: Arc<Mutex<BTreeMap<String, (Verdict, Instant)>>>,
}

/// What the API server thinks of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// Who is behind the token may not.
    Forbidden(String),
    /// Nobody is.
    Unknown,
}

impl Reviewer {
    /// Asks through `transport`.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            verdicts: Arc::default(),
        }
    }

    async fn judge(&self, token: &str) -> Result<Verdict, ClientError> {
        if let Some(known) = self.known(token) {
            return Ok(known);
        }
        let verdict = self.ask(token).await?;
        let now = Instant::now();
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        if verdicts.len() >= KEPT {
            verdicts.retain(|_, (_, until)| *until > now);
        }
        if verdicts.len() < KEPT {
            verdicts.insert(token.to_owned(), (verdict.clone(), now + HOLDS));
        }
        Ok(verdict)
    }

    fn known(&self, token: &str) -> Option<Verdict> {
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let (verdict, until) = verdicts.get(token)?;
        (*until > Instant::now()).then(|| verdict.clone())
    }

    async fn ask(&self, token: &str) -> Result<Verdict, ClientError> {
        let kind = Kind::new("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false);
        let review = self.create(&kind, json!({ "token": token })).await?;
        if review["status"]["authenticated"] != true {
            return Ok(Verdict::Unknown);
        }
        let user = &review["status"]["user"];
        let kind = Kind::new(
            "authorization.k8s.io",
            "v1",
            "SubjectAccessReview",
            "subjectaccessreviews",
            false,
        );
        let spec = json!({
            "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
            "nonResourceAttributes": { "path": "/metrics", "verb": "get" },
        });
        let review = self.create(&kind, spec).await?;
        if review["status"]["allowed"] == true {
            return Ok(Verdict::Allowed);
        }
        Ok(Verdict::Forbidden(
            user["username"].as_str().unwrap_or_default().to_owned(),
        ))
    }

    async fn create(&self, kind: &Kind, spec: Value) -> Result<Value, ClientError> {
        let target = Target::collection("create", kind, None);
        let body = json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "spec": spec });
        let path = format!("/apis/{}/{}", kind.api_version(), kind.plural());
        let request = http::Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Bytes::from(body.to_string()))
            .map_err(|error| ClientError::Invalid {
                target: Box::new(target.clone()),
                cause: error.to_string(),
            })?;
        let answer = self
            .transport
            .raw(&Origin::part("metrics access"), target.clone(), request)
            .await?;
        serde_json::from_slice(&answer).map_err(|error| ClientError::Decode {
            target: Box::new(target),
            cause: error.to_string(),
        })
    }
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviewer").finish_non_exhaustive()
    }
}

/// Lets a request pass, or says why not.
pub(super) async fn guard(State(reviewer): State<Reviewer>, request: Request, next: Next) -> Response {
    let Some(token) = bearer(request.headers()) else {
        let text = "send the token of a ServiceAccount: `Authorization: Bearer …`";
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response();
    };
    match reviewer.judge(token).await {
        Ok(Verdict::Allowed) => next.run(request).await,
        Ok(Verdict::Unknown) => (StatusCode::UNAUTHORIZED, "the API server does not know this token").into_response(),
        Ok(Verdict::Forbidden(user)) => {
            let text = format!("`{user}` may not get /metrics: bind it to a ClusterRole that allows this path");
            (StatusCode::FORBIDDEN, text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "it cannot be told who may read the metrics");
            let text = format!("it cannot be told whether you may: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
}
