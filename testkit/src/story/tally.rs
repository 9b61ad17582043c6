//! How often the same thing happens: what spins never lets a test end.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};

use super::entry::{Entry, What};

/// More of the same than an operator has reason for, and how much more is allowed for each second of the test's time:
/// a loop that turns at one instant, or every few milliseconds, is far beyond both, a timer far below.
const MOST: i64 = 5_000;
const PER_SECOND: i64 = 10;

/// How often each key was reconciled and each request was sent.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<u64, Count>);

#[derive(Debug)]
struct Count {
    first: Timestamp,
    times: i64,
}

impl Tally {
    /// Counts a line of a replica. Answers what is wrong once there are too many of its like.
    pub(super) fn add(&mut self, entry: &Entry) -> Option<String> {
        let count = self.0.entry(likeness(entry)?).or_insert(Count {
            first: entry.at,
            times: 0,
        });
        count.times += 1;
        let within = entry.at.duration_since(count.first);
        let allowed = MOST + PER_SECOND * within.as_secs().max(0);
        (count.times > allowed).then(|| message(entry, count.times, within))
    }
}

/// What lines have in common that do the same again; none of a line that is not counted.
fn likeness(entry: &Entry) -> Option<u64> {
    // Without random keys, so that one seed gives one end.
    let mut hasher = DefaultHasher::new();
    entry.replica.hash(&mut hasher);
    match &entry.what {
        What::Reconcile(run) => (&run.controller, &run.key.namespace, &run.key.name).hash(&mut hasher),
        What::Request(request) => {
            let of = (&request.verb, &request.resource, &request.subresource);
            (of, &request.namespace, &request.name, &request.path).hash(&mut hasher);
        }
        _ => return None,
    }
    Some(hasher.finish())
}

fn message(last: &Entry, times: i64, within: SignedDuration) -> String {
    let who = &last.replica;
    let span = if within.is_zero() {
        "at one instant of the test's time".to_owned()
    } else {
        format!("within {within:#} of the test's time")
    };
    let (did, instead) = match &last.what {
        What::Reconcile(run) => (
            format!(
                "controller `{}` of {who} ran {} {times} times {span}. The last run was woken by [{}] and ended with \
                 `{}`",
                run.controller, run.key, run.reasons, run.outcome
            ),
            "End with `Action::await_change()`, or ask to run again after a while; a write whose content differs each \
             time wakes its own key each time",
        ),
        _ => (
            format!(
                "{who} sent the same request {times} times {span}, the last time `{}`",
                last_part(last)
            ),
            "Wait between two tries, and longer after each",
        ),
    };
    format!(
        "the test would never end: {did}. Paused time stands still, or creeps, while an operator is always busy. {instead}"
    )
}

/// A line without its time and replica.
fn last_part(entry: &Entry) -> String {
    entry.request().map(ToString::to_string).unwrap_or_default()
}
