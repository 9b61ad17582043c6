//! What happened, in order, with virtual time: requests, watch events, reconciles, leadership, faults.

mod entry;
mod excerpt;
mod scribe;
mod tally;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kubewright::Env;
use kubewright::diagnostics::Report;
use tokio::time::Instant;

use crate::requests::Requests;
use crate::seeded;

pub use entry::{Effect, Entry, EventSeen, RequestMade, What};
pub use excerpt::Excerpt;

use tally::Tally;

/// Everything that happened in one cluster, in order. Clones share it.
///
/// One line for each request of a replica or an actor, each watch event that was delivered to one, each reconcile with
/// its reasons, each change of leadership, each fault and each deed of the test's. The test's own looks (`get`, `list`,
/// the waiting helpers) are left out, since nothing follows from them.
///
/// `Display` is the whole text; with one seed it is the same in every run. The methods that narrow answer an
/// [`Excerpt`], a copy of what is there now:
///
/// ```
/// # use kubewright_testkit::TestCluster;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let cluster = TestCluster::start();
/// cluster.apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").await;
/// assert_eq!(cluster.story().writes().of("configmaps").about("default/a").count(), 1);
/// # }
/// ```
///
/// Nothing is ever dropped: a line costs some hundred bytes, and what was written is shared with the server's history.
#[derive(Clone)]
pub struct Story(Arc<Inner>);

struct Inner {
    env: Env,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    /// All requests, the test's own looks included.
    requests: Vec<Arc<RequestMade>>,
    /// What requests that are not answered yet have changed.
    effects: Vec<(u64, Vec<Effect>)>,
    cast: Vec<(Arc<str>, Role)>,
    /// When a replica last sent something else than a watch or a renewal of its Lease.
    busy: Option<Instant>,
    /// Field managers of the server's own controllers.
    controllers: BTreeSet<String>,
    /// Whether a failure has shown it.
    told: bool,
    tally: Tally,
    /// Whether the run was given up for what happened here.
    given_up: bool,
}

/// What a client is in the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The test, whose looks are not worth a line.
    Test,
    /// A replica of an operator.
    Replica,
    /// Another user of the cluster.
    Actor,
}

impl Story {
    pub(crate) fn new(env: Env) -> Self {
        Self(Arc::new(Inner {
            env,
            state: Mutex::default(),
        }))
    }

