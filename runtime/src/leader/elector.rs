//! One replica's part in the election.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::election::LeaderElection;
use super::lease::Lease;
use super::status::{LeaderStatus, Part};
use super::store::{LeaseError, LeaseStore};
use crate::client::WriteFence;
use crate::diagnostics::Leadership;
use crate::env::Env;
use crate::pause;

/// Takes part in the election: [`acquire`](Self::acquire), then [`hold`](Self::hold), then
/// [`release`](Self::release). Spawns nothing.
pub struct Elector {
    store: Arc<dyn LeaseStore>,
    env: Env,
    election: LeaderElection,
    fence: WriteFence,
    status: LeaderStatus,
    observed: Option<Observed>,
    /// Send time of the last renewal that succeeded.
    renewed: Option<Duration>,
    /// Whether a write was begun whose end was not seen.
    unsettled: bool,
}

/// The Lease as it was last seen, and when it was first seen so.
struct Observed {
    lease: Lease,
    since: Duration,
}

/// Why a leader leads no longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// No renewal succeeded in time.
    #[error("it could not be renewed within {within:?}: {cause}")]
    NotRenewed {
        /// The renew deadline.
        within: Duration,
        /// The last error.
        cause: String,
    },
    /// Another replica holds the Lease.
    #[error("`{holder}` took it")]
    Taken {
        /// Its identity.
        holder: String,
    },
}

/// What one try came to.
enum Try {
    Holding,
    /// Another replica holds it; how long its Lease is still valid.
    HeldBy(String, Duration),
}

impl Elector {
    /// A replica that has not tried yet. `fence` is opened by renewals and closed when leadership ends.
    pub fn new(
        store: impl LeaseStore,
        env: Env,
        election: LeaderElection,
        fence: WriteFence,
        status: LeaderStatus,
    ) -> Self {
        Self {
            store: Arc::new(store),
            env,
            election,
            fence,
            status,
            observed: None,
            renewed: None,
            unsettled: false,
        }
    }

    /// Returns once this replica leads. Errors are logged, shown in the status, and tried again.
    ///
    /// # Cancel safety
    ///
    /// A request that was under way may still take the Lease; [`release`](Self::release) looks after that.
    pub async fn acquire(&mut self) {
        loop {
            let wait = match self.bounded_attempt(self.election.renew_deadline).await {
                Ok(Try::Holding) => {
                    self.status.succeeded();
                    self.status.become_part(&Part::Leading, &Leadership::Leading);
                    return;
                }
                Ok(Try::HeldBy(holder, left)) => {
                    self.status.succeeded();
                    let told = Leadership::Following(holder.clone());
                    self.status.become_part(&Part::Following { holder }, &told);
                    // Look again right when the Lease runs out, not up to a period later.
                    self.period().min(left + Duration::from_millis(1))
                }
                Err(message) => {
                    self.status.failed(&message);
                    self.period()
                }
            };
            sleep(wait).await;
        }
    }

    /// Renews until that fails for too long or another replica holds the Lease; returns why. The fence is closed
    /// then.
    ///
    /// # Cancel safety
    ///
    /// Safe; call it again to go on, before the renew deadline.
    pub async fn hold(&mut self) -> Lost {
        loop {
            let deadline = self.renewed.unwrap_or_default() + self.election.renew_deadline;
            let left = deadline.saturating_sub(self.env.boot_time());
            sleep(self.period().min(left)).await;
            let left = deadline.saturating_sub(self.env.boot_time());
            // Past the deadline, after the process was frozen, one try is left: if it succeeds, nobody led in between.
            match self.bounded_attempt(left.max(Duration::from_secs(1))).await {
                Ok(Try::Holding) => self.status.succeeded(),
                Ok(Try::HeldBy(holder, _)) => return self.lost(Lost::Taken { holder }),
                Err(cause) => {
                    self.status.failed(&cause);
                    if self.env.boot_time() >= deadline {
                        let within = self.election.renew_deadline;
                        return self.lost(Lost::NotRenewed { within, cause });
                    }
                }
            }
        }
    }

    /// Gives the Lease back, if this replica holds it and `release_on_stop` says so. Call it when nothing leader-bound
    /// runs any more. Errors are logged: others then wait for the Lease to run out.
    ///
    /// # Cancel safety
    ///
    /// The Lease may or may not be free afterwards.
    pub async fn release(&mut self) {
        self.fence.close();
        if !self.election.release_on_stop {
            self.status.become_part(&Part::Done, &Leadership::Lost);
            return;
        }
        if self.unsettled {
            match timeout(self.election.retry_period, self.store.get()).await {
                Ok(Ok(lease)) => self.observe(Lease(lease)),
                _ => self.observed = None,
            }
        }
        let Some(observed) = self.observed.take() else { return };
        if observed.lease.holder() != Some(&self.election.identity) {
            return;
        }
        let released = observed.lease.released(self.env.now());
        match timeout(self.election.retry_period, self.store.replace(released.0)).await {
            Ok(Ok(_) | Err(LeaseError::Missing | LeaseError::Conflict)) => {
                self.status.become_part(&Part::Done, &Leadership::Released);
            }
            Ok(Err(LeaseError::Other(message))) => self.status.failed(&format!("not given back: {message}")),
            Err(_) => self.status.failed("not given back: no answer in time"),
        }
    }

