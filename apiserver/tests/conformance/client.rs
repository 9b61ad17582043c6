//! Requests to the server in process, as raw HTTP.

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use kubewright_apiserver::http::body::Body;
use kubewright_apiserver::server::InProcess;
use tower::Service as _;

use crate::json::Json;
use crate::shape::text;

/// The token of the administrator.
pub(crate) const TOKEN: &str = "conformance";

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];
const PATCH_TYPES: [(&str, &str); 5] = [
    ("merge", "application/merge-patch+json"),
    ("json", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("apply", "application/apply-patch+yaml"),
    ("apply-json", "application/apply-patch+yaml"),
];

/// An answer whose body has not been read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Answer {
    pub(crate) fn content_type(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Sends the request of a step.
///
/// # Errors
///
/// What keeps the step from being a request.
pub(crate) async fn send(service: &InProcess, step: &Json) -> Result<Answer, String> {
    let method = METHODS
        .into_iter()
        .find(|method| step.has(method))
        .ok_or("the step is no request")?;
    let url = text(step.get(method));
    let mut headers: Vec<(String, Json)> = step.get("headers").fields().to_vec();
    if let Some(patch) = step.get("patch").as_str() {
        let media = PATCH_TYPES
            .into_iter()
            .find(|(name, _)| *name == patch)
            .map(|(_, media)| media);
        if !headers.iter().any(|(name, _)| name == "Content-Type") {
            headers.push(("Content-Type".to_owned(), media.ok_or("unknown kind of patch")?.into()));
        }
    }
    for (field, header) in [("user", "Impersonate-User"), ("groups", "Impersonate-Group")] {
        if step.has(field) {
            headers.push((header.to_owned(), step.get(field).clone()));
        }
    }
    let body = step
        .has("body")
        .then(|| text(step.get("body")))
        .filter(|_| !step.get("body").is_null());
    request(service, method, &url, step.get("query"), &headers, body).await
}

/// Sends one request with the default headers, which `headers` override or, with null, remove.
pub(crate) async fn request(
    service: &InProcess,
    method: &str,
    path: &str,
    query: &Json,
    headers: &[(String, Json)],
    body: Option<String>,
) -> Result<Answer, String> {
    let mut all: Vec<(String, String)> = vec![
        ("Accept".to_owned(), "application/json".to_owned()),
        ("User-Agent".to_owned(), "conformance/1.0".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {TOKEN}")),
    ];
    if body.is_some() {
        all.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    for (name, value) in headers {
        all.retain(|(existing, _)| existing != name);
        if !value.is_null() {
            all.push((name.clone(), text(value)));
        }
    }
    if body.is_some() || matches!(method, "POST" | "PUT" | "PATCH") {
        all.push((
            "Content-Length".to_owned(),
            body.as_ref().map_or(0, String::len).to_string(),
        ));
    }
    let query = encode(query);
    let url = if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    };
    let mut request = Request::builder()
        .uri(&url)
        .method(Method::from_bytes(method.as_bytes()).map_err(|e| e.to_string())?);
    for (name, value) in &all {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|e| e.to_string())?;
        request = request.header(name, value);
    }
    let request = request
        .body(Full::new(Bytes::from(body.unwrap_or_default())))
        .map_err(|e| format!("{url} is no URL: {e}"))?;
    let (parts, body) = match service.clone().call(request).await {
        Ok(response) => response.into_parts(),
        Err(error) => return Err(format!("{method} {url}: {error}")),
    };
    let mut headers = parts.headers;
    if let Some(length) = body.size_hint().exact() {
        // What the HTTP server adds on the wire.
        headers
            .entry("content-length")
            .or_insert_with(|| HeaderValue::from(length));
    }
    Ok(Answer {
        status: parts.status.as_u16(),
        headers,
        body,
    })
}

/// Reads the answer as the recordings have it: code, content type, body, warnings and the headers wanted.
pub(crate) async fn read(answer: Answer, method: &str, wanted: &Json) -> Result<Json, String> {
    let content_type = answer
        .content_type()
        .split(";charset")
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut out = Json::Object(vec![
        ("code".to_owned(), answer.status.into()),
        ("type".to_owned(), content_type.as_str().into()),
    ]);
    let warnings: Vec<Json> = answer
        .headers
        .get_all("warning")
        .iter()
        .map(|w| Json::String(w.as_bytes().iter().copied().map(char::from).collect()))
        .collect();
    let shown: Vec<(String, Json)> = wanted
        .items()
        .iter()
        .filter_map(Json::as_str)
        .map(|name| (name.to_owned(), answer.header(name).map_or(Json::Null, Json::from)))
        .collect();
    let bytes = answer.body.collect().await.map_err(|e| format!("{e:?}"))?.to_bytes();
    out.set(
        "body",
        if method == "HEAD" {
            Json::Null
        } else {
            decode(&bytes, &content_type)
        },
    );
    if !warnings.is_empty() {
        out.set("warnings", Json::Array(warnings));
    }
    if !shown.is_empty() {
        out.set("headers", Json::Object(shown));
    }
    Ok(out)
}

pub(crate) fn decode(payload: &[u8], content_type: &str) -> Json {
    if payload.is_empty() {
        return Json::Null;
    }
    if content_type.contains("json")
        && let Some(value) = Json::parse(payload)
    {
        return value;
    }
    match std::str::from_utf8(payload) {
        Ok(text) => text.into(),
        Err(_) => Json::String(format!("<{} binary bytes>", payload.len())),
    }
}

/// The method of a request step.
pub(crate) fn method_of(step: &Json) -> &'static str {
    METHODS.into_iter().find(|method| step.has(method)).unwrap_or("GET")
}

fn encode(query: &Json) -> String {
    let mut pairs = Vec::new();
    for (name, value) in query.fields() {
        let values = if let Json::Array(items) = value {
            items.clone()
        } else {
            vec![value.clone()]
        };
        pairs.extend(
            values
                .iter()
                .map(|value| format!("{}={}", quote(name), quote(&text(value)))),
        );
    }
    pairs.join("&")
}

fn quote(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
