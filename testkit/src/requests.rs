//! Requests as the server counted them.

use std::fmt;
use std::sync::Arc;

use crate::{RequestMade, RequestRecord};

/// Requests that the server answered, in order. Narrow them, then count or look.
///
/// ```
/// # use kubewright_testkit::TestCluster;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let cluster = TestCluster::start();
/// cluster.apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").await;
/// assert_eq!(cluster.requests().of("configmaps").writes().count(), 1);
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Requests(Vec<Arc<RequestMade>>);

impl Requests {
    pub(crate) fn new(records: Vec<Arc<RequestMade>>) -> Self {
        Self(records)
    }

    /// Those for which `keep` answers true.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&RequestRecord) -> bool) -> Self {
        self.0.retain(|record| keep(&record.record));
        self
    }

    /// Those made by this user, such as `system:serviceaccount:default:app-operator`.
    #[must_use]
    pub fn by(self, user: &str) -> Self {
        self.filter(|record| record.user == user)
    }

    /// Those for this resource, by its plural.
    #[must_use]
    pub fn of(self, plural: &str) -> Self {
        self.filter(|record| record.resource == plural)
    }

    /// Those that change something.
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(|record| !matches!(&*record.verb, "get" | "list" | "watch"))
    }

    /// Those that are neither watches nor about the Lease: what a converged operator must not send.
    #[must_use]
    pub fn beyond_watches_and_leases(self) -> Self {
        self.filter(|record| record.verb != "watch" && record.resource != "leases")
    }

    /// Those that the server refused.
    #[must_use]
    pub fn refused(self) -> Self {
        self.filter(|record| record.code >= 400)
    }

    /// Those after the first `count` of the whole log: what came since a snapshot's [`Requests::count`].
    #[must_use]
    pub fn since(mut self, count: usize) -> Self {
        self.0.drain(..count.min(self.0.len()));
        self
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each request, in order.
    pub fn iter(&self) -> impl Iterator<Item = &RequestRecord> {
        self.0.iter().map(|request| &request.record)
    }
}

/// One request a line: user, verb, resource, object, code.
impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for record in self.iter() {
            let user = record.user.rsplit(':').next().unwrap_or_default();
            write!(f, "{user:<16} {:<6} {}", record.verb, record.resource)?;
            if !record.subresource.is_empty() {
                write!(f, "/{}", record.subresource)?;
            }
            if record.resource.is_empty() {
                write!(f, "{}", record.path)?;
            }
            if !record.namespace.is_empty() {
                write!(f, " {}", record.namespace)?;
            }
            if !record.name.is_empty() {
                write!(f, " {}", record.name)?;
            }
            writeln!(f, " → {}", record.code)?;
        }
        Ok(())
    }
}