    fn lost(&mut self, lost: Lost) -> Lost {
        self.fence.close();
        self.observed = None;
        self.status.become_part(&Part::Done, &Leadership::Lost);
        lost
    }

    /// One try, given up after `within` at most, and early enough to leave time for another.
    async fn bounded_attempt(&mut self, within: Duration) -> Result<Try, String> {
        let limit = (self.election.renew_deadline / 2)
            .max(Duration::from_secs(1))
            .min(within);
        match timeout(limit, self.attempt()).await {
            Ok(result) => result,
            Err(_) => {
                // The request may have been carried out; what was seen last may be old.
                if let Some(observed) = &mut self.observed {
                    observed.lease.forget_version();
                }
                Err(format!("no answer within {limit:?}"))
            }
        }
    }

    /// Takes or renews the Lease, or finds who holds it.
    async fn attempt(&mut self) -> Result<Try, String> {
        // A leader renews what it wrote last and asks only when that fails: one request per renewal.
        let own = self.observed.as_ref().map(|observed| &observed.lease);
        if let Some(own) = own.filter(|lease| lease.has_version() && self.is_mine(lease)).cloned()
            && self.write(&own).await?
        {
            return Ok(Try::Holding);
        }
        match self.store.get().await {
            Ok(lease) => self.observe(Lease(lease)),
            Err(LeaseError::Missing) => {
                let fresh = Lease::named(&self.election.lease, &self.election.namespace);
                return if self.write(&fresh).await? {
                    Ok(Try::Holding)
                } else {
                    Err("another replica created the Lease at the same time".to_owned())
                };
            }
            Err(error) => return Err(text(error)),
        }
        let Some(observed) = &self.observed else {
            return Err("the Lease could not be read".to_owned());
        };
        if !self.is_mine(&observed.lease) {
            if self.renewed.is_some() {
                // Even if it is free again: another replica may have written in between.
                let holder = observed.lease.holder().unwrap_or("somebody who gave it back");
                return Ok(Try::HeldBy(holder.to_owned(), Duration::ZERO));
            }
            let holder = observed.lease.holder().unwrap_or_default();
            let ends = observed.since + observed.lease.duration(self.election.lease_duration);
            let left = ends.checked_sub(self.env.boot_time()).filter(|left| !left.is_zero());
            if let (false, Some(left)) = (holder.is_empty(), left) {
                return Ok(Try::HeldBy(holder.to_owned(), left));
            }
        }
        let lease = observed.lease.clone();
        if self.write(&lease).await? {
            Ok(Try::Holding)
        } else {
            Err("another replica changed the Lease at the same time".to_owned())
        }
    }

    /// Writes the Lease as held by this replica, on top of what is there. False on a conflict.
    async fn write(&mut self, before: &Lease) -> Result<bool, String> {
        let sent = self.env.boot_time();
        let held = before.held_by(&self.election.identity, self.election.lease_duration, self.env.now());
        self.unsettled = true;
        let written = if before.has_version() {
            self.store.replace(held.0).await
        } else {
            self.store.create(held.0).await
        };
        self.unsettled = matches!(written, Err(LeaseError::Other(_)));
        match written {
            Ok(lease) => {
                let lease = Lease(lease);
                self.status.paused().set(lease.annotation(pause::ANNOTATION));
                self.observed = Some(Observed { lease, since: sent });
                self.renewed = Some(sent);
                let writes_end = sent + self.election.lease_duration.saturating_sub(self.election.write_timeout);
                self.fence.open_until(writes_end);
                Ok(true)
            }
            Err(LeaseError::Conflict | LeaseError::Missing) => Ok(false),
            Err(error) => Err(text(error)),
        }
    }

    fn observe(&mut self, lease: Lease) {
        self.status.paused().set(lease.annotation(pause::ANNOTATION));
        let since = match &self.observed {
            Some(observed) if observed.lease.same_term(&lease) => observed.since,
            _ => self.env.boot_time(),
        };
        self.observed = Some(Observed { lease, since });
    }

    fn is_mine(&self, lease: &Lease) -> bool {
        lease.holder() == Some(&self.election.identity)
    }

    /// Time until the next try: the retry period, spread a little so that replicas do not try in step.
    fn period(&self) -> Duration {
        self.election.retry_period.mul_f64(0.9 + 0.2 * self.env.fraction())
    }
}

fn text(error: LeaseError) -> String {
    match error {
        LeaseError::Missing => "the Lease is gone".to_owned(),
        LeaseError::Conflict => "another replica changed the Lease at the same time".to_owned(),
        LeaseError::Other(message) => message,
    }
}

impl fmt::Debug for Elector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elector")
            .field("election", &self.election)
            .field("renewed", &self.renewed)
            .finish_non_exhaustive()
    }
}
