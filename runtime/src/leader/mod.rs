//! Leader election through one Lease (coordination.k8s.io/v1), compatible with client-go's.
//!
//! A replica leads while it renews the Lease. Others watch its `renewTime` change and count the lease's duration on
//! their own clock from when they saw the change, so clocks need not agree. Writes that are bound to leadership pass
//! a [`WriteFence`](crate::client::WriteFence), which is open until the send time of the last successful renewal
//! plus the lease's duration, less the time that a write may take; all on the clock that runs on while the machine
//! sleeps.
//!
//! A replica that was frozen past its lease and finds it unchanged leads on: the update that renews it proves that
//! nobody led in between. Its fence was closed all that time.
//!
//! A leader that cannot renew in time stops its leader-bound work and the process ends with an error: whoever
//! restarts it starts from a clean state. Re-entering the race in one process would need every piece of the author's
//! state to be fit for a second term, which nothing can check.

mod election;
mod elector;
mod lease;
mod status;
mod store;

#[cfg(test)]
mod tests;

pub use election::LeaderElection;
pub use elector::{Elector, Lost};
pub use status::{LeaderStatus, Part};
pub use store::{LeaseError, LeaseStore, ServerLease};
