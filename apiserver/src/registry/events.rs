//! The events of one watch, in order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::Scope;
use super::conversion::{arrived, by_webhook};
use super::read::Selectors;
use super::watch::{EventForm, next_bookmark};
use crate::error::ApiError;
use crate::http::body::reset;
use crate::http::intercept::Delivery;
use crate::http::log::EventRecord;
use crate::storage::{Change, Key, Stored, Subscription};

/// A watch that streams.
pub(super) struct Events<F> {
    pub(super) scope: Scope,
    pub(super) selectors: Selectors,
    pub(super) form: F,
    /// The part of the state that has not been sent.
    pub(super) state: vec::IntoIter<Arc<Stored>>,
    /// The revision at which a bookmark has to say that the state is complete.
    pub(super) end_of_state: Option<u64>,
    pub(super) changes: Subscription,
    /// The next change, which may not be shown yet.
    pub(super) held: Option<Arc<Change>>,
    /// Changes up to here are not wanted.
    pub(super) after: u64,
    /// Everything up to here has been looked at.
    pub(super) seen: u64,
    pub(super) bookmarks: bool,
    pub(super) next_bookmark: Option<Instant>,
    pub(super) deadline: Instant,
    /// What an interceptor adds.
    pub(super) outbox: VecDeque<io::Result<Bytes>>,
    /// Whether nothing comes any more.
    pub(super) over: bool,
}

