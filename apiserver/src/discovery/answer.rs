//! A document and the headers that go with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::order;
use crate::http::accept::Media;
use crate::http::{protobuf, yaml};

/// What a client asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// Path of the request.
    pub path: &'a str,
    /// Query of the request, without the question mark.
    pub query: &'a str,
    /// The `Accept` header; empty when there is none.
    pub accept: &'a str,
    /// The `If-None-Match` header; empty when there is none.
    pub if_none_match: &'a str,
}

/// What goes over the wire.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Content type; empty for an answer without one.
    pub content_type: &'static str,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// 200 with a JSON document.
    #[must_use]
    pub fn json(document: &Value) -> Self {
        Self::new(200, "application/json", order::text(document))
    }

    /// 200 with a document in a media type.
    pub(crate) fn of(media: Media, content_type: &'static str, document: &Value) -> Self {
        let body: Bytes = match media {
            Media::Json => order::text(document).into(),
            Media::Yaml => yaml::write(document).into(),
            Media::Protobuf => protobuf::encode(document).unwrap_or_default().into(),
        };
        Self::new(200, content_type, body)
    }

    /// 200 with a document and its ETag, or 304 when the client has it already.
    pub(crate) fn tagged(media: Media, content_type: &'static str, document: &Value, ask: &Ask<'_>) -> Self {
        let tag = format!("\"{}\"", hash(document.to_string().as_bytes()));
        let known = ask
            .if_none_match
            .split(',')
            .any(|t| t.trim().trim_start_matches("W/") == tag);
        let mut answer = if known {
            Self::new(304, "", Bytes::new())
        } else {
            Self::of(media, content_type, document)
        };
        answer.headers = vec![
            ("ETag", tag),
            ("Vary", "Accept".into()),
            ("Cache-Control", "public".into()),
        ];
        answer
    }

    /// An answer without further headers.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type,
            headers: Vec::new(),
            body: body.into(),
        }
    }
}

/// The hash of a document, as upper-case hexadecimal digits.
#[must_use]
pub(crate) fn hash(bytes: &[u8]) -> String {
    ring::digest::digest(&ring::digest::SHA256, bytes)
        .as_ref()
        .iter()
        .map(|b| format!("{b:02X}"))
        .collect()
}

/// `storageVersionHash`: tells clients when the stored form of a kind changes.
#[must_use]
pub(crate) fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(&digest.as_ref()[..8])
}
