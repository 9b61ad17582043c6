//! One line of a story.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright::ObjectKey;
use kubewright::dev::apiserver::storage::Stored;
use kubewright::diagnostics::{Leadership, Phase, Report};

use crate::RequestRecord;

/// One line of a story.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// When it happened: requests when they were answered, reconciles when they ended. In the cluster's time, also
    /// where a replica's clock is wrong.
    pub at: Timestamp,
    /// Who did it: a replica, an actor, `test` or `fault`.
    pub replica: Arc<str>,
    /// What happened.
    pub what: What,
}

/// What an entry tells.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// A controller has listed once all that it watches, and begins to reconcile; its name.
    Started(Arc<str>),
    /// A run of a reconciler.
    Reconcile(Arc<Report>),
    /// A change of a replica's part in the election.
    Leadership(Leadership),
    /// A request and its answer.
    Request(Arc<RequestMade>),
    /// A watch event that reached its reader.
    Event(Arc<EventSeen>),
    /// A fault that fired.
    Fault {
        /// The rule that asked for it.
        rule: Arc<str>,
        /// What it did.
        what: Arc<str>,
    },
    /// Something that the test or an actor did otherwise than by a request, such as killing a replica.
    Actor(Arc<str>),
}

/// A request, how it was answered, and what it changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestMade {
    /// The server's record. For a create, `name` is the name that the object got.
    pub record: RequestRecord,
    /// What it changed in the store, in order; empty for reads, and for writes that changed nothing.
    pub effects: Vec<Effect>,
}

impl Deref for RequestMade {
    type Target = RequestRecord;

    fn deref(&self) -> &RequestRecord {
        &self.record
    }
}

/// One change of the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Effect {
    /// The server's revision: the order of all changes.
    pub revision: u64,
    /// The object before; absent where it was created.
    pub old: Option<Arc<Stored>>,
    /// The object after; absent where it was removed.
    pub new: Option<Arc<Stored>>,
}

/// A watch event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventSeen {
    /// `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
    pub kind: &'static str,
    /// Plural of the resource.
    pub resource: Arc<str>,
    /// The object; none for bookmarks.
    pub key: Option<(Arc<str>, Arc<str>)>,
    /// The revision that the event names.
    pub revision: u64,
}

impl RequestMade {
    /// Whether it asks for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(&*self.record.verb, "get" | "list" | "watch" | "head" | "options")
    }
}

impl Entry {
    /// The request, where the entry is one.
    #[must_use]
    pub fn request(&self) -> Option<&RequestMade> {
        match &self.what {
            What::Request(request) => Some(request),
            _ => None,
        }
    }

    /// The run, where the entry is one.
    #[must_use]
    pub fn run(&self) -> Option<&Report> {
        match &self.what {
            What::Reconcile(report) => Some(report),
            _ => None,
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        self.request().is_some_and(RequestMade::is_write)
    }

    pub(crate) fn is_of(&self, plural: &str) -> bool {
        match &self.what {
            What::Request(request) => request.resource == plural,
            What::Event(event) => &*event.resource == plural,
            What::Reconcile(report) => report.kind.plural() == plural,
            _ => false,
        }
    }

    pub(crate) fn is_about(&self, key: &str) -> bool {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        match &self.what {
            What::Request(request) => request.namespace == namespace && request.name == name,
            What::Event(event) => event
                .key
                .as_ref()
                .is_some_and(|(n, own)| **n == *namespace && **own == *name),
            What::Reconcile(report) => {
                let ObjectKey {
                    namespace: of,
                    name: own,
                    ..
                } = &report.key;
                **of == *namespace && **own == *name
            }
            _ => false,
        }
    }
}

pub(super) fn is_run(entry: &Entry) -> bool {
    entry.run().is_some_and(|report| report.phase != Phase::Idle)
}

/// One line: time, who, and what happened.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.at.strftime("%m-%d %H:%M:%S.%6f");
        write!(f, "{time} {:<12} ", self.replica)?;
        match &self.what {
            What::Started(controller) => write!(f, "controller {controller} starts to reconcile"),
            What::Leadership(leadership) => match leadership {
                Leadership::Following(holder) => write!(f, "follows {holder}"),
                Leadership::Leading => f.write_str("leads"),
                Leadership::Lost => f.write_str("lost the Lease"),
                Leadership::Released => f.write_str("gave the Lease back"),
            },
            What::Reconcile(report) => {
                let Report {
                    controller,
                    phase,
                    key,
                    reasons,
                    ..
                } = &**report;
                write!(f, "{controller} {phase} {key} [{reasons}]")?;
                for write in &report.writes {
                    write!(f, " | {write}")?;
                }
                write!(f, " → {}", report.outcome)
            }
            What::Request(request) => request.fmt(f),
            What::Event(event) => event.fmt(f),
            What::Fault { rule, what } => write!(f, "{rule}: {what}"),
            What::Actor(what) => f.write_str(what),
        }
    }
}

/// Verb, resource, object and code; where a write failed although it took effect, or succeeded without one, it says so.
impl fmt::Display for RequestMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = &self.record;
        write!(f, "{:<6} ", record.verb)?;
        if record.resource.is_empty() {
            f.write_str(&record.path)?;
        } else {
            f.write_str(&record.resource)?;
        }
        if !record.subresource.is_empty() {
            write!(f, "/{}", record.subresource)?;
        }
        match (&*record.namespace, &*record.name) {
            ("", "") => {}
            ("", name) => write!(f, " {name}")?,
            (namespace, name) => write!(f, " {namespace}/{name}")?,
        }
        write!(f, " → {}", record.code)?;
        match (&*self.effects, record.code) {
            ([], 200..300) if self.is_write() => f.write_str(", changed nothing"),
            ([], _) => Ok(()),
            ([effect], 200..300) => write!(f, " @{}", effect.revision),
            ([effect], _) => write!(f, ", but took effect @{}", effect.revision),
            (effects, _) => {
                f.write_str(" @")?;
                for (i, effect) in effects.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}", effect.revision)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for EventSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event  {} {}", self.resource, self.kind)?;
        match &self.key {
            Some((namespace, name)) if namespace.is_empty() => write!(f, " {name}")?,
            Some((namespace, name)) => write!(f, " {namespace}/{name}")?,
            None => {}
        }
        write!(f, " @{}", self.revision)
    }
}
