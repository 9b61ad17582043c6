//! From answers and transport failures to [`ClientError`].

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tower::BoxError;

use crate::client::error::{ClientError, StatusError};
use crate::client::layers::{FaultError, FenceRefusal, HeldBack};
use crate::client::target::Target;
use crate::client::transport::{bounded_wait, retry_after};

/// The part of `metav1.Status` that errors need.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    code: u16,
    reason: String,
    message: String,
    metadata: Option<ListMeta>,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListMeta {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    uid: Option<String>,
    retry_after_seconds: u64,
    causes: Vec<Cause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
    reason: String,
    message: String,
}

/// The error that an answer with a failing code stands for.
pub(crate) fn status(target: Target, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> ClientError {
    let asked = retry_after(headers);
    ClientError::Status(Box::new(status_error(target, Some(code.as_u16()), asked, body)))
}

/// The error that an `ERROR` event of a watch carries.
pub(crate) fn event_status(target: Target, body: &[u8]) -> ClientError {
    ClientError::Status(Box::new(status_error(target, None, None, body)))
}

/// The error that a failure before or instead of an answer stands for.
pub(crate) fn failure(target: &Target, error: BoxError) -> ClientError {
    let target = Box::new(target.clone());
    let error = match error.downcast::<FenceRefusal>() {
        Ok(refusal) => {
            return ClientError::FenceClosed {
                target,
                outcome_unknown: refusal.sent,
            };
        }
        Err(error) => error,
    };
    if let Some(held) = error.downcast_ref::<HeldBack>() {
        let per_minute = held.per_minute;
        return ClientError::DeletesCapped { target, per_minute };
    }
    let cause = chain(&*error);
    if surely_unsent(&*error) {
        return ClientError::Unreachable { target, cause };
    }
    let outcome_unknown = target.is_write();
    ClientError::Timeout {
        target,
        after: Duration::ZERO,
        cause: Some(cause),
        outcome_unknown,
    }
}

/// Whether a failure happened before the server can have seen the request.
pub(crate) fn surely_unsent(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>()
            && error.is_connect()
        {
            return true;
        }
        // Nobody listened: what an embedded server's connection says, where hyper has no part in it.
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && error.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        if let Some(error) = error.downcast_ref::<FaultError>() {
            return !error.sent;
        }
        if let Some(error) = error.downcast_ref::<FenceRefusal>() {
            return !error.sent;
        }
        if let Some(error) = error.downcast_ref::<kube::Error>()
            && matches!(error, kube::Error::Auth(_) | kube::Error::HttpError(_))
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// Logs what the server warns of, at debug level: a deprecated field is warned of with every write.
pub(crate) fn log_warnings(target: &Target, headers: &HeaderMap) {
    for value in headers.get_all(http::header::WARNING) {
        let Ok(value) = value.to_str() else { continue };
        // `299 - "text"`, see https://kubernetes.io/blog/2020/09/03/warnings/.
        let text = value
            .split_once('"')
            .and_then(|(_, rest)| rest.rsplit_once('"'))
            .map_or(value, |(text, _)| text);
        tracing::debug!(target: "kubewright::client", %target, warning = text, "the API server warns");
    }
}

fn status_error(target: Target, code: Option<u16>, asked: Option<Duration>, body: &[u8]) -> StatusError {
    let status: Status = serde_json::from_slice(body).unwrap_or_default();
    let details = status.details.unwrap_or_default();
    let code = code.unwrap_or(status.code);
    let message = if status.message.is_empty() {
        plain_text(code, body)
    } else {
        status.message
    };
    let asked = asked.or_else(|| (details.retry_after_seconds > 0).then(|| bounded_wait(details.retry_after_seconds)));
    StatusError {
        target,
        code,
        reason: status.reason,
        message,
        causes: details
            .causes
            .into_iter()
            .map(|cause| (cause.field, cause.reason, cause.message))
            .collect(),
        retry_after: asked,
        uid: details.uid,
        continue_token: status
            .metadata
            .and_then(|metadata| metadata.continue_token)
            .filter(|token| !token.is_empty()),
    }
}

/// What proxies and old paths answer instead of a `Status`.
fn plain_text(code: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(300)]);
    let text = text.trim();
    if text.is_empty() {
        StatusCode::from_u16(code)
            .ok()
            .and_then(|code| code.canonical_reason())
            .unwrap_or("no message")
            .to_lowercase()
    } else {
        text.to_owned()
    }
}

/// All messages of an error's chain; each once, as many repeat their source's.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn target() -> Target {
        Target::collection("list", &Kind::new("", "v1", "Pod", "pods", true), None)
    }

    #[test]
    fn retry_after_is_read_from_header_and_from_details() {
        let body = br#"{"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow","details":{"retryAfterSeconds":7}}"#;
        let error = status(target(), StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), body);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let endless = br#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":18446744073709551615}}"#;
        let error = status(target(), StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), endless);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", http::HeaderValue::from_static("3"));
        let error = status(target(), StatusCode::TOO_MANY_REQUESTS, &headers, b"");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
        assert_eq!(
            error.to_string(),
            "list pods in all namespaces: too many requests (429); the server is overloaded, the request will be retried"
        );
    }

    #[test]
    fn an_answer_that_is_no_status_is_quoted() {
        let error = status(
            target(),
            StatusCode::BAD_GATEWAY,
            &HeaderMap::new(),
            b"<html>\nbad</html>",
        );
        assert_eq!(
            error.to_string(),
            "list pods in all namespaces: <html> bad</html> (502)"
        );
    }
}
