//! The requests of the framework: built from kinds and keys, answered as raw bytes.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use tower::ServiceExt;

use crate::cache::{Overlay, split_list};
use crate::client::answer;
use crate::client::error::ClientError;
use crate::client::fence::WriteFence;
use crate::client::layers::{AnswerBody, Builder, LayeredService, NoRetry};
use crate::client::origin::Origin;
use crate::client::pages::Pages;
use crate::client::params::{ListParams, Page, WatchParams};
use crate::client::request::{Query, collection_path, object_path};
use crate::client::target::Target;
use crate::delta::Version;
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::watch::Frames;

/// Objects per page, as client-go has it.
pub(crate) const PAGE: u32 = 500;

pub(super) const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The way to the API server. Cheap to clone; clones share everything.
///
/// Every request passes the layers that [`Transport::builder`] lists, carries its [`Origin`], and ends within
/// the request timeout (30 seconds by default; watches end by their own rules).
#[derive(Clone)]
pub struct Transport {
    service: LayeredService,
    overlay: Overlay,
    env: Env,
    fence: Option<WriteFence>,
    timeout: Duration,
    default_namespace: String,
}

impl Transport {
    /// Over a client, with the default layers.
    #[must_use]
    pub fn new(client: kube::Client, env: Env) -> Self {
        Self::builder(client, env).build()
    }

    /// Over a client, with chosen layers.
    pub fn builder(client: kube::Client, env: Env) -> Builder {
        Builder::new(client, env)
    }

    pub(crate) fn assemble(
        service: LayeredService,
        overlay: Overlay,
        env: Env,
        timeout: Duration,
        default_namespace: String,
    ) -> Self {
        Self {
            service,
            overlay,
            env,
            fence: None,
            timeout,
            default_namespace,
        }
    }

    /// The same way, with every write behind `fence`.
    #[must_use]
    pub fn fenced(&self, fence: WriteFence) -> Self {
        Self {
            fence: Some(fence),
            ..self.clone()
        }
    }

    /// The fence of this way, if it has one.
    #[must_use]
    pub fn fence(&self) -> Option<&WriteFence> {
        self.fence.as_ref()
    }

    /// What this process wrote and no informer has seen yet.
    #[must_use]
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Time and randomness.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// A kube client over the same layers, for what the framework has no call for.
    ///
    /// Its requests carry `origin`, pass the fence, feed the overlay and are recorded like all others.
    #[must_use]
    pub fn client(&self, origin: &Origin) -> kube::Client {
        let service = self.service.clone();
        let origin = origin.clone();
        let fence = self.fence.clone();
        let service = tower::service_fn(move |mut request: Request<Body>| {
            request.extensions_mut().insert(origin.clone());
            if let Some(fence) = &fence {
                request.extensions_mut().insert(fence.clone());
            }
            service.clone().oneshot(request)
        });
        kube::Client::new(service, self.default_namespace.clone())
    }

    /// Reads one object.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 404 where the object is not there.
    ///
    /// # Cancel safety
    ///
    /// A read; dropping it changes nothing.
    pub async fn get(&self, origin: &Origin, kind: &Kind, key: &ObjectKey) -> Result<Bytes, ClientError> {
        self.read(origin, kind, key, JSON).await
    }

    /// Reads the metadata of one object.
    ///
    /// # Errors
    ///
    /// As [`Transport::get`].
    pub async fn get_metadata(&self, origin: &Origin, kind: &Kind, key: &ObjectKey) -> Result<Bytes, ClientError> {
        self.read(origin, kind, key, METADATA).await
    }

    /// Reads one page of a collection; consistent, as no version is asked for.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 410 where the snapshot that `continue_token` names is gone.
    pub async fn list(
        &self,
        origin: &Origin,
        kind: &Kind,
        namespace: Option<&str>,
        params: &ListParams,
    ) -> Result<Page, ClientError> {
        let target = Target::collection("list", kind, namespace);
        let path = collection_path(kind, namespace).map_err(|cause| invalid(&target, cause))?;
        let mut query = Query::default();
        query
            .push_some("labelSelector", params.labels.as_deref())
            .push_some("fieldSelector", params.fields.as_deref())
            .push_some("limit", params.limit.map(|limit| limit.to_string()).as_deref())
            .push_some("continue", params.continue_token.as_deref());
        let accept = if params.metadata_only { METADATA_LIST } else { JSON };
        let request = self.request(&target, Method::GET, query.onto(path), accept, None, Bytes::new())?;
        let bytes = self.call(origin, &target, request).await?;
        split_list(&bytes).map_err(|cause| ClientError::Decode {
            target: Box::new(target),
            cause: cause.to_string(),
        })
    }

    /// Reads a collection page by page, for collections that are too large to be held at once.
    #[must_use]
    pub fn pages(&self, origin: &Origin, kind: &Kind, namespace: Option<&str>, params: ListParams) -> Pages {
        let namespace = namespace.map(str::to_owned);
        Pages::new(self.clone(), origin.clone(), kind.clone(), namespace, params)
    }

