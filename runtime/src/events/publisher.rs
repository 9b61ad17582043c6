//! Sends what recorders take.

use std::fmt;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::aggregate::{Aggregator, COMBINED, Series, SeriesKey, Verdict};
use super::recorder::Recorded;
use super::similar::Similar;
use super::wire;
use crate::client::{ClientError, Origin, PatchType, Transport};
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::metrics::Metrics;

/// Sends what recorders take, one after the other. Returns when all recorders are gone and all is sent.
pub struct Publisher {
    taken: mpsc::Receiver<Recorded>,
    metrics: Metrics,
    aggregator: Aggregator,
    similar: Similar,
    /// The last failure that was logged, so that an outage is not logged per event.
    logged: Option<String>,
}

/// What the publisher sends with.
struct Way {
    open: Transport,
    leader: Transport,
    env: Env,
    instance: String,
    manager: String,
    origin: Origin,
    kind: Kind,
}

impl Publisher {
    pub(super) fn new(taken: mpsc::Receiver<Recorded>, metrics: Metrics) -> Self {
        Self {
            taken,
            metrics,
            aggregator: Aggregator::default(),
            similar: Similar::default(),
            logged: None,
        }
    }

    /// Sends events: those of controllers that need the leader by `leader`, others by `open`. `instance` tells this
    /// replica from others; `manager` is the field manager.
    ///
    /// # Cancel safety
    ///
    /// What was not sent is lost.
    pub async fn run(mut self, open: Transport, leader: Transport, env: Env, instance: String, manager: String) {
        let way = Way {
            open,
            leader,
            env,
            instance,
            manager,
            origin: Origin::part("events"),
            kind: Kind::new("events.k8s.io", "v1", "Event", "events", true),
        };
        loop {
            let next_due = self.aggregator.next_due();
            let next = tokio::select! {
                biased;
                recorded = self.taken.recv() => Some(recorded),
                () = until(next_due) => None,
            };
            match next {
                Some(Some(recorded)) => self.publish(&way, recorded).await,
                Some(None) => break,
                None => {}
            }
            self.update(&way, false).await;
        }
        self.update(&way, true).await;
    }

    async fn publish(&mut self, way: &Way, recorded: Recorded) {
        let Recorded {
            mut event,
            controller,
            needs_leader,
        } = recorded;
        let mut key = SeriesKey::new(controller, &event);
        if self.similar.combines(&key, &event.note, Instant::now()) {
            event.note.insert_str(0, COMBINED);
            key = key.combined();
        }
        let wall = way.env.now();
        match self.aggregator.judge(&key, Instant::now(), wall) {
            Verdict::Repeated => {}
            Verdict::TooMany => {
                self.metrics.event("dropped");
                tracing::debug!(object = %event.regarding.key, reason = event.reason, "an event was dropped: its object has too many");
            }
            Verdict::New => {
                let name = wire::name(&event.regarding, way.env.next_u64());
                let namespace = wire::namespace_of(&event.regarding).to_owned();
                let body = wire::body(&event, &name, &key.controller, &way.instance, wall);
                let at = ObjectKey::new(&*namespace, &*name);
                let sent = way
                    .transport(needs_leader)
                    .create(&way.origin, &way.kind, &at, body.to_string().into_bytes(), &way.manager)
                    .await;
                if self.account(sent.err()) {
                    self.aggregator
                        .created(key, namespace, name, needs_leader, Instant::now(), wall);
                }
            }
        }
    }

    async fn update(&mut self, way: &Way, all: bool) {
        for (key, series) in self.aggregator.due(Instant::now(), all) {
            let Series {
                namespace,
                name,
                needs_leader,
                count,
                last_seen,
                ..
            } = series;
            let body = wire::series(count, last_seen).to_string().into_bytes();
            let at = ObjectKey::new(namespace, name);
            let sent = way
                .transport(needs_leader)
                .patch(&way.origin, &way.kind, &at, None, PatchType::Merge, body, &way.manager)
                .await;
            match sent {
                // Events expire; the next one is new.
                Err(error) if error.is_not_found() => self.aggregator.forget(&key),
                sent => {
                    self.account(sent.err());
                }
            }
        }
    }

    /// Counts what became of a request. True if it succeeded.
    fn account(&mut self, error: Option<ClientError>) -> bool {
        let Some(error) = error else {
            self.metrics.event("sent");
            self.logged = None;
            return true;
        };
        self.metrics.event("failed");
        let kind_of_failure = format!("{:?} {}", error.code(), error.reason());
        if self.logged.as_ref() == Some(&kind_of_failure) {
            tracing::debug!(%error, "an event was not sent");
        } else {
            tracing::warn!(%error, "an event was not sent; more of this kind are not logged");
            self.logged = Some(kind_of_failure);
        }
        false
    }
}

impl Way {
    fn transport(&self, needs_leader: bool) -> &Transport {
        if needs_leader { &self.leader } else { &self.open }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").finish_non_exhaustive()
    }
}
