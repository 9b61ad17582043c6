//! Answers on the wire: media types, forms, warnings, compression.

use std::io::{self, Write as _};
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::accept::{Accepted, Form, Media};
use super::body::Body;
use super::incoming::Incoming;
use super::protobuf;
use super::yaml;
use crate::discovery::Answer;
use crate::error::ApiError;
use crate::registry::read::{self, List};
use crate::registry::{Outcome, Scope};
use crate::resource::Resource;
use crate::table::{self, Include, Style};

/// Answers larger than this are compressed for clients that ask for it, and streamed for others.
const LARGE: usize = 128 * 1024;

/// A refusal: a Status, or plain text where the real server answers so.
pub(crate) fn error(error: &ApiError, media: Media) -> Response<Body> {
    let mut response = if error.plain_text {
        text(error.code, "text/plain; charset=utf-8", error.message.clone())
    } else {
        encoded(error.code, &error.to_status(), media)
    };
    warn(&mut response, &error.warnings);
    if let Some(seconds) = error.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A body that is ready.
pub(crate) fn text(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !content_type.is_empty() {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}

/// A discovery or OpenAPI document.
pub(crate) fn document(answer: Answer) -> Response<Body> {
    let mut response = text(answer.status, answer.content_type, answer.body);
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// One object, or the Status that stands for it, in the form that was accepted.
///
/// # Errors
/// 406 for a form that does not fit, 400 for a table that cannot be made.
pub(crate) fn object(
    scope: &Scope,
    incoming: &Incoming,
    accepted: Accepted,
    outcome: Outcome,
) -> Result<Response<Body>, ApiError> {
    let Outcome { code, shown, warnings } = outcome;
    if code == 204 {
        return Ok(text(code, "", Bytes::new()));
    }
    let verbatim = accepted.form == Form::Object && accepted.media == Media::Json && !accepted.pretty;
    let mut response = if verbatim {
        json_text(code, shown.into_json(&scope.resource), incoming)
    } else {
        let value = shown.into_value();
        let value = if value["kind"] == "Status" && value["apiVersion"] == "v1" {
            value
        } else {
            formed(scope, incoming, accepted.form, value)?
        };
        let (media, body) = encoded_bytes(&value, accepted);
        compressed(body, code, media, incoming)
    };
    warn(&mut response, &warnings);
    Ok(response)
}

/// A list in the form that was accepted.
///
/// # Errors
/// 406 for a form that does not fit, 400 for a table that cannot be made, 500 for an item that cannot be converted.
pub(crate) fn list(
    scope: &Scope,
    incoming: &Incoming,
    accepted: Accepted,
    list: List,
) -> Result<Response<Body>, ApiError> {
    let resource = &scope.resource;
    let custom = resource.custom.is_some();
    let meta = || list.metadata(false);
    let value = match accepted.form {
        Form::Object if accepted.media == Media::Json && !accepted.pretty => {
            return json_list(scope, incoming, list);
        }
        Form::Object => read::to_value(scope, &list)?,
        Form::Partial(_) => {
            return Err(not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                go_type(resource, custom, true)
            )));
        }
        Form::PartialList(version) => {
            let items = read::values(scope, &list)?;
            table::to_partial_list(&items.iter().collect::<Vec<_>>(), &meta(), version)
        }
        Form::Table(version) => {
            let items = read::values(scope, &list)?;
            to_table(
                scope,
                incoming,
                &items.iter().collect::<Vec<_>>(),
                &meta(),
                version,
                true,
            )?
        }
    };
    let (media, body) = encoded_bytes(&value, accepted);
    Ok(compressed(body, 200, media, incoming))
}

/// Objects as a table.
///
/// # Errors
/// 400 for an `includeObject` that does not exist.
pub(crate) fn to_table(
    scope: &Scope,
    incoming: &Incoming,
    objects: &[&Value],
    meta: &Value,
    version: &'static str,
    headers: bool,
) -> Result<Value, ApiError> {
    let style = Style {
        version,
        include: include(incoming)?,
        headers,
        now: scope.core.clock.now(),
    };
    Ok(match objects.first() {
        Some(first) if first["kind"] != scope.resource.kind.as_str() => {
            let kind = first["kind"].as_str().unwrap_or_default();
            let group = first["apiVersion"]
                .as_str()
                .and_then(|v| v.split_once('/'))
                .map_or("", |(group, _)| group);
            table::to_table_of_kind(group, kind, objects, meta, style)
        }
        _ => table::to_table(&scope.resource, objects, meta, style),
    })
}

/// What rows carry, from the query.
///
/// # Errors
/// 400 for a word that does not exist.
pub(crate) fn include(incoming: &Incoming) -> Result<Include, ApiError> {
    let word = incoming.query.get("includeObject").unwrap_or_default();
    Include::parse(word).ok_or_else(|| {
        ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {word:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        ))
    })
}

