use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How much of what was written a connection is shown: everything up to a revision, as by a server whose watch cache
/// lags behind. Clones share their state.
///
/// Lists at resourceVersion 0 or not older than a version, watches and their bookmarks end at it; reads of the newest
/// state do not. While a horizon lives, the store keeps what lies behind it, whatever is compacted.
#[derive(Clone, Debug)]
pub struct Horizon(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    state: Mutex<State>,
    moved: Notify,
}

#[derive(Debug)]
struct State {
    revision: u64,
    cut: bool,
}

impl Horizon {
    /// Shows everything.
    #[must_use]
    pub fn open() -> Self {
        Self::at(u64::MAX)
    }

    /// Shows what was written up to `revision`.
    #[must_use]
    pub fn at(revision: u64) -> Self {
        let state = Mutex::new(State { revision, cut: false });
        Self(Arc::new(Inner {
            state,
            moved: Notify::new(),
        }))
    }

    /// The last revision that is shown.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.state().revision
    }

    /// Shows what was written up to `revision` from now on. What was shown already is not taken back.
    pub fn set(&self, revision: u64) {
        self.state().revision = revision;
        self.0.moved.notify_waiters();
    }

    /// Shows everything from now on.
    pub fn lift(&self) {
        self.set(u64::MAX);
    }

    /// Breaks the connections that look through it, in the middle of whatever they send.
    pub fn cut(&self) {
        self.state().cut = true;
        self.0.moved.notify_waiters();
    }

    /// Whether the connections are broken.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.state().cut
    }

    /// Returns once it shows more than `revision`, or is cut.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn beyond(&self, revision: u64) {
        loop {
            let moved = self.0.moved.notified();
            {
                let state = self.state();
                if state.cut || state.revision > revision {
                    return;
                }
            }
            moved.await;
        }
    }

    /// Returns once it is cut.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn broken(&self) {
        self.beyond(u64::MAX).await;
    }

    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }
}

impl Inner {
    /// The oldest revision that somebody may still be shown.
    pub(super) fn revision(&self) -> u64 {
        self.state().revision
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
