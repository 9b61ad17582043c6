//! What a manager gives its controllers, and what it gets back.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::catch_up::CatchUps;
use crate::cache::Informers;
use crate::client::Transport;
use crate::diagnostics::Observer;
use crate::env::Env;
use crate::events::Recorder;
use crate::finalizer::Leftovers;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::pause::PausedKinds;
use crate::shutdown::Shutdown;

/// What all controllers of a manager share.
#[derive(Clone)]
pub(crate) struct Services {
    /// The operator's name.
    pub(crate) operator: String,
    /// The way to the server, behind the fence where the controller needs the leader.
    pub(crate) transport: Transport,
    pub(crate) informers: Informers,
    pub(crate) env: Env,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
    pub(crate) health: Health,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    /// Namespaces that are watched; empty for all.
    pub(crate) namespaces: Vec<String>,
    /// What caches that were there before the Lease still have to catch up with.
    pub(crate) catch_ups: CatchUps,
    /// Kinds that are not reconciled for now.
    pub(crate) paused: PausedKinds,
    /// Workers of controllers, by name, instead of what they declare.
    pub(crate) workers: BTreeMap<String, usize>,
    /// Set while the operator is taken out of the cluster.
    pub(crate) leaving: Option<Leftovers>,
}

/// A controller whose watches are registered and that has not begun.
pub(crate) struct Running {
    pub(crate) name: String,
    /// Reconciles until the first is triggered and the running ones are done; drops those that still run when the
    /// second is.
    pub(crate) run: Box<dyn FnOnce(Shutdown, Shutdown) -> BoxFuture<'static, ()> + Send>,
}
