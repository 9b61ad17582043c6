//! Keeps one informer up: lists, watches from where the list ended, and comes back from whatever goes wrong.

use std::time::Duration;

use tokio::time::Instant;

use crate::cache::{Informer, ScanError};
use crate::client::{ClientError, ListParams, Origin, PAGE, StatusError, Transport, WatchParams, event_status};
use crate::delta::Version;
use crate::env::Env;
use crate::watch::backoff::Backoff;
use crate::watch::event::Event;
use crate::watch::frames::Frames;
use crate::watch::trouble::Trouble;

/// A success shorter than this does not shorten the backoff: a server that accepts each watch and drops it at once
/// would otherwise be asked without a pause.
pub(super) const LASTING: Duration = Duration::from_secs(30);
/// Once a server has sent bookmarks, it sends one about every minute; this long a silence means a dead connection.
const SILENCE: Duration = Duration::from_secs(180);
/// How long after its own timeout a server may take to end a watch.
const GRACE: Duration = Duration::from_secs(30);
/// How long the first event of a streamed list may take before pages are asked for instead.
const FIRST_EVENT: Duration = Duration::from_secs(30);
/// How long lists are asked for in pages once the server refused to stream one: it may have been another server, or an
/// overloaded one.
const STREAM_AGAIN: Duration = Duration::from_secs(600);
/// How long a deletion may wait for its event before the server is asked for a version that settles it.
const LINGER: Duration = Duration::from_secs(30);

/// Drives one informer. Made unspawned; [`Watcher::run`] is the task.
#[derive(Debug)]
pub(crate) struct Watcher {
    informer: Informer,
    transport: Transport,
    env: Env,
    origin: Origin,
    backoff: Backoff,
    trouble: Trouble,
    /// Until when lists are asked for in pages, as the server refused to stream one.
    paged_until: Option<Instant>,
    /// Where the store was when a line came that could not be read.
    unreadable: Option<Option<Version>>,
    bookmarks: bool,
    relisted: Option<Instant>,
    /// When something in the overlay began to wait without a version.
    lingering: Option<Instant>,
}

/// Why a watch is over.
enum Ended {
    /// Go on from where it was.
    Resume,
    /// Its version is gone: list anew.
    Relist,
}

/// A streamed list that did not come to its end.
enum StreamFailure {
    /// The server does not know such lists.
    Unsupported,
    Failed(ClientError),
}

impl Watcher {
    pub(crate) fn new(informer: Informer, transport: Transport, env: Env) -> Self {
        Self {
            trouble: Trouble::new(informer.clone(), env.clone()),
            backoff: Backoff::new(env.clone()),
            informer,
            transport,
            env,
            origin: Origin::part("informer"),
            paged_until: None,
            unreadable: None,
            bookmarks: false,
            relisted: None,
            lingering: None,
        }
    }

    /// Never returns; dropping it stops the informer.
    pub(crate) async fn run(mut self) {
        loop {
            let frames = match self.list().await {
                Ok(frames) => frames,
                Err(error) => {
                    self.wait(&error, "list").await;
                    continue;
                }
            };
            self.trouble.over();
            self.relisted = Some(Instant::now());
            self.watch(frames).await;
        }
    }

    /// Brings the store to a consistent list. A streamed list goes on as a watch.
    async fn list(&mut self) -> Result<Option<Frames>, ClientError> {
        self.informer.status_mut().lists += 1;
        if self.paged_until.is_none_or(|until| until <= Instant::now()) {
            match self.list_by_stream().await {
                Ok(frames) => return Ok(Some(frames)),
                Err(StreamFailure::Unsupported) => self.paged_until = Some(Instant::now() + STREAM_AGAIN),
                Err(StreamFailure::Failed(error)) => return Err(error),
            }
        }
        self.list_by_pages().await.map(|()| None)
    }

    async fn list_by_stream(&mut self) -> Result<Frames, StreamFailure> {
        let run = self.informer.begin_list();
        let mut frames = match self.open(None).await {
            Ok(frames) => frames,
            // 422 is the answer of servers that know the parameter and have it switched off, 400 of some others.
            Err(error) if matches!(error.code(), Some(400 | 422)) => return Err(StreamFailure::Unsupported),
            Err(error) => return Err(StreamFailure::Failed(error)),
        };
        loop {
            let line = match tokio::time::timeout(FIRST_EVENT, frames.next()).await {
                // Silence, an early end: this server, or what stands before it, does not stream lists.
                Err(_) | Ok(None) => return Err(StreamFailure::Unsupported),
                Ok(Some(line)) => line.map_err(StreamFailure::Failed)?,
            };
            let Some(event) = self.read(&frames, &line).map_err(StreamFailure::Failed)? else {
                continue;
            };
            match event {
                Event::Changed(object) => self.informer.listed(run, &object),
                Event::Bookmark {
                    version,
                    initial_end: true,
                } => {
                    self.bookmarks = true;
                    self.informer.end_list(run, &version);
                    return Ok(frames);
                }
                // The server took the watch for an ordinary one.
                Event::Bookmark { .. } | Event::Deleted(_) => return Err(StreamFailure::Unsupported),
                Event::Error(status) => {
                    return Err(StreamFailure::Failed(event_status(frames.target().clone(), &status)));
                }
            }
        }
    }

