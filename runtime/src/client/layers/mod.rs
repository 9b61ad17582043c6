//! The tower layers that every request passes, outermost first: user agent, retry, the cap on deletions, recording, rate,
//! fence, overlay, faults.

mod deletes;
mod fault;
mod fence;
mod overlay;
mod rate;
mod record;
mod retry;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt};

use crate::cache::Overlay;
use crate::client::deletes::DeleteCap;
use crate::client::fence::WriteFence;
use crate::client::target::Target;
use crate::client::transport::Transport;
use crate::env::Env;

pub use fault::{Fault, FaultError, FaultHook};
pub use record::{Recorder, RequestRecord};

pub(crate) use deletes::HeldBack;
pub(crate) use fence::FenceRefusal;
pub(crate) use retry::NoRetry;

/// The body of an answer on its way through the layers.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// What a layer wraps and is.
pub(crate) type LayeredService = BoxCloneSyncService<Request<Body>, Response<AnswerBody>, BoxError>;

/// Builds a [`Transport`].
#[derive(Clone)]
#[must_use]
pub struct Builder {
    client: kube::Client,
    env: Env,
    user_agent: String,
    overlay: Overlay,
    recorders: Vec<Arc<dyn Recorder>>,
    faults: Option<Arc<dyn FaultHook>>,
    fence: Option<WriteFence>,
    deletes: Option<DeleteCap>,
    rate: Option<u32>,
    timeout: Duration,
}

impl Builder {
    pub(crate) fn new(client: kube::Client, env: Env) -> Self {
        Self {
            client,
            env,
            user_agent: concat!("kubewright/", env!("CARGO_PKG_VERSION")).to_owned(),
            overlay: Overlay::new(),
            recorders: Vec::new(),
            faults: None,
            fence: None,
            deletes: None,
            rate: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// Names the operator to the server: `<operator>/<version> kubewright`.
    pub fn operator(mut self, name: &str, version: &str) -> Self {
        self.user_agent = format!("{name}/{version} kubewright");
        self
    }

    /// How long a request may take, retries included. Default: 30 seconds. Watches are not bound by it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Feeds this overlay instead of one of its own.
    pub fn overlay(mut self, overlay: Overlay) -> Self {
        self.overlay = overlay;
        self
    }

    /// Tells `recorder` of every request. May be given several times.
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorders.push(recorder);
        self
    }

    /// Lets `hook` answer, delay or cut requests.
    pub fn faults(mut self, hook: Arc<dyn FaultHook>) -> Self {
        self.faults = Some(hook);
        self
    }

    /// Puts every write behind `fence`, as [`Transport::fenced`] does for a clone.
    pub fn fence(mut self, fence: WriteFence) -> Self {
        self.fence = Some(fence);
        self
    }

    /// Holds deletions to `cap`. Default: there is none.
    pub fn deletes(mut self, cap: DeleteCap) -> Self {
        self.deletes = Some(cap);
        self
    }

    /// Sends at most so many requests per second in the long run, Leases apart. Default: no limit.
    pub fn rate(mut self, per_second: Option<u32>) -> Self {
        self.rate = per_second;
        self
    }

    /// Puts the layers over the client.
    #[must_use]
    pub fn build(self) -> Transport {
        let client = self.client;
        let default_namespace = client.default_namespace().to_owned();
        let raw = tower::service_fn(move |request: Request<Body>| {
            let client = client.clone();
            async move {
                let response = client.send(request).await?;
                Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
            }
        });
        let service = LayeredService::new(raw);
        let service = match self.faults {
            Some(hook) => LayeredService::new(fault::Faults::new(hook, service)),
            None => service,
        };
        let service = LayeredService::new(overlay::Feed::new(self.overlay.clone(), service));
        let service = LayeredService::new(fence::Fenced::new(service));
        let service = match self.rate {
            Some(per_second) => LayeredService::new(rate::Rated::new(per_second, service)),
            None => service,
        };
        let service = if self.recorders.is_empty() {
            service
        } else {
            LayeredService::new(record::Recorded::new(self.recorders, service))
        };
        let service = match self.deletes {
            Some(cap) => LayeredService::new(deletes::Capped::new(cap, service)),
            None => service,
        };
        let service = LayeredService::new(retry::Retry::new(self.env.clone(), service));
        let agent = HeaderValue::from_str(&self.user_agent)
            .unwrap_or_else(|_| HeaderValue::from_static(concat!("kubewright/", env!("CARGO_PKG_VERSION"))));
        let service = LayeredService::new(service.map_request(move |mut request: Request<Body>| {
            request.headers_mut().insert(USER_AGENT, agent.clone());
            request
        }));
        let transport = Transport::assemble(service, self.overlay, self.env, self.timeout, default_namespace);
        match self.fence {
            Some(fence) => transport.fenced(fence),
            None => transport,
        }
    }
}

/// A body that is there already.
fn whole(bytes: Bytes) -> AnswerBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// What a request is about: as the transport says, else as its path says.
fn target_of(request: &Request<Body>) -> Option<Target> {
    if let Some(target) = request.extensions().get::<Target>() {
        return Some(target.clone());
    }
    Target::from_request(request.method(), request.uri().path(), request.uri().query())
}
