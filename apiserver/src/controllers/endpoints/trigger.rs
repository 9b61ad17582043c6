//! When the change that endpoints show happened: the annotation `endpoints.kubernetes.io/last-change-trigger-time`.
//!
//! A Service counts from its creation, a pod from the last change of its readiness. Of everything that is newer than at
//! the last look, the oldest time is the one; a write that nothing of that kind caused has none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use crate::controllers::object::{Key, Object};
use crate::simulate::pods;

/// What was seen of each Service at the last look.
#[derive(Debug, Default)]
pub(super) struct TriggerTimes(Mutex<BTreeMap<Key, Times>>);

#[derive(Debug, Default)]
struct Times {
    service: Option<Timestamp>,
    pods: BTreeMap<String, Timestamp>,
}

impl TriggerTimes {
    /// The time of the oldest change since the last call for this Service, as the annotation has it.
    pub(super) fn next(&self, key: &Key, service: &Value, of: &[Arc<Value>]) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.entry(key.clone()).or_default();
        let mut changed: Vec<Timestamp> = Vec::new();
        let mut times = BTreeMap::new();
        for pod in of {
            if let Some(time) = pods::ready_since(pod) {
                if last.pods.get(pod.name()).is_none_or(|before| time > *before) {
                    changed.push(time);
                }
                times.insert(pod.name().to_owned(), time);
            }
        }
        let created = service.time("metadata.creationTimestamp");
        if created > last.service {
            changed.extend(created);
        }
        *last = Times {
            service: created,
            pods: times,
        };
        changed
            .into_iter()
            .min()
            .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    }

    /// Forgets a Service.
    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
