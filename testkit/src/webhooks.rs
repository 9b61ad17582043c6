//! The operators' webhooks as the API server reaches them, and what goes wrong on the way.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use kubewright::dev::apiserver::admission::webhook::{Answering, Handler};
use kubewright::env::Run;
use kubewright::webhook::{Endpoint, service_name};

use crate::cluster::TestCluster;
use crate::link::Wire;
use crate::story::Story;

/// What goes wrong between the API server and an operator's webhooks, or in them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebhookFault {
    /// No connection comes about: no replica listens.
    Down,
    /// Every answer is late by this much; the API server waits for 10 s unless the webhook says otherwise.
    Slow(Duration),
    /// Every answer has this code and no review.
    Status(u16),
    /// Every answer is a text that is no review.
    Nonsense,
    /// Every answer is one to another review.
    WrongUid,
    /// The connection breaks after the webhook did its work.
    Cut,
}

impl fmt::Display for WebhookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("webhooks down"),
            Self::Slow(by) => write!(f, "webhooks late by {by:?}"),
            Self::Status(code) => write!(f, "webhooks answer {code}"),
            Self::Nonsense => f.write_str("webhooks answer nonsense"),
            Self::WrongUid => f.write_str("webhooks answer another review"),
            Self::Cut => f.write_str("webhooks' connections break"),
        }
    }
}

/// A fault of webhooks in force.
#[derive(Debug)]
#[must_use = "without its handle a fault cannot be healed"]
pub struct BrokenWebhooks {
    service: Arc<Service>,
}

impl BrokenWebhooks {
    /// Ends the fault.
    pub fn heal(self) {
        self.service.state().fault = None;
    }

    /// How many calls it hit.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.service.state().fired
    }
}

impl TestCluster {
    /// Breaks the webhooks of an operator from now on, in place of what broke them before.
    ///
    /// # Panics
    ///
    /// When no operator of that name with webhooks was started.
    pub fn break_webhooks(&self, operator: &str, fault: WebhookFault) -> BrokenWebhooks {
        let Some(service) = self.webhooks().find(operator) else {
            panic!("no operator `{operator}` with webhooks was started: start it first, with `cluster.run(manager())`");
        };
        let mut state = service.state();
        state.fault = Some(fault);
        state.fired = 0;
        drop(state);
        BrokenWebhooks { service }
    }

    /// How often the API server called webhooks of an operator.
    #[must_use]
    pub fn webhook_calls(&self, operator: &str) -> u64 {
        self.webhooks()
            .find(operator)
            .map_or(0, |service| service.state().calls)
    }
}

/// The webhooks of all operators of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Webhooks(Mutex<BTreeMap<String, Arc<Service>>>);

impl Webhooks {
    /// Adds a replica behind its operator's Service.
    pub(crate) fn add(
        &self,
        cluster: &TestCluster,
        operator: &str,
        namespace: &str,
        endpoint: Endpoint,
        wire: Arc<Wire>,
    ) {
        let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let service = services.entry(operator.to_owned()).or_insert_with(|| {
            let name = service_name(operator);
            let service = Arc::new(Service {
                story: cluster.story().clone(),
                name: name.clone(),
                state: Mutex::default(),
            });
            let authority = format!("{name}.{namespace}.svc");
            cluster.server().webhooks().route(&authority, Arc::clone(&service) as _);
            service
        });
        service.state().replicas.push(Replica { endpoint, wire });
    }

    fn find(&self, operator: &str) -> Option<Arc<Service>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(operator)
            .cloned()
    }
}

/// One operator's Service: hands each call to the next of its replicas.
pub(crate) struct Service {
    name: String,
    story: Story,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    replicas: Vec<Replica>,
    calls: u64,
    fault: Option<WebhookFault>,
    fired: u64,
}

#[derive(Clone)]
struct Replica {
    endpoint: Endpoint,
    wire: Arc<Wire>,
}

impl Replica {
    /// Whether the Service leads to it. A replica that stands still is still there.
    fn is_there(&self) -> bool {
        self.endpoint.is_open() && self.wire.gate().run() != Run::Dead && !self.wire.is_partitioned()
    }
}

impl Service {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The replica that is called, and what goes wrong.
    fn next(&self) -> (Option<Replica>, Option<WebhookFault>) {
        let mut state = self.state();
        let there: Vec<Replica> = state
            .replicas
            .iter()
            .filter(|replica| replica.is_there())
            .cloned()
            .collect();
        let turn = usize::try_from(state.calls).unwrap_or(0);
        state.calls += 1;
        let fault = state.fault.clone();
        state.fired += u64::from(fault.is_some());
        let replica = (!there.is_empty()).then(|| there[turn % there.len()].clone());
        (replica, fault)
    }

    async fn answer(&self, path: &str, review: Bytes) -> Result<Response<Bytes>, String> {
        let (replica, fault) = self.next();
        if let Some(fault) = &fault {
            self.story.fault(&fault.to_string(), path);
        }
        match &fault {
            Some(WebhookFault::Down) => return Err("connect: connection refused".to_owned()),
            Some(WebhookFault::Slow(by)) => tokio::time::sleep(*by).await,
            Some(WebhookFault::Status(code)) => {
                let code = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                return Ok(text(code, "broken by the test"));
            }
            Some(WebhookFault::Nonsense) => return Ok(text(StatusCode::OK, "<html>hello</html>")),
            _ => {}
        }
        let Some(replica) = replica else {
            return Err(format!("no endpoints available for service {:?}", self.name));
        };
        let answer = replica.endpoint.call(path, review).await?;
        match fault {
            Some(WebhookFault::Cut) => Err("EOF".to_owned()),
            Some(WebhookFault::WrongUid) => Ok(answer.map(of_another_review)),
            _ => Ok(answer),
        }
    }
}

impl Handler for Service {
    fn call<'a>(&'a self, path: &'a str, review: Bytes) -> Answering<'a> {
        Box::pin(self.answer(path, review))
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn text(code: StatusCode, text: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    *response.status_mut() = code;
    let media = header::HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

fn of_another_review(body: Bytes) -> Bytes {
    match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(mut review) => {
            review["response"]["uid"] = "another".into();
            review.to_string().into()
        }
        Err(_) => body,
    }
}
