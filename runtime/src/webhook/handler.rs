//! From a request to its answer, whatever brought it: a socket, a test, the embedded server.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::FutureExt as _;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use super::admit::Answer;
use super::convert::Conversion;
use super::declaration::{Bound, Declaration, Registered};
use super::metrics::{RouteMetrics, WebhookMetrics};
use super::path::{self, Purpose};
use super::request::{Operation, Request as Asked};
use super::review::{
    ADMISSION, AdmissionRequest, AdmissionResponse, Answering, Asking, CONVERSION, ConversionRequest,
    ConversionResponse, ConversionResult, Head,
};
use super::traits::Webhooks;
use super::verdict::Denied;
use crate::kind::Kind;
use crate::metrics::Metrics;

/// How long the API server waits where the request does not say.
const DEFAULT_SECONDS: u64 = 10;
/// After how many converted objects other requests get their turn.
const CONVERTED_AT_A_TIME: usize = 64;

/// Answers the reviews of one operator's webhooks. Clones share everything.
#[derive(Clone)]
pub struct Handler(Arc<Inner>);

struct Inner {
    operator: String,
    routes: BTreeMap<String, Route>,
}

struct Route {
    kind: Kind,
    purpose: Purpose,
    work: Work,
    metrics: RouteMetrics,
}

enum Work {
    Admit(Bound),
    Convert(Conversion),
}

/// A request that gets no review for an answer: the code, and one line that says why.
struct Refused(StatusCode, String);

impl Handler {
    /// The webhooks of one type, without a manager: for unit tests of their answers, and for servers of one's own.
    #[must_use]
    pub fn of<W: Webhooks + Send + Sync + 'static>(operator: &str, webhooks: W) -> Self {
        let registered = Declaration::of().erase(webhooks);
        Self::new(operator, &[registered], &Metrics::new())
    }

    pub(crate) fn new(operator: &str, webhooks: &[Registered], metrics: &Metrics) -> Self {
        let metrics = WebhookMetrics::new(metrics);
        let mut routes = BTreeMap::new();
        for webhook in webhooks {
            let kind = &webhook.declared.kind;
            let validate = webhook
                .validate
                .clone()
                .map(|run| (Purpose::Validate, Work::Admit(run)));
            let mutate = webhook.mutate.clone().map(|run| (Purpose::Mutate, Work::Admit(run)));
            let convert = webhook.declared.conversion.clone();
            let convert = convert.map(|conversion| (Purpose::Convert, Work::Convert(conversion)));
            for (purpose, work) in [validate, mutate, convert].into_iter().flatten() {
                let path = path::short(purpose, kind);
                let route = Route {
                    kind: kind.clone(),
                    purpose,
                    work,
                    metrics: metrics.of(&path),
                };
                routes.insert(path, route);
            }
        }
        Self(Arc::new(Inner {
            operator: operator.to_owned(),
            routes,
        }))
    }

    /// The answer to a request whose body has been read.
    ///
    /// A panic or a delay of the author's function becomes an HTTP error, so that the failure policy decides.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the author's function where it stands.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let path = path::shortened(request.uri().path());
        let Some(route) = self.0.routes.get(path) else {
            return refusal(&self.unknown(path));
        };
        let began = Instant::now();
        let in_flight = route.metrics.begin();
        let response = match self.answer(route, &request).await {
            Ok(review) => json(review),
            Err(refused) => {
                tracing::warn!(webhook = path, code = refused.0.as_u16(), "{}", refused.1);
                refusal(&refused)
            }
        };
        drop(in_flight);
        route.metrics.end(response.status().as_u16(), began.elapsed());
        response
    }

    /// Whether a conversion is asked for, whose reviews may be larger.
    pub(super) fn converts(&self, path: &str) -> bool {
        let route = self.0.routes.get(path::shortened(path));
        route.is_some_and(|route| route.purpose == Purpose::Convert)
    }

    async fn answer(&self, route: &Route, request: &Request<Bytes>) -> Result<Vec<u8>, Refused> {
        if request.method() != Method::POST {
            let why = format!("reviews are posted, and this was a {}", request.method());
            return Err(Refused(StatusCode::METHOD_NOT_ALLOWED, why));
        }
        let media = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !media.is_none_or(|media| media.starts_with(b"application/json")) {
            let why = "a review is JSON: send it as application/json".to_owned();
            return Err(Refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        let within = time_to_answer(request.uri().query());
        let work = AssertUnwindSafe(self.work(route, request.body())).catch_unwind();
        match timeout(within, work).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(panic)) => Err(Refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!(
                    "{} panicked in its webhook for {}: {}: its log says where",
                    self.0.operator,
                    route.kind,
                    message_of(&*panic)
                ),
            )),
            Err(_) => Err(Refused(
                StatusCode::GATEWAY_TIMEOUT,
                format!(
                    "{} did not answer for {} within {} s: look for what its webhook waits for",
                    self.0.operator,
                    route.kind,
                    within.as_secs_f64()
                ),
            )),
        }
    }

    async fn work(&self, route: &Route, body: &Bytes) -> Result<Vec<u8>, Refused> {
        match &route.work {
            Work::Admit(admit) => self.admit(route, admit, body).await,
            Work::Convert(conversion) => convert(conversion, body).await,
        }
    }

    async fn admit(&self, route: &Route, admit: &Bound, body: &Bytes) -> Result<Vec<u8>, Refused> {
        let asked = asked(body)?;
        let uid = asked.uid.clone();
        let (operation, given) = (asked.operation, asked.kind.clone());
        let kind = &route.kind;
        let judged = (&*given.group, &*given.version, &*given.kind) == (kind.group(), kind.version(), kind.kind());
        let answer = if operation == Operation::Connect {
            Answer::default()
        } else if judged {
            admit(asked).await.map_err(|error| {
                let operator = &self.0.operator;
                Refused(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("{operator} failed in its webhook for {kind}: {error}"),
                )
            })?
        } else {
            let why = format!(
                "{} judges {} of {} here, and was asked about {} of {}/{}: apply its manifests again",
                self.0.operator,
                kind.kind(),
                kind.api_version(),
                given.kind,
                given.group,
                given.version
            );
            Answer {
                refused: Some(Denied::bad_request(why).status()),
                ..Answer::default()
            }
        };
        let patch = answer.patch.as_ref().filter(|_| answer.refused.is_none());
        written(&Answering {
            kind: "AdmissionReview",
            api_version: ADMISSION,
            response: AdmissionResponse {
                uid: &uid,
                allowed: answer.refused.is_none(),
                status: answer.refused.as_ref(),
                patch: patch.map(|patch| STANDARD.encode(patch)),
                patch_type: patch.map(|_| "JSONPatch"),
                warnings: &answer.warnings,
            },
        })
    }

    fn unknown(&self, path: &str) -> Refused {
        let known: Vec<&str> = self.0.routes.keys().map(String::as_str).collect();
        let why = format!(
            "{} has no webhook at {path}, but at {}: apply its manifests again",
            self.0.operator,
            known.join(", ")
        );
        Refused(StatusCode::NOT_FOUND, why)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes: Vec<&String> = self.0.routes.keys().collect();
        f.debug_struct("Handler")
            .field("operator", &self.0.operator)
            .field("routes", &routes)
            .finish_non_exhaustive()
    }
}

