//! Every namespace has a ServiceAccount `default`; one that is deleted comes back as a new object.

use serde_json::json;

use super::kinds::{NAMESPACES, SERVICE_ACCOUNTS};
use super::object::{Key, Object};
use super::queue::Queue;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Stored;

const DEFAULT: &str = "default";

/// The ServiceAccount controller.
pub struct ServiceAccounts {
    cx: Cx,
}

impl ServiceAccounts {
    /// A controller for every namespace that it will see.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self { cx }
    }
}

impl Controller for ServiceAccounts {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, _: &Stored) -> bool {
        NAMESPACES.is(resource)
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&NAMESPACES) && !seen.deleted && !seen.object.is_deleting() {
            queue.add(Key::new(seen.object.name(), DEFAULT));
        } else if seen.is(&SERVICE_ACCOUNTS) && seen.deleted && seen.object.name() == DEFAULT {
            queue.add(Key::of(seen.object));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let gvr = SERVICE_ACCOUNTS.gvr();
        if self.cx.loopback.uid_of(&gvr, &key.namespace, DEFAULT).is_none() {
            let account = json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": { "name": DEFAULT, "namespace": &*key.namespace },
            });
            absorb(self.cx.loopback.create(&gvr, &key.namespace, account).await.map(drop))?;
        }
        Ok(Next::Wait)
    }
}

/// A namespace that is gone or going needs nothing, and what exists need not be made.
pub(super) fn absorb(result: Result<(), ApiError>) -> Result<(), ApiError> {
    match result {
        Err(error) if matches!(error.code, 403 | 404) || error.reason == "AlreadyExists" => Ok(()),
        other => other,
    }
}
