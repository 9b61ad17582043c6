//! A request as it was read: head, query, and a body of bounded size.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use http_body::Body;

use super::log::Caller;
use super::query::Query;
use crate::error::ApiError;

/// The largest body that is read, as the real server's `--max-resource-write-bytes`.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// The most memory that is set aside for a body before it comes.
const FIRST_CAPACITY: usize = 64 * 1024;
/// How long a client may take to send a body, as the real server's `--request-timeout`.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Incoming {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) query_text: String,
    pub(crate) headers: HeaderMap,
    /// Who asks, where an in-process client said so.
    pub(crate) caller: Option<Caller>,
    body: Result<Bytes, ApiError>,
}

impl Incoming {
    /// Reads a request. What is wrong with its body shows when the body is asked for.
    pub(crate) async fn read<B>(request: Request<B>) -> Self
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let (
            Parts {
                method,
                uri,
                headers,
                mut extensions,
                ..
            },
            body,
        ) = request.into_parts();
        let body = tokio::time::timeout(PATIENCE, collect(body, &headers))
            .await
            .unwrap_or_else(|_| Err(too_slow()));
        let query_text = uri.query().unwrap_or_default().to_owned();
        Self {
            method,
            path: uri.path().to_owned(),
            query: Query::parse(&query_text),
            query_text,
            headers,
            caller: extensions.remove::<Caller>(),
            body,
        }
    }

    /// The body.
    ///
    /// # Errors
    /// 413 if it is too large, 400 if it broke off.
    pub(crate) fn body(&self) -> Result<&Bytes, ApiError> {
        self.body.as_ref().map_err(Clone::clone)
    }

    /// `metadata.name` of the object in the body; empty where it has none, or is no JSON.
    pub(crate) fn name_in_body(&self) -> String {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Named {
            metadata: Metadata,
        }
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Metadata {
            name: String,
        }
        let body = self.body.as_deref().unwrap_or_default();
        let named: Named = serde_json::from_slice(body).unwrap_or_default();
        named.metadata.name
    }

    /// A header as text; empty if it is missing or no text.
    pub(crate) fn header(&self, name: &header::HeaderName) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// All values of `Accept`, as one.
    pub(crate) fn accept(&self) -> String {
        let values = self
            .headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok());
        values.collect::<Vec<_>>().join(",")
    }

    /// The content type, if there is one.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
    }
}

async fn collect<B>(body: B, headers: &HeaderMap) -> Result<Bytes, ApiError>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: fmt::Display,
{
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_LIMIT) {
        return Err(too_large());
    }
    let mut body = pin!(body);
    // What is announced need not come: memory grows with what is there.
    let mut collected = BytesMut::with_capacity(announced.unwrap_or_default().min(FIRST_CAPACITY));
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| ApiError::bad_request(format!("the body broke off: {error}")))?;
        if let Ok(mut data) = frame.into_data() {
            if collected.len() + data.remaining() > BODY_LIMIT {
                return Err(too_large());
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                collected.extend_from_slice(chunk);
                let length = chunk.len();
                data.advance(length);
            }
        }
    }
    Ok(collected.freeze())
}

fn too_slow() -> ApiError {
    let why = format!("the body did not come within {} s; send it at once", PATIENCE.as_secs());
    ApiError::new(408, "Timeout", why)
}

fn too_large() -> ApiError {
    ApiError::new(
        413,
        "RequestEntityTooLarge",
        format!("Request entity too large: limit is {BODY_LIMIT}"),
    )
}
