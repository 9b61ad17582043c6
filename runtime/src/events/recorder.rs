//! The recorder that controllers hold, and the publisher that sends what they record.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event::Event;

/// How many events wait at most; more are dropped and counted.
const WAITING: usize = 1024;

/// Takes events from reconciles. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<(Arc<str>, Event)>,
    controller: Arc<str>,
}

impl Recorder {
    /// A recorder and the publisher that sends what it takes; nothing is sent until the publisher runs.
    /// `controller` is the `reportingController` of the events.
    #[must_use]
    pub fn pair(controller: impl Into<Arc<str>>) -> (Self, Publisher) {
        let (queue, taken) = mpsc::channel(WAITING);
        let recorder = Self {
            queue,
            controller: controller.into(),
        };
        (recorder, Publisher { taken })
    }

    /// The same queue for events of another controller.
    #[must_use]
    pub fn for_controller(&self, controller: impl Into<Arc<str>>) -> Self {
        Self {
            queue: self.queue.clone(),
            controller: controller.into(),
        }
    }

    /// Hands an event over. Never waits; when too many wait, the event is dropped and that is logged.
    pub fn record(&self, event: Event) {
        if self.queue.try_send((Arc::clone(&self.controller), event)).is_err() {
            tracing::debug!(controller = %self.controller, "an event was dropped: too many wait to be sent");
        }
    }
}

/// Sends what recorders take.
#[derive(Debug)]
pub struct Publisher {
    taken: mpsc::Receiver<(Arc<str>, Event)>,
}

impl Publisher {
    /// The next event with the controller that reports it; `None` once all recorders are gone.
    ///
    /// # Cancel safety
    ///
    /// Safe: an event is taken only when the future is ready.
    pub async fn next(&mut self) -> Option<(Arc<str>, Event)> {
        self.taken.recv().await
    }
}
