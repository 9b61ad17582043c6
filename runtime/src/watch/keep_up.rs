//! The task of an informer: its watch, begun anew where the framework itself panics.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::time::{Instant, sleep};

use crate::cache::Informer;
use crate::client::Transport;
use crate::env::Env;
use crate::watch::backoff::Backoff;
use crate::watch::watcher::{LASTING, Watcher};

/// Keeps an informer up for ever; dropping it stops the informer.
///
/// A panic is a fault of the framework, and yet an operator that goes on without one kind for good, and without a word,
/// is worse than one that tries again: the watch begins anew with a list, and all subscribers hear everything once more.
pub(crate) async fn keep_up(informer: Informer, transport: Transport, env: Env) {
    let mut backoff = Backoff::new(env.clone());
    loop {
        let begun = Instant::now();
        let watcher = Watcher::new(informer.clone(), transport.clone(), env.clone());
        let Err(panic) = AssertUnwindSafe(watcher.run()).catch_unwind().await else {
            return;
        };
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = format!(
            "the watch panicked, which is a fault of kubewright: {}",
            text.as_deref().unwrap_or("no message")
        );
        if begun.elapsed() >= LASTING {
            backoff.reset();
        }
        let wait = backoff.wait(None);
        tracing::error!(target: "kubewright::watch", informer = %informer.spec(), retry_in = ?wait, "{message}");
        {
            let mut status = informer.status_mut();
            if status.healthy {
                status.since = env.now();
            }
            status.healthy = false;
            status.panics += 1;
            status.errors += 1;
            status.failures += 1;
            status.last_code = None;
            status.last_error = Some(message);
        }
        informer.recover();
        sleep(wait).await;
    }
}
