//! A replica's own clock, which a test can set.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubewright::Env;
use kubewright::env::Clock;

/// The cluster's time, shifted for one replica. Clones share the shift.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaClock {
    cluster: Env,
    shift: Arc<Mutex<SignedDuration>>,
}

impl ReplicaClock {
    pub(crate) fn new(cluster: Env) -> Self {
        Self {
            cluster,
            shift: Arc::default(),
        }
    }

    /// Moves the replica's wall clock, on top of earlier moves.
    pub(crate) fn jump(&self, by: SignedDuration) {
        let mut shift = self.shift.lock().unwrap_or_else(PoisonError::into_inner);
        *shift = shift.saturating_add(by);
    }
}

impl Clock for ReplicaClock {
    fn now(&self) -> Timestamp {
        let shift = *self.shift.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.cluster.now();
        now.checked_add(shift).unwrap_or(if shift.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }

    /// Setting a wall clock moves no other clock.
    fn boot_time(&self) -> Duration {
        self.cluster.boot_time()
    }
}
