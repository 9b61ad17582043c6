//! What a deployment chooses about the election.

use std::time::Duration;

/// How replicas agree on who leads: one Lease (coordination.k8s.io/v1), its holder renews it.
///
/// The durations default to those of client-go and controller-runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderElection {
    /// Name of the Lease.
    pub lease: String,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Tells this replica from others: the pod's name, or host name, process id and a random part. Must be unique.
    pub identity: String,
    /// How long others wait after the last renewal that they saw. Default: 15 s.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it steps down. Default: 10 s.
    pub renew_deadline: Duration,
    /// Time between tries. Default: 2 s.
    pub retry_period: Duration,
    /// The longest that a write may take before it is given up; no write starts later than this before the Lease
    /// ends. Default: 5 s.
    pub write_timeout: Duration,
    /// Give the Lease back when stopping, so that another replica leads at once. Default: true.
    pub release_on_stop: bool,
}

impl LeaderElection {
    /// The defaults, for a Lease and this replica's identity.
    pub fn new(lease: impl Into<String>, namespace: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            lease: lease.into(),
            namespace: namespace.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            write_timeout: Duration::from_secs(5),
            release_on_stop: true,
        }
    }

    /// `namespace/name` of the Lease.
    #[must_use]
    pub fn lease_name(&self) -> String {
        format!("{}/{}", self.namespace, self.lease)
    }

    /// What contradicts or lacks something, with what to change.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let wrong = if self.lease.is_empty() || self.namespace.is_empty() {
            "leader election needs the name and the namespace of a Lease: `--lease-name NAME`, `--namespace NAME`"
        } else if self.identity.is_empty() {
            "leader election needs an identity that no other replica has, such as the pod's name"
        } else if self.lease_duration <= self.renew_deadline {
            "the lease duration must be longer than the renew deadline, or two replicas could lead at once"
        } else if self.renew_deadline <= self.retry_period.mul_f64(1.2) || self.retry_period.is_zero() {
            "the renew deadline must be longer than 1.2 retry periods, and those longer than nothing"
        } else if self.lease_duration <= self.write_timeout {
            "the lease duration must be longer than the write timeout, or nothing could ever be written"
        } else {
            return Ok(());
        };
        Err(wrong)
    }
}
