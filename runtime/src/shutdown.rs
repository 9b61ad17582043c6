//! Asking a manager to stop.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Asks a manager, or a part of it, to stop. Clones share their state; a request to stop is never taken back.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    triggered: AtomicBool,
    waiting: Notify,
}

impl Shutdown {
    /// Nothing has asked to stop yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop. Asking again changes nothing.
    pub fn trigger(&self) {
        if !self.0.triggered.swap(true, Ordering::SeqCst) {
            self.0.waiting.notify_waiters();
        }
    }

    /// Whether someone asked to stop.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.triggered.load(Ordering::SeqCst)
    }

    /// Returns once someone asked to stop; at once if that was before.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is lost when the future is dropped.
    pub async fn wait(&self) {
        let notified = self.0.waiting.notified();
        if !self.is_triggered() {
            notified.await;
        }
    }

    /// Returns with the name of the signal once the process got SIGINT (Ctrl-C) or SIGTERM. Where signals cannot be
    /// handled it says so in the log and never returns.
    ///
    /// # Cancel safety
    ///
    /// Safe; but from the first call on the process no longer ends by itself on these signals.
    pub async fn signal() -> &'static str {
        match received().await {
            Ok(name) => name,
            Err(error) => {
                tracing::warn!(%error, "signals cannot be handled: the process ends without draining");
                pending().await
            }
        }
    }
}

#[cfg(unix)]
async fn received() -> std::io::Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        _ = interrupt.recv() => Ok("SIGINT"),
        _ = terminate.recv() => Ok("SIGTERM"),
    }
}

#[cfg(not(unix))]
async fn received() -> std::io::Result<&'static str> {
    tokio::signal::ctrl_c().await?;
    Ok("Ctrl-C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_to_stop_reaches_those_who_wait_and_those_who_come_later() {
        let stop = Shutdown::new();
        let waits = tokio::spawn({
            let stop = stop.clone();
            async move { stop.wait().await }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        stop.trigger();
        waits.await.expect("the waiting task ends");
        stop.wait().await;
    }
}
