//! The clean-up of definitions: a CustomResourceDefinition that is being deleted loses its finalizer once all its
//! objects are gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::kinds::DEFINITIONS;
use super::object::{Object, set};
use super::queue::Queue;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::{Gvr, Resource};
use crate::storage::Stored;

const CLEAN_UP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Deletes the objects of definitions that go.
pub struct Definitions {
    cx: Cx,
    terminating: Mutex<BTreeSet<Arc<str>>>,
}

impl Definitions {
    /// A controller that knows of no definition yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            terminating: Mutex::default(),
        }
    }

    /// A served version of the definition's kind.
    fn served(&self, name: &str) -> Option<Gvr> {
        let catalog = self.cx.loopback.catalog();
        let ours = |r: &&Arc<Resource>| r.custom.as_ref().is_some_and(|c| c.definition == name);
        catalog.iter().find(ours).map(|r| r.gvr())
    }

    /// Deletes every object that is not on its way out; answers how many are left.
    async fn sweep(&self, gvr: &Gvr) -> Result<usize, ApiError> {
        let (objects, _) = self.cx.loopback.list(gvr, "", "").await?;
        for object in objects.iter().filter(|o| !o.is_deleting()) {
            let options = json!({ "preconditions": { "uid": object.uid() }, "propagationPolicy": "Background" });
            match self
                .cx
                .loopback
                .delete(gvr, object.namespace(), object.name(), options)
                .await
            {
                Err(error) if error.code != 404 && error.code != 409 => return Err(error),
                _ => {}
            }
        }
        Ok(self.cx.loopback.list(gvr, "", "").await?.0.len())
    }

    /// Says in the status that the objects are being deleted.
    async fn announce(&self, mut definition: Value) -> Result<(), ApiError> {
        let mut conditions = definition.items("status.conditions").to_vec();
        let Some(terminating) = conditions.iter_mut().find(|c| c.text("type") == "Terminating") else {
            return Ok(());
        };
        if terminating.text("reason") != "InstanceDeletionPending" {
            return Ok(());
        }
        terminating["reason"] = "InstanceDeletionInProgress".into();
        terminating["message"] = "CustomResource deletion is in progress".into();
        set(&mut definition, "status.conditions", conditions.into());
        self.cx
            .loopback
            .update(&DEFINITIONS.gvr(), Some("status"), definition)
            .await
            .map(drop)
    }
}

impl Controller for Definitions {
    type Key = Arc<str>;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, _: &Stored) -> bool {
        DEFINITIONS.is(resource)
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Arc<str>>) {
        let mut terminating = self.terminating.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is(&DEFINITIONS) {
            let name: Arc<str> = seen.object.name().into();
            if seen.deleted {
                terminating.remove(&name);
            } else if seen.object.is_deleting() && seen.object.has_finalizer(CLEAN_UP) {
                terminating.insert(Arc::clone(&name));
                queue.add(name);
            }
        } else if seen.deleted
            && !terminating.is_empty()
            && let Some(custom) = &seen.resource.custom
            && let Some(name) = terminating.get(custom.definition.as_str())
        {
            queue.add(Arc::clone(name));
        }
    }

    async fn reconcile(&self, name: &Arc<str>) -> Result<Next, ApiError> {
        let gvr = DEFINITIONS.gvr();
        let definition = match self.cx.loopback.get(&gvr, "", name).await {
            Ok(definition) => definition,
            Err(error) if error.code == 404 => return Ok(Next::Wait),
            Err(error) => return Err(error),
        };
        if !definition.is_deleting() || !definition.has_finalizer(CLEAN_UP) {
            return Ok(Next::Wait);
        }
        let finalizers = definition.items("metadata.finalizers").iter();
        let kept: Vec<Value> = finalizers.filter(|f| f.as_str() != Some(CLEAN_UP)).cloned().collect();
        self.announce(definition).await?;
        let left = match self.served(name) {
            Some(served) => self.sweep(&served).await?,
            None => 0,
        };
        if left == 0 {
            let kept = if kept.is_empty() { Value::Null } else { kept.into() };
            let patch = json!({ "metadata": { "finalizers": kept } });
            match self.cx.loopback.merge_patch(&gvr, None, "", name, patch).await {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(Next::Wait)
    }
}