/// The request in an admission review.
fn asked(body: &Bytes) -> Result<Asked, Refused> {
    let request: AdmissionRequest<'_> = read(body, ADMISSION, "AdmissionReview")?;
    if request.uid.is_empty() {
        return Err(malformed("the review's request has no uid"));
    }
    let Some(operation) = Operation::parse(&request.operation) else {
        return Err(malformed(format!("there is no operation {:?}", request.operation)));
    };
    Ok(Asked::of(request, operation, body))
}

async fn convert(conversion: &Conversion, body: &Bytes) -> Result<Vec<u8>, Refused> {
    let request: ConversionRequest<'_> = read(body, CONVERSION, "ConversionReview")?;
    if request.uid.is_empty() {
        return Err(malformed("the review's request has no uid"));
    }
    let mut converted = Vec::with_capacity(request.objects.len());
    let mut failure = String::new();
    for (index, object) in request.objects.iter().enumerate() {
        match conversion.convert(object.get().as_bytes(), &request.desired_api_version) {
            Ok(object) => converted.push(object),
            Err(why) => {
                failure = why;
                converted.clear();
                break;
            }
        }
        if index % CONVERTED_AT_A_TIME == CONVERTED_AT_A_TIME - 1 {
            tokio::task::yield_now().await;
        }
    }
    written(&Answering {
        kind: "ConversionReview",
        api_version: CONVERSION,
        response: ConversionResponse {
            uid: &request.uid,
            converted_objects: converted,
            result: ConversionResult {
                status: if failure.is_empty() { "Success" } else { "Failure" },
                message: failure,
            },
        },
    })
}

/// The request of a review of that version and kind.
fn read<'a, R: Deserialize<'a>>(body: &'a Bytes, api_version: &str, kind: &str) -> Result<R, Refused> {
    let wrong = |head: &Head<'_>| {
        malformed(format!(
            "expected a {kind} of {api_version}, got a {:?} of {:?}",
            head.kind, head.api_version
        ))
    };
    let review: Asking<'a, R> = serde_json::from_slice(body).map_err(|error| {
        // One of another version may not have the same form: then that is the reason.
        match serde_json::from_slice::<Head<'_>>(body) {
            Ok(head) if head.api_version != api_version || head.kind != kind => wrong(&head),
            _ => malformed(format!("the review cannot be read: {error}")),
        }
    })?;
    if review.api_version != api_version || review.kind != kind {
        return Err(wrong(&Head {
            api_version: review.api_version,
            kind: review.kind,
        }));
    }
    review.request.ok_or_else(|| malformed("the review has no request"))
}

fn malformed(why: impl Into<String>) -> Refused {
    Refused(StatusCode::BAD_REQUEST, why.into())
}

fn written(review: &impl Serialize) -> Result<Vec<u8>, Refused> {
    serde_json::to_vec(review).map_err(|error| {
        let why = format!("the answer cannot be written: {error}");
        Refused(StatusCode::INTERNAL_SERVER_ERROR, why)
    })
}

/// A little less than the API server waits, so that it reads why there is no answer. It says how long in the query.
fn time_to_answer(query: Option<&str>) -> Duration {
    let given = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .find_map(|pair| pair.strip_prefix("timeout=")?.strip_suffix('s')?.parse().ok());
    let seconds = Duration::from_secs(
        given
            .filter(|seconds| (1..=30).contains(seconds))
            .unwrap_or(DEFAULT_SECONDS),
    );
    seconds - (seconds / 10).max(Duration::from_millis(200))
}

fn json(body: Vec<u8>) -> Response<Bytes> {
    with_type(StatusCode::OK, "application/json", body.into())
}

fn refusal(refused: &Refused) -> Response<Bytes> {
    let mut response = with_type(refused.0, "text/plain; charset=utf-8", refused.1.clone().into());
    if refused.0 == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

pub(super) fn with_type(status: StatusCode, media: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
