//! Tells recorders of every request: for metrics, reports, and tests that count.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService, target_of};
use crate::client::origin::Origin;
use crate::client::target::Target;

/// Hears of every request when its answer begins. Must not block.
pub trait Recorder: Send + Sync + 'static {
    /// A request was answered or failed.
    fn request(&self, record: &RequestRecord);
}

/// One request and what became of it. A repeated request is several.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Who made it; `None` where it was made past the framework.
    pub origin: Option<Origin>,
    /// What it was about; `None` for paths that name no resource.
    pub target: Option<Target>,
    /// HTTP method.
    pub method: Method,
    /// Path and query.
    pub uri: http::Uri,
    /// HTTP code; `None` where no answer came.
    pub code: Option<u16>,
    /// Why no answer came.
    pub error: Option<String>,
    /// Until the answer began.
    pub duration: Duration,
}

/// The layer.
#[derive(Clone)]
pub(super) struct Recorded {
    recorders: Vec<Arc<dyn Recorder>>,
    inner: LayeredService,
}

impl Recorded {
    pub(super) fn new(recorders: Vec<Arc<dyn Recorder>>, inner: LayeredService) -> Self {
        Self { recorders, inner }
    }
}

impl Service<Request<Body>> for Recorded {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let recorders = self.recorders.clone();
        let mut record = RequestRecord {
            origin: request.extensions().get::<Origin>().cloned(),
            target: target_of(&request),
            method: request.method().clone(),
            uri: request.uri().clone(),
            code: None,
            error: None,
            duration: Duration::ZERO,
        };
        Box::pin(async move {
            let started = Instant::now();
            let answer = inner.oneshot(request).await;
            record.duration = started.elapsed();
            match &answer {
                Ok(response) => record.code = Some(response.status().as_u16()),
                Err(error) => record.error = Some(error.to_string()),
            }
            for recorder in &recorders {
                recorder.request(&record);
            }
            answer
        })
    }
}