/// Adds a `Warning` header for each text.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    super::warnings::add(response.headers_mut(), warnings);
}

fn formed(scope: &Scope, incoming: &Incoming, form: Form, value: Value) -> Result<Value, ApiError> {
    let resource = &scope.resource;
    match form {
        Form::Object => Ok(value),
        Form::Partial(version) => Ok(table::to_partial(&value, version)),
        Form::PartialList(_) => Err(not_acceptable(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            go_type(resource, resource.custom.is_some(), false)
        ))),
        Form::Table(version) => {
            let meta = json!({ "resourceVersion": value["metadata"]["resourceVersion"] });
            to_table(scope, incoming, &[&value], &meta, version, true)
        }
    }
}

fn not_acceptable(message: String) -> ApiError {
    ApiError::new(406, "NotAcceptable", message)
}

/// The internal Go type of a kind, which two messages of the real server show.
fn go_type(resource: &Resource, custom: bool, list: bool) -> String {
    let suffix = if list { "List" } else { "" };
    if custom {
        return format!("*unstructured.Unstructured{suffix}");
    }
    let package = match resource.group.split('.').next().unwrap_or_default() {
        "" => "core",
        name => name,
    };
    format!("*{package}.{}{suffix}", resource.kind)
}

/// A JSON list, from the stored texts. A large one goes out piece by piece, never whole in memory.
fn json_list(scope: &Scope, incoming: &Incoming, list: List) -> Result<Response<Body>, ApiError> {
    let resource = &scope.resource;
    let custom = resource.custom.is_some();
    let (head, tail) = list_frame(resource, &list);
    let size: usize = list.objects.iter().map(|object| object.json.len()).sum();
    if size <= LARGE {
        let mut text = Vec::with_capacity(head.len() + size + list.objects.len() + tail.len());
        text.extend_from_slice(head.as_bytes());
        for (index, object) in list.objects.iter().enumerate() {
            item(scope, object, index, custom, &mut text)?;
        }
        text.extend_from_slice(tail.as_bytes());
        return Ok(json_text(200, text.into(), incoming));
    }
    let scope = scope.clone();
    let mut objects = list.objects.into_iter().enumerate().peekable();
    let mut head = Some(head);
    let pieces = std::iter::from_fn(move || {
        if head.is_none() && objects.peek().is_none() {
            return None;
        }
        let mut piece = Vec::with_capacity(LARGE);
        piece.extend_from_slice(head.take().unwrap_or_default().as_bytes());
        while piece.len() < LARGE / 2 {
            let Some((index, object)) = objects.next() else { break };
            if let Err(error) = item(&scope, &object, index, custom, &mut piece) {
                // The head is out already; the text breaks off, and the client sees that it is no JSON.
                tracing::error!(error = %error.message, key = %object.key, "cannot convert an item of a list");
                objects.by_ref().for_each(drop);
                return Some(Bytes::from(piece));
            }
        }
        if objects.peek().is_none() {
            piece.extend_from_slice(tail.as_bytes());
        }
        Some(Bytes::from(piece))
    });
    let pieces = pieces.map(Ok);
    let mut response = text(200, "application/json", Bytes::new());
    if wants_gzip(incoming) {
        say_packed(&mut response);
        *response.body_mut() = Body::frames(futures::stream::iter(packed(pieces)));
    } else {
        *response.body_mut() = Body::frames(futures::stream::iter(pieces));
    }
    Ok(response)
}

