//! What the election looks like from here, for `/statusz`, metrics and observers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::diagnostics::{Leadership, Observer};
use crate::metrics::Metrics;
use crate::pause::PausedKinds;

/// A replica's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Has not seen the Lease yet.
    Starting,
    /// Another replica holds the Lease.
    Following {
        /// Its identity.
        holder: String,
    },
    /// This replica holds it.
    Leading,
    /// This replica held it.
    Done,
}

/// The election of one manager as this replica sees it. Clones share it.
#[derive(Clone)]
pub struct LeaderStatus(Arc<Inner>);

struct Inner {
    lease: String,
    identity: String,
    metrics: Metrics,
    observers: Vec<Arc<dyn Observer>>,
    paused: PausedKinds,
    state: Mutex<(Part, Option<String>)>,
}

impl LeaderStatus {
    /// A replica that has not seen the Lease yet. `lease` is its `namespace/name`.
    #[must_use]
    pub fn new(lease: String, identity: String, metrics: Metrics, observers: Vec<Arc<dyn Observer>>) -> Self {
        metrics.leading(lease_name(&lease), false);
        Self(Arc::new(Inner {
            lease,
            identity,
            metrics,
            observers,
            paused: PausedKinds::default(),
            state: Mutex::new((Part::Starting, None)),
        }))
    }

    /// The kinds that the Lease's annotation pauses, as last seen.
    #[must_use]
    pub fn paused(&self) -> &PausedKinds {
        &self.0.paused
    }

    /// The part now.
    #[must_use]
    pub fn part(&self) -> Part {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// For `/statusz`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (part, error) = self.0.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (name, holder) = match &part {
            Part::Starting => ("starting", None),
            Part::Following { holder } => ("following", Some(holder.clone())),
            Part::Leading => ("leading", Some(self.0.identity.clone())),
            Part::Done => ("done", None),
        };
        json!({
            "lease": self.0.lease,
            "identity": self.0.identity,
            "part": name,
            "holder": holder,
            "lastError": error,
        })
    }

    /// Takes on a part; told to observers where it is another one.
    pub(super) fn become_part(&self, part: &Part, told: &Leadership) {
        {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 == *part {
                return;
            }
            state.0 = part.clone();
        }
        self.0
            .metrics
            .leading(lease_name(&self.0.lease), *part == Part::Leading);
        let lease = &self.0.lease;
        match told {
            Leadership::Following(holder) => tracing::info!(lease, holder, "another replica leads; this one waits"),
            Leadership::Leading => tracing::info!(lease, identity = self.0.identity, "this replica leads"),
            Leadership::Lost => tracing::warn!(lease, "leadership was lost"),
            Leadership::Released => tracing::info!(lease, "leadership was given back"),
        }
        for observer in &self.0.observers {
            observer.leadership(told);
        }
    }

    /// Remembers an error of the election; logged once per message.
    pub(super) fn failed(&self, message: &str) {
        {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.1.as_deref() == Some(message) {
                return;
            }
            state.1 = Some(message.to_owned());
        }
        tracing::error!(lease = self.0.lease, "leader election: {message}; trying again");
    }

    /// The election works again.
    pub(super) fn succeeded(&self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
    }
}

fn lease_name(lease: &str) -> &str {
    lease.rsplit('/').next().unwrap_or(lease)
}

impl fmt::Debug for LeaderStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderStatus")
            .field("lease", &self.0.lease)
            .field("part", &self.part())
            .finish_non_exhaustive()
    }
}
