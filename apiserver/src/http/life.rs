//! How a server dies: from one moment to the next, with every connection.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Counts the lives of a server that may be killed and started again.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    ended: AtomicU64,
    end: Notify,
}

/// One of them. What was begun in it ends with it.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    lives: Arc<Lives>,
    number: u64,
}

impl Lives {
    /// Ends this life and begins the next.
    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
        self.end.notify_waiters();
    }

    /// The present one.
    pub(crate) fn present(self: &Arc<Self>) -> Life {
        Life {
            number: self.ended.load(Ordering::SeqCst),
            lives: Arc::clone(self),
        }
    }
}

impl Life {
    pub(crate) fn is_over(&self) -> bool {
        self.lives.ended.load(Ordering::SeqCst) != self.number
    }

    /// Returns once it is over.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn over(self) {
        loop {
            let end = self.lives.end.notified();
            if self.is_over() {
                return;
            }
            end.await;
        }
    }

    /// What `work` comes to; nothing if the life ends first, and `work` is dropped where it stands.
    ///
    /// # Cancel safety
    /// As that of `work`.
    pub(crate) async fn within<T>(self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.over() => None,
        }
    }
}