impl<F: EventForm> Events<F> {
    /// The next frame; `None` once the watch has ended in good order, an error where its connection breaks.
    pub(super) async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(frame) = self.outbox.pop_front() {
                return Some(frame);
            }
            if self.over {
                return None;
            }
            self.step().await;
        }
    }

    /// Waits for something to happen, and puts what there is to be sent into the outbox.
    async fn step(&mut self) {
        if self.scope.sight.is_cut() {
            return self.break_off();
        }
        if let Some(object) = self.state.next() {
            return self.present(object).await;
        }
        if let Some(complete) = self.end_of_state {
            if self.seen < complete {
                self.caught_up();
            }
            if self.seen >= complete {
                self.end_of_state = None;
                return self.bookmark(true);
            }
        }
        if let Some(change) = self.held.take() {
            if self.is_shown(&change) {
                self.seen = self.seen.max(change.revision);
                return self.event(&change).await;
            }
            self.held = Some(change);
        }
        tokio::select! {
            biased;
            change = self.changes.next(), if self.held.is_none() => match change {
                Some(change) => self.held = Some(change),
                None => self.over = true,
            },
            () = self.scope.sight.changed() => {}
            () = sleep_until(self.deadline) => self.over = true,
            () = sleep_until(self.next_bookmark.unwrap_or(self.deadline)), if self.next_bookmark.is_some() => {
                self.next_bookmark = next_bookmark(Instant::now(), self.deadline);
                if self.bookmarks && self.caught_up() {
                    self.bookmark(false);
                }
            }
        }
    }

    /// Sends an object of the state, if it is selected.
    async fn present(&mut self, object: Arc<Stored>) {
        let (key, revision) = (object.key.clone(), object.revision);
        let frame = match arrived(&self.scope, object).await {
            Ok(object) if self.selectors.matches(&object) => self.shown("ADDED", &object, revision),
            Ok(_) => return,
            Err(error) => self.error(&error),
        };
        self.send("ADDED", Some(&key), revision, frame);
    }

    fn is_shown(&self, change: &Change) -> bool {
        let horizon = self.scope.sight.horizon.as_ref();
        horizon.is_none_or(|horizon| change.revision <= horizon.revision())
    }

    /// Sends the event that a change is to this watcher, if it is one.
    async fn event(&mut self, change: &Arc<Change>) {
        let Some(key) = change.object().map(|object| &object.key) else {
            return;
        };
        let elsewhere = !self.scope.namespace.is_empty() && *key.namespace != *self.scope.namespace;
        if change.revision <= self.after || elsewhere {
            return;
        }
        let (old, new) = match both(&self.scope, change).await {
            Ok(both) => both,
            Err(error) => {
                let frame = self.error(&error);
                return self.send("ERROR", Some(key), change.revision, frame);
            }
        };
        let before = old.as_ref().filter(|old| self.selectors.matches(old));
        let now = new.as_ref().filter(|new| self.selectors.matches(new));
        let (kind, object) = match (before, now) {
            (None, Some(new)) => ("ADDED", new),
            (Some(_), Some(new)) => ("MODIFIED", new),
            (Some(old), None) => ("DELETED", old),
            (None, None) => return,
        };
        let frame = match self.form.shared() {
            Some(form) => change.frame(kind, form, || self.shown(kind, object, change.revision)),
            None => self.shown(kind, object, change.revision),
        };
        self.send(kind, Some(key), change.revision, frame);
    }

    /// Sends a frame, or what an interceptor makes of it.
    fn send(&mut self, kind: &'static str, key: Option<&Key>, revision: u64, frame: Bytes) {
        let record = EventRecord {
            caller: self.scope.caller.as_ref(),
            user: &self.scope.user.name,
            kind,
            resource: &self.scope.resource,
            key,
            revision,
        };
        let (logs, delivery) = (&self.scope.core.logs, self.scope.sight.delivery(&record));
        match delivery {
            Delivery::Pass => {
                logs.delivered(&record);
                self.outbox.push_back(Ok(frame));
            }
            Delivery::Twice => {
                logs.delivered(&record);
                logs.delivered(&record);
                self.outbox.push_back(Ok(frame.clone()));
                self.outbox.push_back(Ok(frame));
            }
            Delivery::CutBefore => self.break_off(),
            Delivery::CutAfter => {
                logs.delivered(&record);
                self.outbox.push_back(Ok(frame));
                self.break_off();
            }
            Delivery::Fail(error) => {
                let frame = self.error(&error);
                self.outbox.push_back(Ok(frame));
                self.over = true;
            }
        }
    }

    fn break_off(&mut self) {
        self.outbox.push_back(Err(reset()));
        self.over = true;
    }

    /// An event about an object, or an ERROR event where the object cannot be shown.
    fn shown(&mut self, kind: &str, object: &Stored, revision: u64) -> Bytes {
        match self.form.object(&self.scope, object, revision) {
            Ok(text) => self.form.frame(kind, text),
            Err(error) => self.error(&error),
        }
    }

    fn error(&self, error: &ApiError) -> Bytes {
        self.form.frame("ERROR", error.to_status().to_string().into())
    }

    /// Whether every change that is shown has been looked at; then the last of them is what a bookmark may name.
    fn caught_up(&mut self) -> bool {
        // Changes are queued before their revision can be read here, so an empty queue after reading it means that
        // nothing up to it is outstanding.
        let present = self.scope.shown();
        match &self.held {
            Some(held) => self.seen = self.seen.max(present.min(held.revision - 1)),
            None if self.changes.is_idle() => self.seen = self.seen.max(present),
            None => {}
        }
        // A watch from beyond its horizon has nothing to say until the horizon has come there.
        self.scope.sight.horizon.is_none() || present >= self.after
    }

    fn bookmark(&mut self, end_of_state: bool) {
        let resource = &self.scope.resource;
        let mut object: Value = json!({
            "kind": resource.kind,
            "apiVersion": resource.api_version(),
            "metadata": { "resourceVersion": self.seen.to_string() },
        });
        if end_of_state {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let text = self.form.bookmark(&self.scope, object);
        let frame = self.form.frame("BOOKMARK", text);
        self.send("BOOKMARK", None, self.seen, frame);
    }
}

/// The object before and after a change, in the version of the watch.
async fn both(scope: &Scope, change: &Change) -> Result<(Option<Arc<Stored>>, Option<Arc<Stored>>), ApiError> {
    let mut both = [change.old.clone(), change.new.clone()];
    if by_webhook(&scope.resource) {
        for object in &mut both {
            if let Some(stored) = object.take() {
                *object = Some(arrived(scope, stored).await?);
            }
        }
    }
    let [old, new] = both;
    Ok((old, new))
}
