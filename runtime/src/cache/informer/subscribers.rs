//! Who is told of an informer's changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Sink;
use crate::delta::Delta;

/// Subscribers that hear of changes, and those that wait for their replay.
#[derive(Default)]
pub(super) struct Subscribers {
    lists: Mutex<Lists>,
    arrived: Notify,
}

#[derive(Default)]
struct Lists {
    active: Arc<[Sink]>,
    waiting: Vec<Sink>,
}

impl Subscribers {
    pub(super) fn add(&self, sink: Sink) {
        self.lists().waiting.push(sink);
        self.arrived.notify_one();
    }

    /// Returns when somebody may be waiting.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Makes all who wait active, and gives them.
    pub(super) fn admit(&self) -> Vec<Sink> {
        let mut lists = self.lists();
        let waiting = std::mem::take(&mut lists.waiting);
        if !waiting.is_empty() {
            lists.active = lists.active.iter().chain(&waiting).cloned().collect();
        }
        waiting
    }

    /// Whether nobody hears of changes, so that none need be put into words.
    pub(super) fn is_silent(&self) -> bool {
        self.lists().active.is_empty()
    }

    /// Tells everyone who is active. Called by the informer's task alone, which keeps the order.
    pub(super) fn tell(&self, delta: &Delta) {
        let active = Arc::clone(&self.lists().active);
        for sink in &*active {
            sink(delta);
        }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
