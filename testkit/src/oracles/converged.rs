//! Work that ends, and silence after it.

use std::collections::BTreeMap;
use std::time::Duration;

use kubewright::ObjectKey;
use kubewright::diagnostics::{Outcome, Phase, Reason, Report};
use tokio::time::sleep;

use super::Violation;
use crate::cluster::TestCluster;
use crate::story::{Excerpt, Role};

const ORACLE: &str = "converged";

/// How long nothing may be sent before the cluster counts as at rest.
const REST: Duration = Duration::from_secs(5);

/// How long it may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(600);

/// Lets the test's time pass until no operator has anything left to do, and then for `silence`, in which none may send
/// anything but watches and Lease renewals.
///
/// Runs that a timer of the author's woke (`Action::requeue`, `resync`) may ask and publish events, but change nothing:
/// nothing else has changed.
///
/// # Errors
///
/// When the operators do not come to rest within ten minutes, when the last run of some key failed, and when something
/// was sent in the silence.
///
/// # Cancel safety
///
/// Dropping the future has no effect; it only looks.
pub async fn converged(cluster: &TestCluster, silence: Duration) -> Result<(), Violation> {
    if !cluster.rests(REST, PATIENCE).await {
        let text = cluster
            .story()
            .requests_of(Role::Replica)
            .beyond_watches_and_leases()
            .tail(20);
        let what = format!(
            "after {} s the operators are still at work; the last requests:\n{text}",
            PATIENCE.as_secs()
        );
        return Err(Violation::new(ORACLE, what));
    }
    failing(cluster)?;
    // What is at this very instant belongs to the time before.
    sleep(Duration::from_micros(1)).await;
    let then = cluster.now();
    sleep(silence).await;
    let sent = cluster
        .story()
        .requests_of(Role::Replica)
        .beyond_watches_and_leases()
        .since(then);
    let timers = cluster.story().since(then).runs().iter().any(is_by_timer);
    // Timers may look, repeat an event, and find that nothing needs to be written.
    let noise = match timers {
        true => sent.effective().filter(|entry| !entry.is_of("events")),
        false => sent,
    };
    if noise.is_empty() {
        return failing(cluster);
    }
    let runs = cluster
        .story()
        .since(then)
        .filter(|entry| entry.run().is_some())
        .tail(10);
    let what = format!(
        "all had been at rest, and nothing had changed since; still this was sent within {} s:\n{}the last runs:\n{runs}",
        silence.as_secs(),
        noise.tail(20)
    );
    Err(Violation::new(ORACLE, what))
}

/// Keys whose last run failed and is to be tried again.
fn failing(cluster: &TestCluster) -> Result<(), Violation> {
    let mut last: BTreeMap<(String, ObjectKey), Report> = BTreeMap::new();
    for run in cluster.story().runs() {
        last.insert((run.controller.to_string(), run.key.clone()), run);
    }
    let found: Vec<String> = last
        .into_values()
        .filter(|run| run.phase != Phase::Gone && is_failure(&run.outcome))
        .map(|run| format!("{} {} {}: {}", run.controller, run.phase, run.key, run.outcome))
        .collect();
    Violation::unless_none(ORACLE, "the last runs of these keys failed", &found)
}

/// Terminal errors are an end: they wait for a change.
fn is_failure(outcome: &Outcome) -> bool {
    !outcome.is_success() && !matches!(outcome, Outcome::Terminal { .. })
}

fn is_by_timer(run: &Report) -> bool {
    let reasons = run.reasons.as_slice();
    reasons
        .iter()
        .all(|reason| matches!(reason, Reason::Requeue | Reason::Resync))
}

impl Excerpt {
    /// The last `count` lines.
    pub(super) fn tail(&self, count: usize) -> String {
        let skipped = self.count().saturating_sub(count);
        self.iter().skip(skipped).map(|entry| format!("  {entry}\n")).collect()
    }
}
