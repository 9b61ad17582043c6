//! The webhooks that are configured, read from the stored configurations.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::storage::Store;

const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// One webhook of a configuration.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    /// Tells webhooks apart: the configuration's name and the place in it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) spec: Value,
}

impl Webhook {
    /// A text field of the webhook; empty when it is not set.
    pub(super) fn text(&self, field: &str) -> &str {
        self.spec[field].as_str().unwrap_or_default()
    }

    /// Whether the request goes on when the call fails.
    pub(super) fn ignores_failure(&self) -> bool {
        self.text("failurePolicy") == "Ignore"
    }
}

/// The webhooks of a server, read again only after a configuration changed.
#[derive(Default)]
pub(crate) struct Configured {
    mutating: Cached,
    validating: Cached,
}

#[derive(Default)]
struct Cached(Mutex<(u64, Arc<[Webhook]>)>);

impl Configured {
    /// Whether any webhook may change objects.
    pub(in crate::admission) fn mutates(&self, store: &Store) -> bool {
        !self.mutating(store).is_empty()
    }

    pub(super) fn mutating(&self, store: &Store) -> Arc<[Webhook]> {
        self.mutating.get(store, MUTATING)
    }

    pub(super) fn validating(&self, store: &Store) -> Arc<[Webhook]> {
        self.validating.get(store, VALIDATING)
    }
}

impl Cached {
    fn get(&self, store: &Store, resource: &str) -> Arc<[Webhook]> {
        let now = store.changed_at(resource);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.0 != now {
            *cached = (now, read(store, resource));
        }
        Arc::clone(&cached.1)
    }
}

/// Configurations in the order of their names, webhooks as written.
fn read(store: &Store, resource: &str) -> Arc<[Webhook]> {
    let webhooks = store.list(resource, None).into_iter().flat_map(|stored| {
        let configuration = stored.value();
        let name = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let specs = configuration["webhooks"].as_array().cloned().unwrap_or_default();
        specs.into_iter().enumerate().map(move |(index, spec)| Webhook {
            id: format!("{name}/{index}"),
            name: spec["name"].as_str().unwrap_or_default().to_owned(),
            spec,
        })
    });
    webhooks.collect()
}
