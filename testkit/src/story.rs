//! What the operators did, in order, with virtual time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kubewright::diagnostics::{Leadership, Observer, Phase, Report};
use kubewright::{Env, ObjectKey};

/// Every run of every operator of one cluster. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Story(Arc<Mutex<Vec<Entry>>>);

/// One line of a story.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// When it ended, in the test's time.
    pub at: Timestamp,
    /// The replica that did it.
    pub replica: Arc<str>,
    /// What happened.
    pub what: What,
}

/// What an entry tells.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// A run of a reconciler.
    Reconcile(Box<Report>),
    /// A change of a replica's part in the election.
    Leadership(Leadership),
}

impl Story {
    /// Everything so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The runs so far, in the order in which they ended, but for those in which nothing of the author's was called.
    #[must_use]
    pub fn runs(&self) -> Vec<Report> {
        let of = |entry: Entry| match entry.what {
            What::Reconcile(report) if report.phase != Phase::Idle => Some(*report),
            _ => None,
        };
        self.entries().into_iter().filter_map(of).collect()
    }

    /// The runs of one key, `namespace/name`, or the name alone of a cluster-scoped object.
    #[must_use]
    pub fn reconciles(&self, key: &str) -> Vec<Report> {
        let key = match key.split_once('/') {
            Some((namespace, name)) => ObjectKey::new(namespace, name),
            None => ObjectKey::cluster_scoped(key),
        };
        let mut runs = self.runs();
        runs.retain(|report| report.key == key);
        runs
    }

    /// The last `count` lines.
    #[must_use]
    pub fn tail(&self, count: usize) -> String {
        let entries = self.entries();
        let skipped = entries.len().saturating_sub(count);
        entries[skipped..].iter().map(|entry| format!("{entry}\n")).collect()
    }

    /// An observer that writes down what one replica does.
    pub(crate) fn of_replica(&self, replica: &str, env: Env) -> Arc<dyn Observer> {
        Arc::new(Scribe {
            story: self.clone(),
            replica: replica.into(),
            env,
        })
    }

    fn push(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

/// One line: time, replica, and what happened.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:<10} ", self.at.strftime("%H:%M:%S.%6f"), self.replica)?;
        match &self.what {
            What::Leadership(leadership) => write!(f, "leadership: {leadership:?}"),
            What::Reconcile(report) => {
                write!(
                    f,
                    "{} {} {} [{}]",
                    report.controller, report.phase, report.key, report.reasons
                )?;
                for write in &report.writes {
                    write!(f, " | {write}")?;
                }
                write!(f, " → {}", report.outcome)
            }
        }
    }
}

struct Scribe {
    story: Story,
    replica: Arc<str>,
    env: Env,
}

impl Scribe {
    fn write(&self, what: What) {
        self.story.push(Entry {
            at: self.env.now(),
            replica: Arc::clone(&self.replica),
            what,
        });
    }
}

impl Observer for Scribe {
    fn reconciled(&self, report: &Report) {
        self.write(What::Reconcile(Box::new(report.clone())));
    }

    fn leadership(&self, leadership: &Leadership) {
        self.write(What::Leadership(leadership.clone()));
    }
}
