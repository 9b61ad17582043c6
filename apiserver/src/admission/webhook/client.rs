//! Posts reviews: to a handler in this process, or over HTTPS.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::configured::Webhook;
use super::{answer, tls};
use crate::storage::Store;

/// How long a webhook may take unless it says otherwise.
const DEFAULT_SECONDS: u64 = 10;
/// How many redirects are followed.
const MOST_REDIRECTS: usize = 10;
/// The largest answer that is read.
const LARGEST: usize = 8 * 1024 * 1024;

/// Answers reviews inside this process, as a server on a socket would: what it says is read in the same way.
pub trait Handler: Send + Sync {
    /// Answers one review. `path` is that of the webhook's URL with its query; an error is what went wrong on the way,
    /// such as a refused connection.
    fn call<'a>(&'a self, path: &'a str, review: Bytes) -> Answering<'a>;
}

/// The answer of a [`Handler`], on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, String>> + Send + 'a>>;

/// Calls webhooks. Clones share the handlers.
#[derive(Clone)]
pub struct Client {
    store: Store,
    handlers: Arc<RwLock<BTreeMap<String, Arc<dyn Handler>>>>,
}

impl Client {
    /// A client that finds Services in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            handlers: Arc::default(),
        }
    }

    /// Lets a handler answer for an authority: `<service>.<namespace>.svc`, or `host:port` of a URL.
    pub fn route(&self, authority: &str, handler: Arc<dyn Handler>) {
        self.handlers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(authority.to_owned(), handler);
    }

    /// Takes back what [`route`](Self::route) did.
    pub fn unroute(&self, authority: &str) {
        self.handlers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(authority);
    }

    /// Posts a review and answers what came back.
    ///
    /// # Errors
    ///
    /// What went wrong, in the real server's words where it has some.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the webhook may have acted on the review.
    pub(super) async fn post(&self, webhook: &Webhook, review: &Value) -> Result<Value, String> {
        let seconds = webhook.spec["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_SECONDS);
        self.call(&webhook.spec["clientConfig"], seconds, review).await
    }

    /// Posts a review to what a `clientConfig` names and answers what came back within so many seconds.
    ///
    /// # Errors
    ///
    /// As [`Self::post`].
    ///
    /// # Cancel safety
    ///
    /// As [`Self::post`].
    pub(crate) async fn call(&self, config: &Value, seconds: u64, review: &Value) -> Result<Value, String> {
        let target = Target::of(config, seconds)?;
        let handler = self.handler(&target);
        let call = async {
            match handler {
                Some(handler) => in_process(&*handler, &target.uri, review).await,
                None => self.over_https(config, &target, review).await,
            }
        };
        match tokio::time::timeout(Duration::from_secs(seconds), call).await {
            Ok(answered) => answered,
            Err(_) => Err(format!("Post {:?}: context deadline exceeded", target.uri.to_string())),
        }
    }

    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        let handlers = self.handlers.read().unwrap_or_else(PoisonError::into_inner);
        let authority = target.uri.authority()?;
        handlers
            .get(authority.as_str())
            .or_else(|| handlers.get(authority.host()))
            .cloned()
    }

    async fn over_https(&self, config: &Value, target: &Target, review: &Value) -> Result<Value, String> {
        let body = Bytes::from(super::review::text(review));
        let bundle = config["caBundle"].as_str().unwrap_or_default();
        let bundle = STANDARD
            .decode(bundle)
            .map_err(|error| format!("unable to load root certificates: {error}"))?;
        let tls = TlsConnector::from(Arc::new(tls::config(&bundle)?));
        let (mut uri, mut method) = (target.uri.clone(), Method::POST);
        for _ in 0..=MOST_REDIRECTS {
            let verb = if method == Method::POST { "Post" } else { "Get" };
            let wrap = |fault: String| format!("{verb} {:?}: {fault}", uri.to_string());
            let address = self.address(target, &uri).map_err(wrap)?;
            let response = send(&tls, &address, &uri, &method, &body).await.map_err(wrap)?;
            let (parts, bytes) = response.into_parts();
            let location = parts
                .headers
                .get(LOCATION)
                .and_then(|l| l.to_str().ok())
                .filter(|_| parts.status.is_redirection());
            let Some(location) = location else {
                return read(
                    parts.status,
                    parts.headers.get(CONTENT_TYPE).and_then(|c| c.to_str().ok()),
                    &bytes,
                );
            };
            if !matches!(
                parts.status,
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
            ) {
                method = Method::GET;
            }
            uri = location
                .parse()
                .map_err(|error| format!("failed to parse Location header {location:?}: {error}"))?;
        }
        Err(format!("stopped after {MOST_REDIRECTS} redirects"))
    }

    /// Where to connect to: the host of the URL, or what stands behind the Service.
    fn address(&self, target: &Target, uri: &Uri) -> Result<String, String> {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(443);
        let Some((namespace, name)) = &target.service else {
            return Ok(format!("{host}:{port}"));
        };
        let service = self.store.find("services", namespace, name);
        let service = service.ok_or_else(|| format!("service {name:?} not found"))?.value();
        match service["spec"]["externalName"].as_str() {
            Some(external) if service["spec"]["type"] == "ExternalName" => Ok(format!("{external}:{port}")),
            _ => self
                .endpoint(namespace, name, port)
                .ok_or_else(|| format!("no endpoints available for service {name:?}")),
        }
    }

    /// A ready address behind a Service.
    fn endpoint(&self, namespace: &str, name: &str, port: u16) -> Option<String> {
        let endpoints = self.store.find("endpoints", namespace, name)?.value();
        let subset = endpoints["subsets"]
            .as_array()?
            .iter()
            .find(|s| s["addresses"].as_array().is_some_and(|a| !a.is_empty()))?;
        let ip = subset["addresses"][0]["ip"].as_str()?;
        let target = subset["ports"][0]["port"].as_u64().unwrap_or(u64::from(port));
        Some(format!("{ip}:{target}"))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Whom a clientConfig names.
struct Target {
    uri: Uri,
    service: Option<(String, String)>,
}

impl Target {
    fn of(config: &Value, seconds: u64) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (base, service) = if let Some(url) = config["url"].as_str() {
            (url.to_owned(), None)
        } else {
            let service = &config["service"];
            let (namespace, name) = (text(&service["namespace"]), text(&service["name"]));
            let path = service["path"].as_str().unwrap_or("/");
            let slash = if path.starts_with('/') { "" } else { "/" };
            let port = service["port"].as_u64().unwrap_or(443);
            (
                format!("https://{name}.{namespace}.svc:{port}{slash}{path}"),
                Some((namespace, name)),
            )
        };
        let separator = if base.contains('?') { '&' } else { '?' };
        let url = format!("{base}{separator}timeout={seconds}s");
        let uri = url.parse().map_err(|error| format!("{url:?} is no URL: {error}"))?;
        Ok(Self { uri, service })
    }
}