/// Compresses a text as it comes.
fn packed(mut pieces: impl Iterator<Item = io::Result<Bytes>>) -> impl Iterator<Item = io::Result<Bytes>> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    std::iter::from_fn(move || {
        let mut current = encoder.take()?;
        for piece in pieces.by_ref() {
            if let Err(error) = piece.and_then(|piece| current.write_all(&piece)) {
                return Some(Err(error));
            }
            if !current.get_ref().is_empty() {
                let out = std::mem::take(current.get_mut());
                encoder = Some(current);
                return Some(Ok(out.into()));
            }
        }
        Some(current.finish().map(Bytes::from))
    })
}

fn say_packed(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// What stands before and after the items of a list, in the key order of the real server.
fn list_frame(resource: &Resource, list: &List) -> (String, String) {
    let (kind, version) = (
        Value::from(resource.list_kind.as_str()),
        Value::from(resource.api_version()),
    );
    let metadata = list.metadata(resource.custom.is_some());
    if resource.custom.is_some() {
        let head = format!("{{\"apiVersion\":{version},\"items\":[");
        return (head, format!("],\"kind\":{kind},\"metadata\":{metadata}}}"));
    }
    let head = format!("{{\"kind\":{kind},\"apiVersion\":{version},\"metadata\":{metadata},\"items\":[");
    (head, "]}".to_owned())
}

fn item(
    scope: &Scope,
    object: &Arc<crate::storage::Stored>,
    index: usize,
    custom: bool,
    text: &mut Vec<u8>,
) -> Result<(), ApiError> {
    let item = read::item_text(scope, object)?;
    if index > 0 {
        text.push(b',');
    }
    if !custom {
        text.push(b'{');
    }
    text.extend_from_slice(&item);
    Ok(())
}

fn json_text(code: u16, body: Bytes, incoming: &Incoming) -> Response<Body> {
    compressed(body, code, Media::Json, incoming)
}

fn encoded(code: u16, value: &Value, media: Media) -> Response<Body> {
    let accepted = Accepted {
        media,
        ..Accepted::default()
    };
    let (media, body) = encoded_bytes(value, accepted);
    text(code, content_type(media), body)
}

/// A value in the media type that was accepted, or in JSON where protobuf has no message for it.
fn encoded_bytes(value: &Value, accepted: Accepted) -> (Media, Bytes) {
    let json = |value: &Value| Bytes::from(serde_json::to_vec(value).unwrap_or_default());
    match accepted.media {
        Media::Yaml => (Media::Yaml, yaml::write(value).into()),
        Media::Json if accepted.pretty => (Media::Json, serde_json::to_vec_pretty(value).unwrap_or_default().into()),
        Media::Json => (Media::Json, json(value)),
        Media::Protobuf => match protobuf::encode(value) {
            Some(body) => (Media::Protobuf, body.into()),
            None => (Media::Json, json(value)),
        },
    }
}

fn content_type(media: Media) -> &'static str {
    match media {
        Media::Json => "application/json",
        Media::Yaml => "application/yaml",
        Media::Protobuf => protobuf::MEDIA,
    }
}

fn wants_gzip(incoming: &Incoming) -> bool {
    incoming
        .header(&header::ACCEPT_ENCODING)
        .split(',')
        .any(|coding| coding.trim().starts_with("gzip"))
}

fn compressed(body: Bytes, code: u16, media: Media, incoming: &Incoming) -> Response<Body> {
    if body.len() <= LARGE || !wants_gzip(incoming) {
        return text(code, content_type(media), body);
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
    let Ok(packed) = packed else {
        return text(code, content_type(media), body);
    };
    let mut response = text(code, content_type(media), packed);
    say_packed(&mut response);
    response
}
