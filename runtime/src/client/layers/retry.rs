//! Repeats what the server asks to repeat: 429 always, 503 and 504 only for reads.

use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService};
use crate::client::transport::retry_after;
use crate::env::Env;

/// Marks a request whose sender has a backoff of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRetry;

/// Tries of one request. The caller's timeout usually ends it earlier.
const ATTEMPTS: u32 = 8;
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The layer. A 503 or 504 to a write is the caller's to judge: the server may have carried it out.
#[derive(Clone)]
pub(super) struct Retry {
    env: Env,
    inner: LayeredService,
}

impl Retry {
    pub(super) fn new(env: Env, inner: LayeredService) -> Self {
        Self { env, inner }
    }
}

impl Service<Request<Body>> for Retry {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let env = self.env.clone();
        Box::pin(async move {
            let mut next = request;
            let mut attempt = 1;
            loop {
                let spare = spare(&next);
                let reads = *next.method() == Method::GET;
                let response = inner.clone().oneshot(next).await?;
                let repeat = match response.status() {
                    StatusCode::TOO_MANY_REQUESTS => true,
                    StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => reads,
                    _ => false,
                };
                let (true, Some(spare), true) = (repeat, spare, attempt < ATTEMPTS) else {
                    return Ok(response);
                };
                let asked = retry_after(response.headers());
                tokio::time::sleep(delay(&env, attempt, asked)).await;
                next = spare;
                attempt += 1;
            }
        })
    }
}

/// A copy to send again, where the body can be copied.
fn spare(request: &Request<Body>) -> Option<Request<Body>> {
    if request.extensions().get::<NoRetry>().is_some() {
        return None;
    }
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

/// What the server asks for, and up to a quarter more, so that many clients do not come back at once.
fn delay(env: &Env, attempt: u32, asked: Option<Duration>) -> Duration {
    let base = asked.unwrap_or_else(|| FIRST_DELAY * 2_u32.pow(attempt - 1));
    base.mul_f64(1.0 + env.fraction() / 4.0)
}
