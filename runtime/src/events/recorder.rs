//! The recorder that controllers hold.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event::Event;
use super::publisher::Publisher;
use crate::metrics::Metrics;

/// How many events wait at most; more are dropped and counted.
const WAITING: usize = 1024;

/// An event on its way to the publisher.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) event: Event,
    pub(super) controller: Arc<str>,
    /// Whether it may be sent by the leader only.
    pub(super) needs_leader: bool,
}

/// Takes events from reconciles. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Recorded>,
    metrics: Metrics,
    controller: Arc<str>,
    needs_leader: bool,
}

impl Recorder {
    /// A recorder and the publisher that sends what it takes; nothing is sent until the publisher runs. `controller`
    /// is the `reportingController` of the events.
    #[must_use]
    pub fn pair(controller: impl Into<Arc<str>>, metrics: Metrics) -> (Self, Publisher) {
        let (queue, taken) = mpsc::channel(WAITING);
        let publisher = Publisher::new(taken, metrics.clone());
        let recorder = Self {
            queue,
            metrics,
            controller: controller.into(),
            needs_leader: false,
        };
        (recorder, publisher)
    }

    /// The same queue for events of another controller. Those of one that needs the leader are sent by the leader
    /// only.
    #[must_use]
    pub fn for_controller(&self, controller: impl Into<Arc<str>>, needs_leader: bool) -> Self {
        Self {
            controller: controller.into(),
            needs_leader,
            ..self.clone()
        }
    }

    /// Hands an event over. Never waits; when too many wait, the event is dropped and counted.
    pub fn record(&self, event: Event) {
        let recorded = Recorded {
            event,
            controller: Arc::clone(&self.controller),
            needs_leader: self.needs_leader,
        };
        if self.queue.try_send(recorded).is_err() {
            self.metrics.event("dropped");
            tracing::debug!(controller = %self.controller, "an event was dropped: too many wait to be sent");
        }
    }
}
