//! Says what is wrong with a watch: at once, then ever more seldom, and when it is over.

use std::time::Duration;

use tokio::time::Instant;

use crate::cache::Informer;
use crate::client::ClientError;
use crate::env::Env;

/// The longest silence about a trouble that goes on.
const REMIND: Duration = Duration::from_secs(300);

/// The state of one watch's trouble, shown in its status and in the log.
#[derive(Debug)]
pub(super) struct Trouble {
    informer: Informer,
    env: Env,
    /// What was said last, when, and how long to keep silent about the same.
    said: Option<(String, Instant, Duration)>,
}

impl Trouble {
    pub(super) fn new(informer: Informer, env: Env) -> Self {
        Self {
            informer,
            env,
            said: None,
        }
    }

    /// Something failed and will be tried again after `wait`.
    pub(super) fn report(&mut self, error: &ClientError, doing: &'static str, wait: Duration) {
        let line = error.to_string();
        let failures = {
            let mut status = self.informer.status_mut();
            if status.healthy || status.failures == 0 {
                status.since = self.env.now();
            }
            status.healthy = false;
            status.errors += 1;
            status.failures += 1;
            status.last_code = error.code();
            status.last_error = Some(line.clone());
            status.failures
        };
        let silence = match &self.said {
            Some((said, at, silence)) if *said == line && at.elapsed() < *silence => return,
            Some((said, _, silence)) if *said == line => (*silence * 2).min(REMIND),
            _ => Duration::from_secs(10),
        };
        let informer = self.informer.spec();
        // A connection that breaks once is nothing to act on.
        if failures == 1 && error.status().is_none() && self.informer.has_synced() {
            tracing::info!(target: "kubewright::watch", %informer, doing, error = line, retry_in = ?wait, "a watch broke");
        } else {
            tracing::warn!(target: "kubewright::watch", %informer, doing, error = line, failures, retry_in = ?wait, "a watch fails");
        }
        self.said = Some((line, Instant::now(), silence));
    }

    /// The watch works.
    pub(super) fn over(&mut self) {
        let failures = {
            let mut status = self.informer.status_mut();
            if !status.healthy {
                status.since = self.env.now();
            }
            status.healthy = true;
            std::mem::take(&mut status.failures)
        };
        if failures > 0 && self.said.take().is_some() {
            tracing::info!(target: "kubewright::watch", informer = %self.informer.spec(), failures, "a watch works again");
        }
    }
}
