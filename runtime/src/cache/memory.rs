//! "No-op skip": what was applied last and what the server made of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::cache::Cached;
use crate::cache::proof;
use crate::cache::scanner::digest;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Remembers, per object and manager, the configuration sent last and a digest of the answer.
///
/// An apply may be skipped only if the configuration is the same and the cached object still is what the server
/// answered, managedFields, resourceVersion and status apart (for the status subresource: the status). There is no
/// comparison of meanings, so defaults, quantities and other managers need no rule.
#[derive(Debug, Default)]
pub struct ApplyMemory(Mutex<BTreeMap<Slot, Applied>>);

/// One manager's configuration of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    kind: Kind,
    key: ObjectKey,
    manager: Arc<str>,
    subresource: Option<Arc<str>>,
}

#[derive(Debug)]
struct Applied {
    uid: Arc<str>,
    configuration: u64,
    answer: u64,
}

impl Slot {
    /// The configuration of an object, or of a subresource of it, under a manager's name.
    #[must_use]
    pub fn new(kind: &Kind, key: &ObjectKey, manager: &str, subresource: Option<&str>) -> Self {
        Self {
            kind: kind.clone(),
            key: key.clone(),
            manager: manager.into(),
            subresource: subresource.map(Arc::from),
        }
    }

    /// The part of an object that an apply to this slot sets.
    fn digest_of(&self, object: &Cached) -> u64 {
        match self.subresource.as_deref() {
            None => object.header().content_digest,
            Some(_) => object.header().status_digest,
        }
    }
}

impl ApplyMemory {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A digest of a configuration's bytes, to be given to the other methods.
    #[must_use]
    pub fn configuration(bytes: &[u8]) -> u64 {
        digest(bytes)
    }

    /// Whether applying `configuration` once more would change nothing, as far as the cached object tells.
    ///
    /// Never for an object of which only metadata is cached, and never for another uid.
    #[must_use]
    pub fn should_skip(&self, slot: &Slot, configuration: u64, cached: &Cached) -> bool {
        if cached.metadata_only() {
            return false;
        }
        let applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        applied.get(slot).is_some_and(|applied| {
            applied.uid == cached.header().uid
                && applied.configuration == configuration
                && applied.answer == slot.digest_of(cached)
        })
    }

    /// Whether the cached object itself proves that applying `fields` would change nothing: our entry of its
    /// managedFields names exactly these fields, and each has the value asked for. Then this is remembered.
    ///
    /// Asked where nothing is remembered, as after a restart. Without proof, one apply puts things right.
    #[must_use]
    pub fn recall(&self, slot: &Slot, configuration: u64, fields: &Map<String, Value>, cached: &Cached) -> bool {
        if cached.metadata_only() || self.remembers(slot, cached) {
            return false;
        }
        let Ok(object) = serde_json::from_slice::<Value>(&cached.json()) else {
            return false;
        };
        let proven = proof::holds(fields, &object, &slot.manager, slot.subresource.as_deref());
        if proven {
            self.record(slot, configuration, cached);
        }
        proven
    }

    fn remembers(&self, slot: &Slot, cached: &Cached) -> bool {
        let applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        applied
            .get(slot)
            .is_some_and(|applied| applied.uid == cached.header().uid)
    }

    /// Remembers that `configuration` was applied and what the server answered.
    pub fn record(&self, slot: &Slot, configuration: u64, answer: &Cached) {
        let applied = Applied {
            uid: Arc::clone(&answer.header().uid),
            configuration,
            answer: slot.digest_of(answer),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(slot.clone(), applied);
    }

    /// Forgets an object that is gone, under all managers.
    pub fn forget(&self, kind: &Kind, key: &ObjectKey) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Slot::new(kind, key, "", None);
        let gone: Vec<Slot> = all
            .range(first..)
            .map(|(slot, _)| slot)
            .take_while(|slot| slot.kind == *kind && slot.key == *key)
            .cloned()
            .collect();
        for slot in gone {
            all.remove(&slot);
        }
    }

    /// How many configurations are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Kind {
        Kind::new("demo.dev", "v1", "App", "apps", true)
    }

    fn object(uid: &str, version: &str, spec: &str, status: &str) -> Cached {
        let text = format!(
            r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{"name":"web","namespace":"shop","uid":"{uid}","resourceVersion":"{version}"}},"spec":"{spec}","status":"{status}"}}"#
        );
        Cached::parse(&kind(), text.into(), "op/app").expect("valid")
    }

    #[test]
    fn an_apply_is_skipped_only_if_configuration_and_object_are_as_they_were() {
        let memory = ApplyMemory::new();
        let slot = Slot::new(&kind(), &ObjectKey::new("shop", "web"), "op/app", None);
        assert!(!memory.should_skip(&slot, 1, &object("u", "1", "a", "x")));
        memory.record(&slot, 1, &object("u", "1", "a", "x"));
        assert!(memory.should_skip(&slot, 1, &object("u", "9", "a", "other")));
        assert!(!memory.should_skip(&slot, 2, &object("u", "1", "a", "x")));
        assert!(!memory.should_skip(&slot, 1, &object("u", "2", "drifted", "x")));
        assert!(!memory.should_skip(&slot, 1, &object("recreated", "3", "a", "x")));
    }

    #[test]
    fn a_status_is_judged_by_the_status() {
        let memory = ApplyMemory::new();
        let slot = Slot::new(&kind(), &ObjectKey::new("shop", "web"), "op/app-status", Some("status"));
        memory.record(&slot, 1, &object("u", "1", "a", "x"));
        assert!(memory.should_skip(&slot, 1, &object("u", "2", "other", "x")));
        assert!(!memory.should_skip(&slot, 1, &object("u", "2", "a", "y")));
    }

    #[test]
    fn what_is_gone_is_forgotten_under_all_managers() {
        let memory = ApplyMemory::new();
        let key = ObjectKey::new("shop", "web");
        for manager in ["a", "b"] {
            memory.record(&Slot::new(&kind(), &key, manager, None), 1, &object("u", "1", "a", "x"));
        }
        let other = ObjectKey::new("shop", "web2");
        memory.record(&Slot::new(&kind(), &other, "a", None), 1, &object("u", "1", "a", "x"));
        memory.forget(&kind(), &key);
        assert_eq!(memory.len(), 1);
    }
}
