//! A part of a story.

use std::fmt;

use jiff::Timestamp;
use kubewright::diagnostics::Report;

use super::entry::{self, Entry, RequestMade, What};

/// Some lines of a story, in order: narrow them, count them, look at them. `Display` prints them.
#[derive(Clone, Debug, Default)]
pub struct Excerpt(Vec<Entry>);

impl Excerpt {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// Those for which `keep` answers true.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&Entry) -> bool) -> Self {
        self.0.retain(|entry| keep(entry));
        self
    }

    /// What replica, actor or the test (`test`) of this name did.
    #[must_use]
    pub fn by(self, name: &str) -> Self {
        self.filter(|entry| &*entry.replica == name)
    }

    /// What is about one resource, by its plural.
    #[must_use]
    pub fn of(self, plural: &str) -> Self {
        self.filter(|entry| entry.is_of(plural))
    }

    /// What is about one object or key, `namespace/name`, or the name alone of a cluster-scoped object.
    #[must_use]
    pub fn about(self, key: &str) -> Self {
        self.filter(|entry| entry.is_about(key))
    }

    /// What happened from `from` up to, but not at, `until`.
    #[must_use]
    pub fn between(self, from: Timestamp, until: Timestamp) -> Self {
        self.filter(|entry| from <= entry.at && entry.at < until)
    }

    /// What happened at `from` or later.
    #[must_use]
    pub fn since(self, from: Timestamp) -> Self {
        self.filter(|entry| from <= entry.at)
    }

    /// Requests with this verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        self.filter(|entry| entry.request().is_some_and(|request| request.verb == verb))
    }

    /// Requests that ask for a change, refused ones included.
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(Entry::is_write)
    }

    /// Requests that changed what is stored, whatever they were answered.
    #[must_use]
    pub fn effective(self) -> Self {
        self.filter(|entry| entry.request().is_some_and(|request| !request.effects.is_empty()))
    }

    /// Requests that were answered with an error.
    #[must_use]
    pub fn refused(self) -> Self {
        self.filter(|entry| entry.request().is_some_and(|request| request.code >= 400))
    }

    /// Requests that are neither watches nor about a Lease: what a converged operator must not send.
    #[must_use]
    pub fn beyond_watches_and_leases(self) -> Self {
        self.filter(|entry| entry.request().is_some_and(super::scribe::is_busy))
    }

    /// Faults of this rule, by a part of its text.
    #[must_use]
    pub fn rule(self, part: &str) -> Self {
        self.filter(|entry| matches!(&entry.what, What::Fault { rule, .. } if rule.contains(part)))
    }

    /// The runs of reconcilers, but for those in which nothing of the author's was called.
    #[must_use]
    pub fn runs(&self) -> Vec<Report> {
        let runs = self.0.iter().filter(|entry| entry::is_run(entry));
        runs.filter_map(Entry::run).cloned().collect()
    }

    /// The requests.
    pub fn requests(&self) -> impl Iterator<Item = &RequestMade> {
        self.0.iter().filter_map(Entry::request)
    }

    /// How many lines there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first line.
    #[must_use]
    pub fn first(&self) -> Option<&Entry> {
        self.0.first()
    }

    /// The last line.
    #[must_use]
    pub fn last(&self) -> Option<&Entry> {
        self.0.last()
    }

    /// Each line, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Excerpt {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One line each.
impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
