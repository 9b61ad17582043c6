//! A limit on requests per second, for servers that are not to be asked more often.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use tokio::time::{Instant, sleep_until};
use tower::{BoxError, Service, ServiceExt};

use super::{AnswerBody, LayeredService, target_of};
use crate::workqueue::{Bucket, RateLimit};

/// The layer: a request waits for its turn. Leases do not: who waits to renew one loses it.
#[derive(Clone)]
pub(super) struct Rated {
    bucket: Arc<Mutex<Bucket>>,
    inner: LayeredService,
}

impl Rated {
    pub(super) fn new(per_second: u32, inner: LayeredService) -> Self {
        let limit = RateLimit {
            per_second,
            burst: per_second,
        };
        Self {
            bucket: Arc::new(Mutex::new(Bucket::new(limit))),
            inner,
        }
    }

    /// When a request that comes now may be sent.
    fn turn(&self) -> Instant {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let at = bucket.ready_at(Instant::now());
        bucket.take(at);
        at
    }
}

impl Service<Request<Body>> for Rated {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        if target_of(&request).is_some_and(|target| target.kind.plural() == "leases") {
            return Box::pin(inner.oneshot(request));
        }
        let at = self.turn();
        Box::pin(async move {
            if at > Instant::now() {
                sleep_until(at).await;
            }
            inner.oneshot(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures::future::join_all;

    #[tokio::test(start_paused = true)]
    async fn requests_beyond_the_burst_wait_for_their_turn_and_leases_do_not() {
        let inner = LayeredService::new(tower::service_fn(async |_: Request<Body>| {
            Ok(Response::new(super::super::whole(Bytes::new())))
        }));
        let rated = Rated::new(10, inner);
        let start = Instant::now();
        let ask = |path: &'static str| {
            let rated = rated.clone();
            async move {
                let request = Request::get(path).body(Body::empty()).expect("a request");
                rated.oneshot(request).await.expect("an answer");
                start.elapsed().as_millis()
            }
        };
        let took = join_all((0..13).map(|_| ask("/api/v1/pods"))).await;
        assert_eq!(took[..10], [0; 10]);
        assert_eq!(took[10..], [100, 200, 300]);
        assert_eq!(ask("/apis/coordination.k8s.io/v1/namespaces/a/leases/b").await, 300);
    }
}
