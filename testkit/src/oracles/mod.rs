//! What must hold of every operator, whatever it does: checks for the end of any test.
//!
//! Each takes the cluster, looks at what is stored and at the story, and answers what is wrong in words. They know which
//! operator wrote what, since every request of a replica is in the story; an operator that was started with
//! [`TestCluster::operator`](crate::TestCluster::operator) is judged by what its controllers declare, one that runs on a
//! client of [`TestCluster::client_named`](crate::TestCluster::client_named) by what it has created.
//!
//! | oracle | finds |
//! |---|---|
//! | [`converged`] | loops that never end, failures that stay, requests without a cause |
//! | [`no_duplicates`] | children made twice, as by a crash between the create and the note of it |
//! | [`no_orphans`] | children without a living owner, which nobody will ever delete |
//! | [`nothing_foreign_written`] | writes to strangers' objects, specs of primaries, fields of other controllers |
//! | [`one_writer_per_lease`] | writes of a replica that does not hold the Lease |
//! | [`bounded_requests`] | storms |
//! | [`same_end_state`] | runs that end elsewhere than another run |
//!
//! ```
//! # use std::time::Duration;
//! use kubewright_testkit::{TestCluster, Violation, oracles};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Violation> {
//! let cluster = TestCluster::start();
//! // … run the operator, let things happen …
//! oracles::converged(&cluster, Duration::from_secs(3600)).await?;
//! oracles::no_orphans(&cluster)?;
//! # Ok(())
//! # }
//! ```

mod children;
mod converged;
mod foreign;
mod lease;
mod requests;
mod snapshot;
mod world;

use std::fmt;
use std::time::Duration;

use crate::cluster::TestCluster;

pub use children::{no_duplicates, no_duplicates_by, no_orphans};
pub use converged::converged;
pub use foreign::nothing_foreign_written;
pub use lease::{one_writer_of, one_writer_per_lease};
pub use requests::bounded_requests;
pub use snapshot::{Snapshot, same_end_state};

/// A rule that was broken. `Display`, and `Debug` as `unwrap` and `?` print it, say which, by what, and what to look at.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation {
    oracle: &'static str,
    what: String,
}

impl Violation {
    /// A rule of the test's own that was broken: its name, and by what.
    pub fn new(oracle: &'static str, what: impl Into<String>) -> Self {
        Self {
            oracle,
            what: what.into(),
        }
    }

    /// Answers a violation unless nothing was found.
    fn unless_none(oracle: &'static str, rule: &str, found: &[String]) -> Result<(), Self> {
        if found.is_empty() {
            return Ok(());
        }
        Err(Self::new(oracle, format!("{rule}:\n  {}", found.join("\n  "))))
    }

    /// Name of the oracle that found it.
    #[must_use]
    pub fn oracle(&self) -> &'static str {
        self.oracle
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.oracle, self.what)
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Violation {}

/// All oracles that need to be told nothing, the cheap ones last: [`converged`] for an hour, [`no_duplicates`],
/// [`no_orphans`], [`nothing_foreign_written`], [`one_writer_per_lease`].
///
/// # Errors
///
/// The first rule that is broken.
pub async fn all(cluster: &TestCluster) -> Result<(), Violation> {
    converged(cluster, Duration::from_secs(3600)).await?;
    no_duplicates(cluster)?;
    no_orphans(cluster)?;
    nothing_foreign_written(cluster)?;
    one_writer_per_lease(cluster)
}
