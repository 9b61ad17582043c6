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
use crate::client::request::{Query, collection_path, object_path};
use crate::client::target::Target;
use crate::delta::Version;
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::watch::Frames;

/// Objects per page, as client-go has it.
pub(crate) const PAGE: u32 = 500;

const JSON: &str = "application/json";
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

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListParams {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// Objects per page; all of them where `None`.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub continue_token: Option<String>,
    /// Ask for metadata alone.
    pub metadata_only: bool,
}

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects as JSON, sharing one buffer.
    pub items: Vec<Bytes>,
    /// Version of the list: a watch may go on from here.
    pub version: Version,
    /// Asks for the next page, if there is one.
    pub continue_token: Option<String>,
}

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct WatchParams {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// Only what comes after this version.
    pub version: Option<Version>,
    /// Start with the objects there are, then a bookmark that says so (`sendInitialEvents`).
    pub initial_events: bool,
    /// When the server should end the watch.
    pub timeout: Option<Duration>,
    /// Ask for metadata alone.
    pub metadata_only: bool,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// The strategic merge patch of built-in kinds.
    Strategic,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents go later, by the garbage collector.
    Background,
    /// Dependents go first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// What must hold of an object for a request to be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Only the object with this uid.
    pub uid: Option<String>,
    /// Only this version.
    pub resource_version: Option<String>,
}

/// Conditions and manner of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// What must hold.
    pub preconditions: Preconditions,
    /// The server's default of the kind where `None`.
    pub propagation: Option<Propagation>,
    /// `gracePeriodSeconds`.
    pub grace: Option<u32>,
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

    /// Applies a configuration (server-side apply) as `manager`; `force` takes fields over from other managers.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 on a conflict.
    ///
    /// # Cancel safety
    ///
    /// Dropped after sending, the outcome is unknown: the overlay marks the object and the next read asks the server.
    #[allow(clippy::too_many_arguments, reason = "each is a part of the request")]
    pub async fn apply(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        body: Vec<u8>,
        manager: &str,
        force: bool,
    ) -> Result<Bytes, ClientError> {
        let mut query = Query::default();
        query.push("fieldManager", manager);
        if force {
            query.push("force", "true");
        }
        self.write(
            origin,
            Target::object("patch", kind, key, subresource),
            Method::PATCH,
            &query,
            "application/apply-patch+yaml",
            body,
        )
        .await
    }

    /// Creates an object in a namespace; its name may be left to the server (`generateName`).
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 `AlreadyExists` where the name is taken.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`]; what the server named itself is not marked.
    pub async fn create(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let target = Target::object("create", kind, key, None);
        if kind.namespaced() && key.namespace.is_empty() {
            let cause = format!("{} live in namespaces; set metadata.namespace", kind.plural());
            return Err(invalid(&target, cause));
        }
        let path = collection_path(kind, key.namespace()).map_err(|cause| invalid(&target, cause))?;
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let request = self.request(&target, Method::POST, query.onto(path), JSON, Some(JSON), body.into())?;
        self.call(origin, &target, request).await
    }

    /// Replaces an object, or one of its subresources (PUT).
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 where the body's version is not the server's.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn replace(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let target = Target::object("update", kind, key, subresource);
        self.write(origin, target, Method::PUT, &query, JSON, body).await
    }

    /// Patches an object, or one of its subresources.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 422 where a test of a JSON patch fails.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    #[allow(clippy::too_many_arguments, reason = "each is a part of the request")]
    pub async fn patch(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        patch: PatchType,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let content_type = match patch {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
        };
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let target = Target::object("patch", kind, key, subresource);
        self.write(origin, target, Method::PATCH, &query, content_type, body)
            .await
    }

    /// Deletes an object. The answer is the object where it lingers (finalizers, grace), else the object or a `Status`.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 404 where it is gone already, 409 where a precondition does not hold.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn delete(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        preconditions: Preconditions,
    ) -> Result<Bytes, ClientError> {
        let options = DeleteOptions {
            preconditions,
            ..DeleteOptions::default()
        };
        self.delete_with(origin, kind, key, &options).await
    }

    /// Deletes an object in a chosen manner.
    ///
    /// # Errors
    ///
    /// As [`Transport::delete`].
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn delete_with(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Bytes, ClientError> {
        let target = Target::object("delete", kind, key, None);
        let body = options.to_json();
        self.write(origin, target, Method::DELETE, &Query::default(), JSON, body)
            .await
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

    async fn write(
        &self,
        origin: &Origin,
        target: Target,
        method: Method,
        query: &Query,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Bytes, ClientError> {
        let path =
            object_path(&target.kind, &target.key, target.subresource).map_err(|cause| invalid(&target, cause))?;
        let request = self.request(&target, method, query.onto(path), JSON, Some(content_type), body.into())?;
        self.call(origin, &target, request).await
    }

    #[allow(clippy::unused_self, reason = "requests are built by the transport alone")]
    fn request(
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

    async fn call(&self, origin: &Origin, target: &Target, request: Request<Body>) -> Result<Bytes, ClientError> {
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

impl DeleteOptions {
    fn to_json(&self) -> Vec<u8> {
        let mut preconditions = serde_json::Map::new();
        if let Some(uid) = &self.preconditions.uid {
            preconditions.insert("uid".to_owned(), uid.as_str().into());
        }
        if let Some(version) = &self.preconditions.resource_version {
            preconditions.insert("resourceVersion".to_owned(), version.as_str().into());
        }
        let mut options = serde_json::json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        if !preconditions.is_empty() {
            options["preconditions"] = preconditions.into();
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = format!("{propagation:?}").into();
        }
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        options.to_string().into_bytes()
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

fn invalid(target: &Target, cause: String) -> ClientError {
    ClientError::Invalid {
        target: Box::new(target.clone()),
        cause,
    }
}

/// Kept out of the way of header maps that hold nothing.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