    /// Everything so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.state().entries.clone()
    }

    /// Everything so far, to be narrowed.
    #[must_use]
    pub fn all(&self) -> Excerpt {
        Excerpt::new(self.entries())
    }

    /// The runs so far, in the order in which they ended, but for those in which nothing of the author's was called.
    #[must_use]
    pub fn runs(&self) -> Vec<Report> {
        self.narrow(entry::is_run).runs()
    }

    /// The runs of one key, `namespace/name`, or the name alone of a cluster-scoped object.
    #[must_use]
    pub fn reconciles(&self, key: &str) -> Vec<Report> {
        self.narrow(|entry| entry::is_run(entry) && entry.is_about(key)).runs()
    }

    /// Every request that was answered, but for the test's own looks.
    #[must_use]
    pub fn requests(&self) -> Excerpt {
        self.narrow(|entry| matches!(entry.what, What::Request(_)))
    }

    /// Requests that ask for a change, refused ones included.
    #[must_use]
    pub fn writes(&self) -> Excerpt {
        self.narrow(Entry::is_write)
    }

    /// Watch events, as their readers took them.
    #[must_use]
    pub fn events(&self) -> Excerpt {
        self.narrow(|entry| matches!(entry.what, What::Event(_)))
    }

    /// Faults, each time that one fired.
    #[must_use]
    pub fn faults(&self) -> Excerpt {
        self.narrow(|entry| matches!(entry.what, What::Fault { .. }))
    }

    /// Changes of the replicas' parts in an election.
    #[must_use]
    pub fn leadership(&self) -> Excerpt {
        self.narrow(|entry| matches!(entry.what, What::Leadership(_)))
    }

    /// What replica, actor or the test (`test`) of this name did.
    #[must_use]
    pub fn by(&self, name: &str) -> Excerpt {
        self.narrow(|entry| &*entry.replica == name)
    }

    /// What happened to one resource, by its plural.
    #[must_use]
    pub fn of(&self, plural: &str) -> Excerpt {
        self.narrow(|entry| entry.is_of(plural))
    }

    /// What happened to one object or key, `namespace/name`, or the name alone of a cluster-scoped object.
    #[must_use]
    pub fn about(&self, key: &str) -> Excerpt {
        self.narrow(|entry| entry.is_about(key))
    }

    /// What happened from `from` up to, but not at, `until`. See [`crate::TestCluster::now`].
    #[must_use]
    pub fn between(&self, from: Timestamp, until: Timestamp) -> Excerpt {
        self.narrow(|entry| from <= entry.at && entry.at < until)
    }

    /// What happened at `from` or later.
    #[must_use]
    pub fn since(&self, from: Timestamp) -> Excerpt {
        self.narrow(|entry| from <= entry.at)
    }

    /// The last `count` lines.
    #[must_use]
    pub fn tail(&self, count: usize) -> String {
        let state = self.state();
        let skipped = state.entries.len().saturating_sub(count);
        state.entries[skipped..]
            .iter()
            .map(|entry| format!("{entry}\n"))
            .collect()
    }

    /// Writes down that a fault fired: the rule that asked for it, and what it did.
    pub(crate) fn fault(&self, rule: &str, what: &str) {
        self.push(
            "fault",
            What::Fault {
                rule: rule.into(),
                what: what.into(),
            },
        );
    }

    /// Writes down what the test, or an actor, did otherwise than by a request.
    pub(crate) fn actor(&self, name: &str, what: &str) {
        self.push(name, What::Actor(what.into()));
    }

    /// Says what the client of this name is. One that nobody introduced is a replica.
    pub(crate) fn introduce(&self, name: &str, role: Role) {
        let mut state = self.state();
        state.cast.retain(|(known, _)| **known != *name);
        state.cast.push((name.into(), role));
    }

    /// Whether the client of this name is neither the test nor an actor.
    pub(crate) fn is_replica(&self, name: &str) -> bool {
        self.state().role(name) == Role::Replica
    }

    pub(crate) fn all_requests(&self) -> Requests {
        Requests::new(self.state().requests.clone())
    }

    /// Every request that changed something, with who made it.
    pub(crate) fn effects(&self) -> Vec<(Arc<str>, Role, Arc<RequestMade>)> {
        let state = self.state();
        let of = |entry: &Entry| match &entry.what {
            What::Request(request) if !request.effects.is_empty() => {
                let role = state.role(&entry.replica);
                Some((Arc::clone(&entry.replica), role, Arc::clone(request)))
            }
            _ => None,
        };
        state.entries.iter().filter_map(of).collect()
    }

    /// Every request of those who play this role.
    pub(crate) fn requests_of(&self, role: Role) -> Excerpt {
        let state = self.state();
        let of = |entry: &&Entry| matches!(entry.what, What::Request(_)) && state.role(&entry.replica) == role;
        Excerpt::new(state.entries.iter().filter(of).cloned().collect())
    }

    /// The field managers of the cluster's own controllers.
    pub(crate) fn controllers(&self) -> BTreeSet<String> {
        self.state().controllers.clone()
    }

    /// Whether a failure has shown the story already; from now on one has.
    pub(crate) fn is_told(&self) -> bool {
        std::mem::replace(&mut self.state().told, true)
    }

    /// When a replica last sent something else than a watch or a renewal of its Lease.
    pub(crate) fn busy(&self) -> Option<Instant> {
        self.state().busy
    }

    fn narrow(&self, keep: impl Fn(&Entry) -> bool) -> Excerpt {
        let state = self.state();
        Excerpt::new(state.entries.iter().filter(|entry| keep(entry)).cloned().collect())
    }

    fn push(&self, name: &str, what: What) {
        let at = self.0.env.now();
        let mut state = self.state();
        let replica = state.name(name);
        state.add(Entry { at, replica, what });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a line. Where the same has happened too often, the run is given up, and its story ends.
    fn add(&mut self, entry: Entry) {
        if self.given_up {
            return;
        }
        seeded::line();
        if self.role(&entry.replica) == Role::Replica
            && let Some(wrong) = self.tally.add(&entry)
            && let Some(run) = seeded::current()
        {
            self.given_up = true;
            run.give_up(wrong);
        }
        self.entries.push(entry);
    }

    /// The name, shared with everybody who was introduced by it.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some((known, _)) = self.cast.iter().find(|(known, _)| **known == *name) {
            return Arc::clone(known);
        }
        name.into()
    }

    fn role(&self, name: &str) -> Role {
        let known = self.cast.iter().find(|(known, _)| **known == *name);
        known.map_or(Role::Replica, |(_, role)| *role)
    }
}

/// All lines.
impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Story({} lines)", self.state().entries.len())
    }
}
