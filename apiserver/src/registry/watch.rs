//! Watches: the state, the changes after it, bookmarks, an orderly end.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::conversion::by_webhook;
use super::events::Events;
use super::options::integer;
use super::read::{Selectors, not_a_number, wait_for};
use super::{Scope, shape};
use crate::error::{ApiError, Cause};
use crate::http::query::Query;
use crate::storage::{self, Interest, Overflow, Stored};

/// Undelivered changes at which a watcher is ended.
const BACKLOG: usize = 4096;
/// How often a bookmark comes.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before the deadline the last bookmark comes.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// The shortest life of a watch that names none; up to twice as long.
const DEFAULT_LIFE: u64 = 1800;

/// How the objects of events are shown.
pub(crate) trait EventForm: Send + 'static {
    /// A number that equal forms share: watchers with equal forms share serialised events. `None` if the form depends
    /// on what the watcher has seen before.
    fn shared(&self) -> Option<u64>;

    /// The object of an event, as JSON text.
    ///
    /// # Errors
    /// When it cannot be converted.
    fn object(&mut self, scope: &Scope, object: &Stored, revision: u64) -> Result<Bytes, ApiError>;

    /// An event around an object's text: one line of JSON, unless the form speaks something else.
    fn frame(&self, kind: &str, object: Bytes) -> Bytes {
        json_frame(kind, &object)
    }

    /// A bookmark's object, as JSON text.
    fn bookmark(&mut self, scope: &Scope, bookmark: Value) -> Bytes {
        let _ = scope;
        bookmark.to_string().into()
    }
}

/// Objects as they are.
pub(crate) struct Plain(pub(crate) u64);

impl EventForm for Plain {
    fn shared(&self) -> Option<u64> {
        Some(self.0)
    }

    fn object(&mut self, scope: &Scope, object: &Stored, revision: u64) -> Result<Bytes, ApiError> {
        if shape::is_verbatim(&scope.resource, object) {
            return Ok(object.json_at(revision));
        }
        let mut value = shape::value(&scope.resource, object)?;
        value["metadata"]["resourceVersion"] = revision.to_string().into();
        Ok(storage::text(&value, shape::layout(&scope.resource)).into())
    }
}

/// A watch that is ready to stream.
pub(crate) struct Watch<F> {
    scope: Scope,
    selectors: Selectors,
    form: F,
    bookmarks: bool,
    deadline: Instant,
    start: Start,
}

enum Start {
    /// The newest state, then what follows it.
    State,
    /// Any state, then what follows it.
    AnyState,
    /// The state once the server has reached a revision.
    StateFrom(u64),
    /// What comes after a revision.
    After(u64),
}

impl<F: EventForm> Watch<F> {
    /// Reads and checks the options of a watch.
    ///
    /// # Errors
    /// 400 and 422 for bad options, 500 for a resourceVersion that is no number.
    pub(crate) fn new(scope: Scope, query: &Query, form: F) -> Result<Self, ApiError> {
        let timeout = query
            .given("timeoutSeconds")
            .map(integer)
            .transpose()?
            .and_then(|t| u64::try_from(t).ok());
        let selectors = Selectors::parse(&scope, query)?;
        let text = query.get("resourceVersion").unwrap_or_default();
        let unset = matches!(text, "" | "0");
        let asked = query.flag("sendInitialEvents");
        check_options(query, asked, unset)?;
        let revision: u64 = match text {
            "" => 0,
            text => text.parse().map_err(|_| ApiError::new(500, "", not_a_number(text)))?,
        };
        let start = match (asked, unset) {
            (Some(true) | None, true) if text.is_empty() => Start::State,
            (Some(true) | None, true) => Start::AnyState,
            (Some(true), false) => Start::StateFrom(revision),
            (Some(false), true) => Start::After(scope.shown()),
            (_, false) => Start::After(revision),
        };
        let seconds = timeout
            .filter(|t| *t > 0)
            .unwrap_or_else(|| DEFAULT_LIFE + scope.core.clock.next_u64() % DEFAULT_LIFE);
        // Longer than any test or process lives, and still within the clock's range.
        let life = Duration::from_secs(seconds.min(10 * 365 * 86_400));
        let bookmarks = query.flag("allowWatchBookmarks") == Some(true);
        Ok(Self {
            scope,
            selectors,
            form,
            bookmarks,
            deadline: Instant::now() + life,
            start,
        })
    }

