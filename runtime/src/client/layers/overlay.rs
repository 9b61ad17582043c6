//! Feeds the overlay with the answers of writes, before their callers see them.

use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService, target_of, whole};
use crate::cache::{Entry, Overlay};
use crate::client::answer::surely_unsent;
use crate::client::target::Target;

/// The layer. A write that ends without an answer, dropped by its caller included, leaves its object in doubt.
#[derive(Clone)]
pub(super) struct Feed {
    overlay: Overlay,
    inner: LayeredService,
}

impl Feed {
    pub(super) fn new(overlay: Overlay, inner: LayeredService) -> Self {
        Self { overlay, inner }
    }
}

impl Service<Request<Body>> for Feed {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let overlay = self.overlay.clone();
        let target = match target_of(&request) {
            Some(target) if target.is_write() && !is_dry_run(&request) => target,
            Some(target) if settles_doubt(&overlay, &target, &request) => {
                return Box::pin(settle(overlay, target, inner, request));
            }
            _ => return Box::pin(inner.oneshot(request)),
        };
        Box::pin(async move {
            let mut doubt = Doubt {
                overlay: &overlay,
                target: Some(target),
            };
            let response = match inner.oneshot(request).await {
                Ok(response) => response,
                Err(error) => {
                    if surely_unsent(&*error) {
                        doubt.settle();
                    }
                    return Err(error);
                }
            };
            let (parts, body) = response.into_parts();
            let bytes: Bytes = body.collect().await?.to_bytes();
            // A server that fails may do so after the write was stored, as with "etcdserver: request timed out" (500).
            if !parts.status.is_server_error()
                && let Some(target) = doubt.settle()
                && parts.status.is_success()
            {
                overlay.written(&target, &bytes);
            }
            Ok(Response::from_parts(parts, whole(bytes)))
        })
    }
}

/// Whether a read is of the whole of an object whose last write's outcome is unknown.
fn settles_doubt(overlay: &Overlay, target: &Target, request: &Request<Body>) -> bool {
    let whole = request
        .headers()
        .get(http::header::ACCEPT)
        .is_none_or(|accept| accept.as_bytes() == b"application/json");
    target.verb == "get"
        && target.subresource.is_none()
        && whole
        && matches!(overlay.get(&target.kind, &target.key), Some(Entry::InDoubt))
}

async fn settle(
    overlay: Overlay,
    target: Target,
    inner: LayeredService,
    request: Request<Body>,
) -> Result<Response<AnswerBody>, BoxError> {
    let question = overlay.ask(&target.kind, &target.key);
    let response = inner.oneshot(request).await?;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    match parts.status {
        http::StatusCode::OK => overlay.resolve(&target.kind, &target.key, question, Some(&bytes)),
        http::StatusCode::NOT_FOUND => overlay.resolve(&target.kind, &target.key, question, None),
        _ => {}
    }
    Ok(Response::from_parts(parts, whole(bytes)))
}

/// Marks its object in doubt when dropped unsettled.
struct Doubt<'a> {
    overlay: &'a Overlay,
    target: Option<Target>,
}

impl Doubt<'_> {
    fn settle(&mut self) -> Option<Target> {
        self.target.take()
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(target) = self.target.take() {
            self.overlay.doubt(&target);
        }
    }
}

fn is_dry_run(request: &Request<Body>) -> bool {
    request
        .uri()
        .query()
        .is_some_and(|query| query.split('&').any(|pair| pair.starts_with("dryRun=")))
}