    /// Reads a whole collection, page by page.
    ///
    /// # Errors
    ///
    /// As [`Transport::list`].
    pub async fn list_all(
        &self,
        origin: &Origin,
        kind: &Kind,
        namespace: Option<&str>,
        params: ListParams,
    ) -> Result<Vec<Bytes>, ClientError> {
        let mut params = ListParams {
            limit: params.limit.or(Some(PAGE)),
            ..params
        };
        let mut items = Vec::new();
        loop {
            match self.list(origin, kind, namespace, &params).await {
                Ok(page) => {
                    items.extend(page.items);
                    params.continue_token = page.continue_token;
                }
                // The snapshot of the first page is gone; one answer that needs no snapshot takes its place.
                Err(error) if error.is_expired() && params.continue_token.is_some() => {
                    items.clear();
                    params.limit = None;
                    params.continue_token = None;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if params.continue_token.is_none() {
                return Ok(items);
            }
        }
    }

    /// Opens a watch with bookmarks. The frames end when the server or the connection ends them.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 410 where `version` is too old. Nothing is retried here, the watch has its own backoff.
    ///
    /// # Cancel safety
    ///
    /// Dropping the frames closes the watch.
    pub async fn watch(
        &self,
        origin: &Origin,
        kind: &Kind,
        namespace: Option<&str>,
        params: &WatchParams,
    ) -> Result<Frames, ClientError> {
        let target = Target::collection("watch", kind, namespace);
        let path = collection_path(kind, namespace).map_err(|cause| invalid(&target, cause))?;
        let mut query = Query::default();
        query
            .push("watch", "true")
            .push("allowWatchBookmarks", "true")
            .push_some("labelSelector", params.labels.as_deref())
            .push_some("fieldSelector", params.fields.as_deref())
            .push_some(
                "resourceVersion",
                params.version.as_ref().map(Version::as_str).as_deref(),
            );
        if params.initial_events {
            query
                .push("sendInitialEvents", "true")
                .push("resourceVersionMatch", "NotOlderThan");
        }
        if let Some(timeout) = params.timeout {
            query.push("timeoutSeconds", &timeout.as_secs().to_string());
        }
        let accept = if params.metadata_only { METADATA } else { JSON };
        let mut request = self.request(&target, Method::GET, query.onto(path), accept, None, Bytes::new())?;
        request.extensions_mut().insert(NoRetry);
        let response = self.within(&target, self.send(origin, &target, request)).await?;
        let (parts, body) = response.into_parts();
        if parts.status != StatusCode::OK {
            let bytes = self.within(&target, collect(&target, body)).await?;
            return Err(answer::status(target, parts.status, &parts.headers, &bytes));
        }
        Ok(Frames::new(target, body))
    }

    /// Sends a request to any path, such as `/version`, with the layers and the timeout of all others.
    ///
    /// # Errors
    ///
    /// [`ClientError`].
    pub async fn raw(&self, origin: &Origin, target: Target, request: Request<Bytes>) -> Result<Bytes, ClientError> {
        self.call(origin, &target, request.map(Body::from)).await
    }

    async fn read(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        accept: &'static str,
    ) -> Result<Bytes, ClientError> {
        let target = Target::object("get", kind, key, None);
        let path = object_path(kind, key, None).map_err(|cause| invalid(&target, cause))?;
        let request = self.request(&target, Method::GET, path, accept, None, Bytes::new())?;
        self.call(origin, &target, request).await
    }

    #[allow(clippy::unused_self, reason = "requests are built by the transport alone")]
    pub(super) fn request(
        &self,
        target: &Target,
        method: Method,
        uri: String,
        accept: &'static str,
        content_type: Option<&'static str>,
        body: Bytes,
    ) -> Result<Request<Body>, ClientError> {
        let mut request = Request::builder().method(method).uri(uri).header(ACCEPT, accept);
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        request
            .body(Body::from(body))
            .map_err(|error| invalid(target, error.to_string()))
    }

    pub(super) async fn call(
        &self,
        origin: &Origin,
        target: &Target,
        request: Request<Body>,
    ) -> Result<Bytes, ClientError> {
        self.within(target, async {
            let response = self.send(origin, target, request).await?;
            let (parts, body) = response.into_parts();
            let bytes = collect(target, body).await?;
            answer::log_warnings(target, &parts.headers);
            if parts.status.is_success() {
                Ok(bytes)
            } else {
                Err(answer::status(target.clone(), parts.status, &parts.headers, &bytes))
            }
        })
        .await
    }

    async fn send(
        &self,
        origin: &Origin,
        target: &Target,
        mut request: Request<Body>,
    ) -> Result<http::Response<AnswerBody>, ClientError> {
        let extensions = request.extensions_mut();
        extensions.insert(origin.clone());
        extensions.insert(target.clone());
        if let Some(fence) = &self.fence {
            extensions.insert(fence.clone());
        }
        self.service
            .clone()
            .oneshot(request)
            .await
            .map_err(|error| answer::failure(target, error))
    }

    async fn within<T>(
        &self,
        target: &Target,
        work: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        match tokio::time::timeout(self.timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(ClientError::Timeout {
                target: Box::new(target.clone()),
                after: self.timeout,
                cause: None,
                outcome_unknown: target.is_write(),
            }),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("timeout", &self.timeout)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

async fn collect(target: &Target, body: AnswerBody) -> Result<Bytes, ClientError> {
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(ClientError::Timeout {
            target: Box::new(target.clone()),
            after: Duration::ZERO,
            cause: Some(error.to_string()),
            outcome_unknown: target.is_write(),
        }),
    }
}

pub(super) fn invalid(target: &Target, cause: String) -> ClientError {
    ClientError::Invalid {
        target: Box::new(target.clone()),
        cause,
    }
}

/// The longest that a server's wish to wait is heeded: a wrong one must not stall an operator for good.
const LONGEST_WAIT: u64 = 3600;

/// How long the server asks to wait, by its header `Retry-After` in seconds; an hour at most.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = header(headers, "retry-after")?.trim().parse().ok()?;
    Some(bounded_wait(seconds))
}

/// A wait of that many seconds, or of an hour if that is less.
pub(crate) fn bounded_wait(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(LONGEST_WAIT))
}

/// Kept out of the way of header maps that hold nothing.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