    async fn list_by_pages(&mut self) -> Result<(), ClientError> {
        let spec = self.informer.spec().clone();
        let mut params = ListParams {
            labels: spec.labels.clone(),
            fields: spec.fields.clone(),
            limit: Some(PAGE),
            continue_token: None,
            metadata_only: spec.metadata_only,
        };
        let mut run = self.informer.begin_list();
        loop {
            let namespace = spec.namespace.as_deref();
            let page = match self.transport.list(&self.origin, &spec.kind, namespace, &params).await {
                Ok(page) => page,
                // The snapshot of the first page is gone; one answer that needs no snapshot takes its place.
                Err(error) if error.is_expired() && params.continue_token.is_some() => {
                    params.continue_token = None;
                    params.limit = None;
                    run = self.informer.begin_list();
                    continue;
                }
                Err(error) => return Err(error),
            };
            for item in &page.items {
                self.informer.listed(run, item);
            }
            match page.continue_token {
                Some(token) => params.continue_token = Some(token),
                None => {
                    self.informer.end_list(run, &page.version);
                    return Ok(());
                }
            }
            // A long list must not keep the other tasks of its thread waiting.
            tokio::task::yield_now().await;
        }
    }

    /// Watches from where the store is, again and again, until a list is needed.
    async fn watch(&mut self, mut streamed: Option<Frames>) {
        loop {
            let opened = Instant::now();
            let frames = match streamed.take() {
                Some(frames) => Ok(frames),
                None => self.open(self.informer.progress()).await,
            };
            let result = match frames {
                Ok(frames) => {
                    self.informer.status_mut().restarts += 1;
                    self.trouble.over();
                    self.follow(frames).await
                }
                Err(error) => Err(error),
            };
            if opened.elapsed() >= LASTING {
                self.backoff.reset();
            }
            match result {
                Ok(Ended::Resume) if opened.elapsed() >= LASTING => {}
                Ok(Ended::Resume) => {
                    let wait = self.backoff.wait(None);
                    self.pause(wait).await;
                }
                Ok(Ended::Relist) => return self.before_relist().await,
                Err(error) if error.is_expired() => return self.before_relist().await,
                Err(error) => {
                    self.wait(&error, "watch").await;
                    // The kind is not served (any more): what was there went with it. And a version that the server
                    // has not come to yet will never come where it was restored from a backup.
                    if error.is_not_found() || is_too_new(&error) {
                        return;
                    }
                }
            }
        }
    }

    /// Takes in what the watch says until it ends.
    async fn follow(&mut self, mut frames: Frames) -> Result<Ended, ClientError> {
        let informer = self.informer.clone();
        let limit = self.timeout_of(&frames) + GRACE;
        let dead = Instant::now() + limit;
        loop {
            let silence = if self.bookmarks { SILENCE.min(limit) } else { limit };
            let until = (Instant::now() + silence).min(dead);
            let line = tokio::select! {
                biased;
                () = informer.subscribed() => {
                    informer.admit();
                    continue;
                }
                line = frames.next() => line,
                () = self.linger() => {
                    self.settle().await;
                    continue;
                }
                () = tokio::time::sleep_until(until) => {
                    return Err(ClientError::Timeout {
                        target: Box::new(frames.target().clone()),
                        after: silence,
                        cause: None,
                        outcome_unknown: false,
                    });
                }
            };
            let Some(line) = line else { return Ok(Ended::Resume) };
            if let Some(ended) = self.take(&frames, &line?)? {
                return Ok(ended);
            }
        }
    }

    fn take(&mut self, frames: &Frames, line: &bytes::Bytes) -> Result<Option<Ended>, ClientError> {
        let Some(event) = self.read(frames, line)? else {
            return Ok(None);
        };
        let (object, taken) = match event {
            Event::Changed(object) => (object.clone(), self.informer.changed(&object)),
            Event::Deleted(object) => (object.clone(), self.informer.deleted(&object)),
            Event::Bookmark { version, .. } => {
                self.bookmarks = true;
                self.informer.advance(&version);
                return Ok(None);
            }
            Event::Error(status) => {
                let error = event_status(frames.target().clone(), &status);
                return if error.is_expired() {
                    Ok(Some(Ended::Relist))
                } else {
                    Err(error)
                };
            }
        };
        match taken {
            Err(ScanError::Json(error)) if self.is_news() => return Err(self.decode(frames, &error)),
            Err(error) => self.informer.pass_over(&object, &error),
            Ok(()) => {}
        }
        self.informer.status_mut().events += 1;
        Ok(None)
    }

