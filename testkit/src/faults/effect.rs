//! What goes wrong.

use std::fmt;
use std::time::Duration;

use kubewright::dev::apiserver::ApiError;
use serde_json::json;

use super::rule::Rule;
use super::view::Delay;
use crate::RequestRecord;

/// What befalls requests. See [`Fault::status`](super::Fault::status) and its neighbours.
#[derive(Clone, Debug)]
pub struct OnRequest {
    pub(super) happening: Happening,
    pub(super) after: bool,
}

/// What befalls watches that are open. See [`Fault::watch_frozen`](super::Fault::watch_frozen) and its neighbours.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OnWatch {
    /// The connection breaks before an event.
    CutBefore,
    /// The connection breaks after an event.
    CutAfter,
    /// An event comes twice.
    Twice,
    /// An ERROR event with code 410 comes instead.
    Expired,
    /// The view of the watch lags by so much; without a delay, for ever.
    View(Option<Delay>),
}

#[derive(Clone, Debug)]
pub(super) enum Happening {
    Answer(Answer),
    Cut,
    Refuse,
    Lose,
    Slow(Duration),
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Status(u16),
    Throttled(Duration),
    Expired,
}

/// Either of the two.
#[derive(Clone, Debug)]
pub(crate) enum AnyEffect {
    Request(OnRequest),
    Watch(OnWatch),
}

pub(crate) trait Effect: Clone + fmt::Display {
    fn erase(self) -> AnyEffect;

    /// Panics where effect and rule contradict each other.
    fn check(&self, rule: &Rule);
}

impl Effect for OnRequest {
    fn erase(self) -> AnyEffect {
        AnyEffect::Request(self)
    }

    fn check(&self, rule: &Rule) {
        let slow = matches!(self.happening, Happening::Slow(_));
        if let (true, false, Some(verb)) = (self.after, slow, rule.verbs.iter().find(|verb| !verb.is_write())) {
            panic!(
                "`{self}{rule}`: a {verb} has no effect for something to happen after; leave `after_effect()` or \
                 `on(Verb::…)` out"
            );
        }
        let expired = matches!(self.happening, Happening::Answer(Answer::Expired));
        if let (true, Some(verb)) = (expired, rule.verbs.iter().find(|verb| !can_expire(verb.as_str()))) {
            panic!("`{self}{rule}`: history can be gone for a list or a watch, never for a {verb}");
        }
    }
}

impl Effect for OnWatch {
    fn erase(self) -> AnyEffect {
        AnyEffect::Watch(self)
    }

    fn check(&self, rule: &Rule) {
        let view = matches!(self, Self::View(_));
        assert!(
            !view || (rule.name.is_none() && rule.event.is_none()),
            "`{self}{rule}`: a view lags for a whole watch, not for one object or type of event; leave `named()` and \
             `event()` out"
        );
    }
}

impl OnRequest {
    /// Whether the effect can befall a request that the rule fits.
    pub(super) fn can_befall(&self, request: &RequestRecord) -> bool {
        match &self.happening {
            Happening::Answer(Answer::Expired) => {
                let asks = |key: &str| {
                    request
                        .query
                        .split('&')
                        .any(|pair| pair.starts_with(key) && pair.len() > key.len())
                };
                match &*request.verb {
                    "watch" => asks("resourceVersion=") && !asks("sendInitialEvents="),
                    verb => can_expire(verb) && asks("continue="),
                }
            }
            _ => true,
        }
    }

    /// Whether it happens after a request that was answered so: whether that was a write that took effect.
    pub(super) fn comes_after(&self, request: &RequestRecord) -> bool {
        let read = matches!(&*request.verb, "get" | "list" | "watch");
        let slow = matches!(self.happening, Happening::Slow(_));
        self.after && (slow || !read) && (200..300).contains(&request.code)
    }
}

impl Answer {
    /// The error that the client is told.
    pub(super) fn error(&self, request: &RequestRecord) -> ApiError {
        match self {
            Self::Status(code) => status(*code, request),
            Self::Throttled(wait) => {
                let seconds = u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
                let message = "the server has received too many requests and has asked us to try again later";
                let mut error = ApiError::new(429, "TooManyRequests", message);
                error.retry_after = Some(seconds);
                error.details = Some(Box::new(json!({ "retryAfterSeconds": seconds })));
                error
            }
            Self::Expired => match &*request.verb {
                "watch" => expired_watch(),
                _ => ApiError::new(
                    410,
                    "Expired",
                    "The provided continue parameter is too old to display a consistent list result. You can start a \
                     new list without the continue parameter.",
                ),
            },
        }
    }
}

/// What a watch is told that cannot go on.
pub(super) fn expired_watch() -> ApiError {
    ApiError::new(410, "Expired", "The resourceVersion for the provided watch is too old.")
}

fn can_expire(verb: &str) -> bool {
    matches!(verb, "list" | "watch")
}

fn status(code: u16, request: &RequestRecord) -> ApiError {
    let group = if request.group.is_empty() {
        String::new()
    } else {
        format!(".{}", request.group)
    };
    let object = format!("{}{group} {:?}", request.resource, request.name);
    let (reason, message) = match code {
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason".to_owned(),
        ),
        401 => ("Unauthorized", "Unauthorized".to_owned()),
        403 => ("Forbidden", format!("{object} is forbidden: injected by the test")),
        404 => ("NotFound", format!("{object} not found")),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource".to_owned(),
        ),
        409 => (
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {object}: the object has been modified; please apply your changes to \
                 the latest version and try again"
            ),
        ),
        410 => (
            "Expired",
            "The resourceVersion for the provided list is too old.".to_owned(),
        ),
        413 => (
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728".to_owned(),
        ),
        422 => ("Invalid", format!("{object} is invalid: injected by the test")),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later".to_owned(),
        ),
        500 => (
            "InternalError",
            "Internal error occurred: injected by the test".to_owned(),
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request".to_owned(),
        ),
        504 => (
            "Timeout",
            "Timeout: request did not complete within the allotted timeout".to_owned(),
        ),
        code => ("", format!("the server answered {code}: injected by the test")),
    };
    let mut error = ApiError::new(code, reason, message);
    let mut details = serde_json::Map::new();
    for (key, value) in [
        ("name", &request.name),
        ("group", &request.group),
        ("kind", &request.resource),
    ] {
        if !value.is_empty() {
            details.insert(key.to_owned(), value.as_str().into());
        }
    }
    error.details = Some(Box::new(details.into()));
    error
}

impl fmt::Display for OnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.happening {
            Happening::Answer(Answer::Status(code)) => write!(f, "status {code}")?,
            Happening::Answer(Answer::Throttled(wait)) => write!(f, "throttled for {wait:?}")?,
            Happening::Answer(Answer::Expired) => f.write_str("expired")?,
            Happening::Cut => f.write_str("cut")?,
            Happening::Refuse => f.write_str("unreachable")?,
            Happening::Lose => f.write_str("timeout")?,
            Happening::Slow(by) => write!(f, "slow by {by:?}")?,
        }
        if self.after {
            f.write_str(" after the effect")
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for OnWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutBefore => f.write_str("watch cut before an event"),
            Self::CutAfter => f.write_str("watch cut after an event"),
            Self::Twice => f.write_str("event twice"),
            Self::Expired => f.write_str("watch expired"),
            Self::View(None) => f.write_str("watch frozen"),
            Self::View(Some(delay)) => write!(f, "watch delayed by {delay}"),
        }
    }
}

impl fmt::Display for AnyEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(effect) => effect.fmt(f),
            Self::Watch(effect) => effect.fmt(f),
        }
    }
}
