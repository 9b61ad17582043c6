//! The namespace controller: empties a namespace that is being deleted, then lets it go.
//!
//! The content goes five seconds after the request, pods first. What is left and why shows in five conditions. A
//! namespace that something holds is looked at again when an object in it is deleted, not by polling.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::kinds::{NAMESPACES, PODS};
use super::object::{Object, set};
use super::queue::Queue;
use super::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::{Gvr, Resource};
use crate::storage::Stored;

/// The time between the request and the deletion of the content, in which endpoints may drain.
const GRACE: Duration = Duration::from_secs(5);
/// The finalizer in `spec.finalizers` that this controller removes.
const FINALIZER: &str = "kubernetes";

/// The namespace controller.
pub struct Namespaces {
    cx: Cx,
    terminating: Mutex<BTreeSet<Arc<str>>>,
}

/// What a sweep found.
#[derive(Debug, Default)]
struct Remains {
    errors: Vec<String>,
    counts: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
    /// A request that failed: worth another try.
    failure: Option<ApiError>,
}

impl Namespaces {
    /// A controller that knows of no namespace yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self {
            cx,
            terminating: Mutex::default(),
        }
    }

    /// Deletes what it can; pods first, the rest once they are gone.
    async fn sweep(&self, namespace: &Value) -> Remains {
        let mut remains = Remains::default();
        self.sweep_resource(&PODS.gvr(), namespace, &mut remains).await;
        if !remains.is_empty() {
            return remains;
        }
        for resource in self.deletable() {
            self.sweep_resource(&resource.gvr(), namespace, &mut remains).await;
        }
        remains
    }

    /// Every namespaced resource once, in its storage version where that is served.
    fn deletable(&self) -> Vec<Arc<Resource>> {
        let can = |r: &Resource, verb: &str| r.verbs.iter().any(|v| v == verb);
        let mut chosen: BTreeMap<(String, String), Arc<Resource>> = BTreeMap::new();
        for resource in self.cx.loopback.catalog().iter() {
            if resource.namespaced && can(resource, "delete") && can(resource, "list") {
                let slot = chosen.entry((resource.group.clone(), resource.plural.clone()));
                let slot = slot.or_insert_with(|| Arc::clone(resource));
                if resource.version == resource.storage_version {
                    *slot = Arc::clone(resource);
                }
            }
        }
        chosen.into_values().collect()
    }

    async fn sweep_resource(&self, gvr: &Gvr, namespace: &Value, remains: &mut Remains) {
        let name = namespace.name();
        let objects = match self.cx.loopback.list(gvr, name, "").await {
            Ok((objects, _)) => objects,
            Err(error) if error.code == 404 || error.code == 405 => return,
            Err(error) => return remains.fail(error),
        };
        let mut left = Vec::new();
        for object in objects {
            let options = json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": { "uid": object.uid() },
                "propagationPolicy": "Background",
            });
            if !object.is_deleting() {
                match self.cx.loopback.delete(gvr, name, object.name(), options).await {
                    Ok(_) => {}
                    Err(error) if error.code == 404 || error.code == 409 => {}
                    Err(error) => return remains.fail(error),
                }
            }
            if let Ok(live) = self.cx.loopback.get(gvr, name, object.name()).await {
                left.push(live);
            }
        }
        if left.is_empty() {
            return;
        }
        let estimate = if gvr.plural == PODS.plural && gvr.group.is_empty() {
            self.grace_left(&left, namespace)
        } else {
            0
        };
        let mut held = false;
        for finalizer in left
            .iter()
            .flat_map(|o| o.items("metadata.finalizers"))
            .filter_map(Value::as_str)
        {
            *remains.finalizers.entry(finalizer.to_owned()).or_insert(0) += 1;
            held = true;
        }
        if estimate > 0 || held {
            remains
                .counts
                .insert(format!("{}.{}", gvr.plural, gvr.group), left.len());
        } else {
            remains.errors.push(format!(
                "unexpected items still remain in namespace: {name} for gvr: {}/{}, Resource={}",
                gvr.group, gvr.version, gvr.plural
            ));
        }
    }

    /// Seconds that the pods' grace periods still last, counted from the namespace's deletion.
    fn grace_left(&self, pods: &[Value], namespace: &Value) -> i64 {
        let unfinished = |p: &&Value| !matches!(p.text("status.phase"), "Succeeded" | "Failed");
        let grace = pods
            .iter()
            .filter(unfinished)
            .filter_map(|p| p.int("spec.terminationGracePeriodSeconds"))
            .max();
        let since = namespace
            .time("metadata.deletionTimestamp")
            .map_or(0, |at| self.cx.loopback.clock().now().as_second() - at.as_second());
        (grace.unwrap_or(0) - since).max(0)
    }

    fn is_terminating(&self, name: &str) -> bool {
        let terminating = self.terminating.lock().unwrap_or_else(PoisonError::into_inner);
        !terminating.is_empty() && terminating.contains(name)
    }
}

impl Remains {
    fn fail(&mut self, error: ApiError) {
        self.errors.push(error.message.clone());
        self.failure = Some(error);
    }

    fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.counts.is_empty()
    }

    /// Type, status, reason and message of the five conditions.
    fn conditions(&self) -> [(&'static str, bool, &'static str, String); 5] {
        let content = match self.errors.as_slice() {
            [] => (
                false,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization".to_owned(),
            ),
            errors => {
                let text = if let [one] = errors {
                    one.clone()
                } else {
                    format!("[{}]", errors.join(", "))
                };
                let message = format!(
                    "Failed to delete all resource types, {} remaining: {text}",
                    errors.len()
                );
                (true, "ContentDeletionFailed", message)
            }
        };
        let list = |counts: &BTreeMap<String, usize>, how: &dyn Fn(&str, usize) -> String| {
            counts.iter().map(|(k, n)| how(k, *n)).collect::<Vec<_>>().join(", ")
        };
        let remaining = if self.counts.is_empty() {
            (false, "ContentRemoved", "All content successfully removed".to_owned())
        } else {
            let items = list(&self.counts, &|k, n| format!("{k} has {n} resource instances"));
            (
                true,
                "SomeResourcesRemain",
                format!("Some resources are remaining: {items}"),
            )
        };
        let finalizers = if self.finalizers.is_empty() {
            (
                false,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished".to_owned(),
            )
        } else {
            let items = list(&self.finalizers, &|k, n| format!("{k} in {n} resource instances"));
            (
                true,
                "SomeFinalizersRemain",
                format!("Some content in the namespace has finalizers remaining: {items}"),
            )
        };
        [
            (
                "NamespaceDeletionDiscoveryFailure",
                false,
                "ResourcesDiscovered",
                "All resources successfully discovered".to_owned(),
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                false,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed".to_owned(),
            ),
            ("NamespaceDeletionContentFailure", content.0, content.1, content.2),
            ("NamespaceContentRemaining", remaining.0, remaining.1, remaining.2),
            ("NamespaceFinalizersRemaining", finalizers.0, finalizers.1, finalizers.2),
        ]
    }

    /// Writes the conditions into a namespace's status; answers whether anything changed.
    fn write(&self, namespace: &mut Value, now: &str) -> bool {
        let mut conditions = namespace.items("status.conditions").to_vec();
        let mut changed = false;
        for (kind, status, reason, message) in self.conditions() {
            let status = if status { "True" } else { "False" };
            let old = conditions.iter_mut().find(|c| c.text("type") == kind);
            if old.as_ref().is_some_and(|c| {
                (c.text("status"), c.text("reason"), c.text("message")) == (status, reason, message.as_str())
            }) {
                continue;
            }
            changed = true;
            let since = match &old {
                Some(old) if old.text("status") == status => old.text("lastTransitionTime").to_owned(),
                _ => now.to_owned(),
            };
            let new = json!({
                "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
            });
            match old {
                Some(old) => *old = new,
                None => conditions.push(new),
            }
        }
        set(namespace, "status.conditions", conditions.into());
        changed
    }
}

impl Controller for Namespaces {
    type Key = Arc<str>;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, _: &Stored) -> bool {
        NAMESPACES.is(resource)
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Arc<str>>) {
        if seen.is(&NAMESPACES) {
            let name: Arc<str> = seen.object.name().into();
            let mut terminating = self.terminating.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.deleted {
                terminating.remove(&name);
            } else if seen.object.is_deleting() && terminating.insert(Arc::clone(&name)) {
                queue.add_after(name, GRACE);
            }
        } else if seen.deleted && self.is_terminating(seen.object.namespace()) {
            // While it is swept every deletion would wake it: one look after the last of a burst is enough.
            queue.add_after(seen.object.namespace().into(), Duration::from_millis(50));
        }
    }

    async fn reconcile(&self, name: &Arc<str>) -> Result<Next, ApiError> {
        let gvr = NAMESPACES.gvr();
        let mut namespace = match self.cx.loopback.get(&gvr, "", name).await {
            Ok(namespace) => namespace,
            Err(error) if error.code == 404 => return Ok(Next::Wait),
            Err(error) => return Err(error),
        };
        let finalized = |n: &Value| !n.items("spec.finalizers").iter().any(|f| f.as_str() == Some(FINALIZER));
        if !namespace.is_deleting() || finalized(&namespace) {
            return Ok(Next::Wait);
        }
        let asked = namespace
            .time("metadata.deletionTimestamp")
            .unwrap_or_else(|| self.cx.loopback.clock().now());
        let waited = self.cx.loopback.clock().now().duration_since(asked);
        let left = GRACE.saturating_sub(waited.try_into().unwrap_or(Duration::ZERO));
        // The stored time has whole seconds: what is left of the last one does not matter.
        if left > Duration::from_secs(1) {
            return Ok(Next::After(left));
        }
        let remains = self.sweep(&namespace).await;
        if remains.write(&mut namespace, &self.cx.loopback.clock().now_rfc3339()) {
            namespace = self.cx.loopback.update(&gvr, Some("status"), namespace).await?;
        }
        if remains.is_empty() {
            let kept: Vec<Value> = namespace
                .items("spec.finalizers")
                .iter()
                .filter(|f| f.as_str() != Some(FINALIZER))
                .cloned()
                .collect();
            set(
                &mut namespace,
                "spec.finalizers",
                if kept.is_empty() { Value::Null } else { kept.into() },
            );
            if !namespace.get("spec").is_some_and(Value::is_object) {
                namespace["spec"] = json!({});
            }
            match self.cx.loopback.update(&gvr, Some("finalize"), namespace).await {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        // What remains wakes this key when it is deleted; only a failed request needs another try.
        remains.failure.map_or(Ok(Next::Wait), Err)
    }
}
