//! One event, before it is aggregated.

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::kind::Kind;

/// Whether an event is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// Things go as they should.
    Normal,
    /// Something needs attention.
    Warning,
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        })
    }
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Regarding {
    /// Kind of the object.
    pub kind: Kind,
    /// The object; an event about a cluster-scoped one is stored in the namespace `default`.
    pub key: ObjectKey,
    /// Uid of the object.
    pub uid: Arc<str>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Good news or not.
    pub event_type: EventType,
    /// Why, as a word for machines: `Created`, `NotOwned`. At most 128 bytes.
    pub reason: String,
    /// What was done, as a word for machines; often the same as `reason`. At most 128 bytes.
    pub action: String,
    /// What happened, for people. At most 1 kB; longer notes are cut.
    pub note: String,
    /// The object that it is about.
    pub regarding: Regarding,
    /// A second object involved.
    pub related: Option<Regarding>,
}
