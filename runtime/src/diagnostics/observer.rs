//! Who is told of what happens.

use super::report::Report;

/// Told of what happens in a manager: `dev` prints it, tests keep it.
///
/// Called in the task that did the work, so an observer must not block; a panic in one is logged and stops nothing.
pub trait Observer: Send + Sync + 'static {
    /// A run ended.
    fn reconciled(&self, report: &Report) {
        let _ = report;
    }

    /// This replica's part in the election changed.
    fn leadership(&self, leadership: &Leadership) {
        let _ = leadership;
    }

    /// All that the controllers watch has been listed once, and reconciles begin.
    fn started(&self, controller: &str) {
        let _ = controller;
    }
}

/// A replica's part in the election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// Another replica leads; its identity.
    Following(String),
    /// This replica leads.
    Leading,
    /// This replica led and does no longer.
    Lost,
    /// This replica gave the Lease back while stopping.
    Released,
}