    /// The event of a line; none where the line makes no sense, and did not the last time either.
    fn read(&mut self, frames: &Frames, line: &bytes::Bytes) -> Result<Option<Event>, ClientError> {
        let error = match Event::parse(line) {
            Ok(event) => return Ok(Some(event)),
            Err(error) => error,
        };
        if self.is_news() {
            return Err(self.decode(frames, &error));
        }
        self.informer.skip(line, &error);
        Ok(None)
    }

    /// Whether it is the first time that what comes here makes no sense. What a connection garbled comes right when it
    /// is sent again.
    fn is_news(&mut self) -> bool {
        let at = self.informer.progress();
        self.unreadable.replace(at.clone()) != Some(at)
    }

    async fn open(&mut self, version: Option<Version>) -> Result<Frames, ClientError> {
        let spec = self.informer.spec();
        // Spread over five to ten minutes, as client-go does, so that watches do not end together.
        let timeout = Duration::from_secs(300).mul_f64(1.0 + self.env.fraction());
        let params = WatchParams {
            labels: spec.labels.clone(),
            fields: spec.fields.clone(),
            initial_events: version.is_none(),
            version,
            timeout: Some(timeout),
            metadata_only: spec.metadata_only,
        };
        let namespace = spec.namespace.as_deref();
        self.transport
            .watch(&self.origin, &spec.kind, namespace, &params)
            .await
            .map(|frames| frames.with_timeout(timeout))
    }

    /// Returns when something in the overlay has waited long for this informer without a version to wait for.
    async fn linger(&mut self) {
        let overlay = self.informer.overlay().clone();
        let (kind, scope) = (self.informer.kind().clone(), self.informer.scope());
        loop {
            if !overlay.has_unbounded(&kind, scope) {
                self.lingering = None;
            }
            overlay.unbounded(&kind, scope).await;
            let since = *self.lingering.get_or_insert_with(Instant::now);
            tokio::time::sleep_until(since + LINGER).await;
            self.lingering = None;
            if overlay.has_unbounded(&kind, scope) {
                return;
            }
        }
    }

    /// Asks the server for a version that is at least that of every deletion so far.
    async fn settle(&mut self) {
        let spec = self.informer.spec().clone();
        let params = ListParams {
            limit: Some(1),
            metadata_only: true,
            ..ListParams::default()
        };
        let begun = self.informer.overlay().moment();
        let namespace = spec.namespace.as_deref();
        // Where it fails, the next linger asks again.
        if let Ok(page) = self.transport.list(&self.origin, &spec.kind, namespace, &params).await {
            self.informer.overlay().bound(&spec.kind, begun, &page.version);
        }
    }

    /// One relist after a long peace is done at once; more wait as any failure does.
    async fn before_relist(&mut self) {
        tracing::debug!(target: "kubewright::watch", informer = %self.informer.spec(), "the version is gone, listing anew");
        if self.relisted.is_none_or(|at| at.elapsed() < LASTING) {
            let wait = self.backoff.wait(None);
            self.pause(wait).await;
        }
    }

    async fn wait(&mut self, error: &ClientError, doing: &'static str) {
        let wait = self.backoff.wait(error.retry_after());
        self.trouble.report(error, doing, wait);
        self.pause(wait).await;
    }

    /// Waits, and goes on replaying to those who subscribe meanwhile.
    async fn pause(&self, wait: Duration) {
        let end = Instant::now() + wait;
        loop {
            tokio::select! {
                biased;
                () = self.informer.subscribed() => self.informer.admit(),
                () = tokio::time::sleep_until(end) => return,
            }
        }
    }

    fn timeout_of(&self, frames: &Frames) -> Duration {
        frames.timeout().unwrap_or(Duration::from_secs(600))
    }

    #[allow(clippy::unused_self, reason = "reads as the other errors of a watch")]
    fn decode(&self, frames: &Frames, error: &impl ToString) -> ClientError {
        ClientError::Decode {
            target: Box::new(frames.target().clone()),
            cause: error.to_string(),
        }
    }
}

/// The server's store is behind the version asked for.
fn is_too_new(error: &ClientError) -> bool {
    let named = |status: &StatusError| {
        status
            .causes
            .iter()
            .any(|(_, reason, _)| reason == "ResourceVersionTooLarge")
            || status.message.contains("Too large resource version")
    };
    error.status().is_some_and(named)
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