    /// The events, one JSON text and a newline each. Ends at the deadline, with the resource, or when its reader falls
    /// too far behind.
    ///
    /// A revision that history no longer reaches, or that the server does not reach in time, is an ERROR event.
    pub(crate) async fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<F> {
        let error_only = |error: ApiError| {
            let status = error.to_status().to_string();
            futures::stream::iter([Ok(self.form.frame("ERROR", status.into()))]).left_stream()
        };
        if let Start::StateFrom(revision) = self.start
            && let Err(error) = wait_for(&self.scope, revision).await
        {
            return error_only(error);
        }
        let scope = &self.scope;
        let store = &scope.core.store;
        let interest = interest(scope, &self.selectors);
        let namespace = (!scope.namespace.is_empty()).then_some(scope.namespace.as_str());
        let overflow = Overflow::End(BACKLOG);
        let too_old = |revision: u64| {
            let message = format!("too old resource version: {revision} ({})", store.revision());
            error_only(ApiError::new(410, "Expired", message))
        };
        let horizon = scope.sight.horizon.as_ref();
        if let Some(horizon) = horizon {
            store.keep_for(horizon);
        }
        let name = &scope.resource.stored_under;
        // A list of the newest state ends once everything is shown that was written when it was asked for.
        let newest = if matches!(self.start, Start::State) {
            store.revision()
        } else {
            0
        };
        let (state, after, changes) = match (&self.start, horizon) {
            (Start::After(revision), _) => match store.follow(interest, *revision, horizon, overflow) {
                Ok(changes) => (None, *revision, changes),
                Err(_) => return too_old(*revision),
            },
            (_, None) => {
                let (view, changes) = store.view_and_subscribe(name, namespace, interest, overflow);
                (Some(view.objects), view.revision, changes)
            }
            (_, Some(horizon)) => match store.view_within_and_subscribe(name, namespace, horizon, interest, overflow) {
                Ok((view, changes)) => (Some(view.objects), view.revision, changes),
                Err(_) => return too_old(horizon.revision()),
            },
        };
        let now = Instant::now();
        let stream = Events {
            end_of_state: (state.is_some() && self.bookmarks).then_some(newest.max(after)),
            state: state.unwrap_or_default().into_iter(),
            changes,
            held: None,
            outbox: VecDeque::new(),
            over: false,
            seen: after,
            after,
            next_bookmark: next_bookmark(now, self.deadline),
            scope: self.scope,
            selectors: self.selectors,
            form: self.form,
            bookmarks: self.bookmarks,
            deadline: self.deadline,
        };
        futures::stream::unfold(stream, |mut events| async move {
            let frame = events.next().await?;
            Some((frame, events))
        })
        .right_stream()
    }
}

fn json_frame(kind: &str, object: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(object.len() + 32);
    frame.extend_from_slice(b"{\"type\":\"");
    frame.extend_from_slice(kind.as_bytes());
    frame.extend_from_slice(b"\",\"object\":");
    frame.extend_from_slice(object);
    frame.extend_from_slice(b"}\n");
    frame.into()
}

/// Every minute, and shortly before the end.
pub(super) fn next_bookmark(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|last| *last > now);
    let regular = now + BOOKMARK_EVERY;
    match last {
        Some(last) => Some(last.min(regular)),
        None => (regular < deadline).then_some(regular),
    }
}

/// The narrowest interest that covers everything the watcher can match.
fn interest(scope: &Scope, selectors: &Selectors) -> Interest {
    let resource = Arc::clone(&scope.resource.stored_under);
    let placed = !scope.namespace.is_empty() || !scope.resource.namespaced;
    if let Some(name) = selectors.fields.demanded("metadata.name")
        && placed
    {
        return Interest::Object(resource, scope.namespace.as_str().into(), name.into());
    }
    // What a webhook converts is selected by what it makes of it.
    let verbatim = !by_webhook(&scope.resource);
    if let Some((name, value)) = selectors.labels.demanded().filter(|_| verbatim) {
        return Interest::Label(resource, name.into(), value.into());
    }
    if let Some((field, value)) = selectors.fields.demanded_field().filter(|_| verbatim) {
        return Interest::Field(resource, field.into(), value.into());
    }
    if scope.namespace.is_empty() {
        Interest::Resource(resource)
    } else {
        Interest::Namespace(resource, scope.namespace.as_str().into())
    }
}

fn check_options(query: &Query, asked: Option<bool>, unset: bool) -> Result<(), ApiError> {
    let field = "resourceVersionMatch";
    let mut causes = Vec::new();
    let given = query.get(field).unwrap_or_default();
    // Without a resourceVersion the server reads a watch as one that asks for the state.
    let implied = asked.is_none() && unset && given.is_empty();
    let matching = if implied { "NotOlderThan" } else { given };
    if asked.is_some() && matching != "NotOlderThan" {
        causes.push(Cause::forbidden(
            field,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if !matching.is_empty() {
        if asked.is_none() && !implied {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(field, detail));
        }
        if query.given("continue").is_some() {
            causes.push(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if matching != "NotOlderThan" {
            causes.push(Cause::unsupported(field, &json!(matching), &["NotOlderThan"]));
        }
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &causes))
    }
}
