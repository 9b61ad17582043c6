//! What the probes answer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

type Section = Box<dyn Fn() -> Value + Send + Sync>;

/// What the probes of one manager answer. Clones share it.
///
/// Ready once everything that [`Health::hold`] named has been [released](Health::release), and then for good: what
/// happens outside the process (an API server that is away, a missing permission) is told in `/statusz`, not by
/// taking the pod out of service.
#[derive(Clone, Default)]
pub struct Health(Arc<Inner>);

#[derive(Default)]
struct Inner {
    holds: Mutex<BTreeSet<&'static str>>,
    sections: Mutex<Vec<(String, Section)>>,
}

impl Health {
    /// Alive, ready, and without sections.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Not ready until `what` is released.
    pub fn hold(&self, what: &'static str) {
        self.0.holds.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
    }

    /// Ready as far as `what` is concerned.
    pub fn release(&self, what: &'static str) {
        self.0.holds.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
    }

    /// What it still waits for; ready when empty.
    #[must_use]
    pub fn waits_for(&self) -> Vec<&'static str> {
        let holds = self.0.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.iter().copied().collect()
    }

    /// Adds a section to `/statusz`; `content` is asked at each request and must not block.
    pub fn section(&self, name: impl Into<String>, content: impl Fn() -> Value + Send + Sync + 'static) {
        let mut sections = self.0.sections.lock().unwrap_or_else(PoisonError::into_inner);
        sections.push((name.into(), Box::new(content)));
    }

    /// All sections.
    #[must_use]
    pub fn status(&self) -> Value {
        let sections = self.0.sections.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Map<String, Value> = sections
            .iter()
            .map(|(name, content)| (name.clone(), content()))
            .collect();
        Value::Object(all)
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("waits_for", &self.waits_for())
            .finish_non_exhaustive()
    }
}