/// As over HTTPS, without the socket.
async fn in_process(handler: &dyn Handler, uri: &Uri, review: &Value) -> Result<Value, String> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let answered = handler.call(path, Bytes::from(super::review::text(review))).await;
    let (parts, bytes) = answered
        .map_err(|fault| format!("Post {:?}: {fault}", uri.to_string()))?
        .into_parts();
    let media = parts.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    read(parts.status, media, &bytes)
}

async fn send(
    tls: &TlsConnector,
    address: &str,
    uri: &Uri,
    method: &Method,
    body: &Bytes,
) -> Result<Response<Bytes>, String> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| dial_fault(address, &error))?;
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    let stream = tls.connect(name, stream).await.map_err(|error| tls_fault(&error))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let exchange = async {
        let posting = *method == Method::POST;
        let path = uri.path_and_query().map_or("/", |p| p.as_str());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, uri.authority().map_or("", |a| a.as_str()))
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(ACCEPT, "application/json, */*")
            .header(ACCEPT_ENCODING, "gzip");
        if posting {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = if posting { body.clone() } else { Bytes::new() };
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        let (parts, incoming) = sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?
            .into_parts();
        let bytes = Limited::new(incoming, LARGEST)
            .collect()
            .await
            .map_err(|error| error.to_string())?
            .to_bytes();
        let bytes = if parts.headers.get("content-encoding").is_some_and(|e| e == "gzip") {
            inflate(&bytes)?
        } else {
            bytes
        };
        Ok(Response::from_parts(parts, bytes))
    };
    // The connection has to be driven while the answer is awaited; it ends with this call.
    tokio::pin!(connection);
    tokio::pin!(exchange);
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            answered = &mut exchange => return answered,
            _ = &mut connection, if open => open = false,
        }
    }
}

/// What the answer says, when it is one.
fn read(status: StatusCode, content_type: Option<&str>, bytes: &[u8]) -> Result<Value, String> {
    if !status.is_success() {
        return Err(status_fault(status, content_type, bytes));
    }
    if bytes.is_empty() {
        let media = content_type.unwrap_or_default();
        return Err(format!(
            "0-length response with status code: {} and content type: {media}",
            status.as_u16()
        ));
    }
    let parsed: Value = match serde_json::from_slice(bytes) {
        Ok(parsed) => parsed,
        Err(_) => serde_saphyr::from_slice(bytes)
            .map_err(|_| format!("couldn't get version/kind; {}", answer::json_fault(bytes)))?,
    };
    if parsed.is_object() {
        return Ok(parsed);
    }
    let kind = crate::schema::go::json_kind(&parsed);
    let head = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    Err(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go value of type {head}"
    ))
}

/// A status that is no success, in the words of the real server's client.
fn status_fault(status: StatusCode, content_type: Option<&str>, bytes: &[u8]) -> String {
    if let Ok(body) = serde_json::from_slice::<Value>(bytes)
        && let (true, Some(message)) = (body["kind"] == "Status", body["message"].as_str())
    {
        return message.to_owned();
    }
    let is_text = content_type.is_some_and(|media| media.starts_with("text/"));
    let said = if is_text {
        String::from_utf8_lossy(bytes).trim().to_owned()
    } else {
        "unknown".to_owned()
    };
    match status.as_u16() {
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => said,
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        415 => said,
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        code => format!("the server responded with the status code {code} but did not return more information"),
    }
}

fn inflate(bytes: &[u8]) -> Result<Bytes, String> {
    use std::io::Read as _;
    let mut plain = Vec::new();
    let limit = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    flate2::read::GzDecoder::new(bytes)
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|error| error.to_string())?;
    Ok(plain.into())
}

fn dial_fault(address: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        std::io::ErrorKind::TimedOut => format!("dial tcp {address}: i/o timeout"),
        std::io::ErrorKind::HostUnreachable => format!("dial tcp {address}: connect: no route to host"),
        std::io::ErrorKind::NetworkUnreachable => format!("dial tcp {address}: connect: network is unreachable"),
        _ => format!("dial tcp {address}: {error}"),
    }
}

fn tls_fault(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(fault)) => format!("tls: failed to verify certificate: {fault}"),
        _ => error.to_string(),
    }
}
