//! Who is told of an informer's changes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Sink;
use crate::delta::Delta;

/// Tells one subscriber. Its panic is its own: the others are told, and the informer goes on.
pub(super) fn tell(sink: &Sink, delta: &Delta) {
    if catch_unwind(AssertUnwindSafe(|| sink(delta))).is_err() {
        tracing::error!(
            target: "kubewright::watch",
            "a subscriber panicked when it was told of {} {}; it missed that change",
            delta.kind.kind(),
            delta.key
        );
    }
}

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
            tell(sink, delta);
        }
    }

    /// A subscriber hears no more.
    pub(super) fn remove(&self, sink: &Sink) {
        let mut lists = self.lists();
        let others = |other: &&Sink| !Arc::ptr_eq(other, sink);
        lists.active = lists.active.iter().filter(others).cloned().collect();
        lists.waiting.retain(|other| !Arc::ptr_eq(other, sink));
    }

    /// Makes everyone wait for a replay.
    pub(super) fn start_over(&self) {
        let mut lists = self.lists();
        let active = std::mem::take(&mut lists.active);
        lists.waiting.splice(0..0, active.iter().cloned());
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
