//! Storms.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::Violation;
use crate::cluster::TestCluster;
use crate::story::Role;

/// No replica sent more than `most` requests within any span of `per`, watches included, Lease renewals apart.
///
/// # Errors
///
/// The first span with more, with its requests counted by what they were for.
pub fn bounded_requests(cluster: &TestCluster, most: usize, per: Duration) -> Result<(), Violation> {
    let mut spans: BTreeMap<Arc<str>, VecDeque<(Timestamp, String)>> = BTreeMap::new();
    for entry in &cluster.story().requests_of(Role::Replica) {
        let Some(request) = entry.request() else { continue };
        if request.resource == "leases" {
            continue;
        }
        let span = spans.entry(Arc::clone(&entry.replica)).or_default();
        while span.front().is_some_and(|(at, _)| longer_ago(*at, entry.at, per)) {
            span.pop_front();
        }
        let what = if request.resource.is_empty() {
            &request.path
        } else {
            &request.resource
        };
        span.push_back((entry.at, format!("{} {what} → {}", request.verb, request.code)));
        if span.len() > most {
            return Err(storm(&entry.replica, span, most, per));
        }
    }
    Ok(())
}

fn longer_ago(at: Timestamp, now: Timestamp, span: Duration) -> bool {
    at.checked_add(span).is_ok_and(|end| end <= now)
}

fn storm(replica: &str, span: &VecDeque<(Timestamp, String)>, most: usize, per: Duration) -> Violation {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, what) in span {
        *counts.entry(what).or_default() += 1;
    }
    let lines: Vec<String> = counts.iter().map(|(what, count)| format!("{count} × {what}")).collect();
    let from = span.front().map(|(at, _)| at.to_string()).unwrap_or_default();
    Violation::new(
        "bounded_requests",
        format!(
            "{replica} sent more than {most} requests within {per:?}, from {from} on:\n  {}",
            lines.join("\n  ")
        ),
    )
}
