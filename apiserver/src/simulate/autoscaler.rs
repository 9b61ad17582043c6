//! HorizontalPodAutoscalers without a metrics server: the bounds are kept, everything else is told to be unknown.
//!
//! A real controller looks every 15 s and says the same each time; this one looks again once after it scaled, and then
//! when the autoscaler or its target changes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::kinds::{AUTOSCALERS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS};
use crate::controllers::object::{Key, Object, set};
use crate::controllers::queue::Queue;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;

/// How often a real controller looks.
const PERIOD: Duration = Duration::from_secs(15);

/// The autoscaling controller.
pub struct Autoscalers {
    cx: Cx,
}

/// What a target is scaled to.
struct Scale {
    resource: std::sync::Arc<Resource>,
    wanted: i64,
    present: i64,
}

impl Autoscalers {
    /// A controller that knows of no autoscaler yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self { cx }
    }

    async fn scale(&self, autoscaler: &Value) -> Result<Scale, String> {
        let target = autoscaler.at("spec.scaleTargetRef").cloned().unwrap_or_default();
        let api_version = target.text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let catalog = self.cx.loopback.catalog();
        let resource = catalog
            .by_kind(group, version, target.text("kind"))
            .filter(|r| r.subresource("scale").is_some())
            .ok_or_else(|| format!("no matches for kind {:?} in group {group:?}", target.text("kind")))?;
        let object = self
            .cx
            .loopback
            .get(&resource.gvr(), autoscaler.namespace(), target.text("name"))
            .await;
        let object = object.map_err(|e| e.message)?;
        let paths = resource.custom.as_ref().and_then(|c| c.scale.clone());
        let path = |field: &str, default: &str| {
            let own = paths.as_ref().map(|p| p.text(field).trim_start_matches('.').to_owned());
            own.filter(|p| !p.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        let wanted = object.int(&path("specReplicasPath", "spec.replicas")).unwrap_or(0);
        let present = object.int(&path("statusReplicasPath", "status.replicas")).unwrap_or(0);
        Ok(Scale {
            resource,
            wanted,
            present,
        })
    }

    /// The size that the bounds ask for, with the reason, if the present one is outside.
    fn bounded(autoscaler: &Value, wanted: i64) -> Option<(i64, &'static str)> {
        let least = autoscaler.int("spec.minReplicas").unwrap_or(1);
        let most = autoscaler.int("spec.maxReplicas").unwrap_or(i64::MAX);
        if wanted > most {
            Some((most, "Current number of replicas above Spec.MaxReplicas"))
        } else if wanted < least {
            Some((least, "Current number of replicas below Spec.MinReplicas"))
        } else {
            None
        }
    }

    fn put(&self, autoscaler: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
        let mut conditions = autoscaler.items("status.conditions").to_vec();
        let old = conditions.iter_mut().find(|c| c.text("type") == kind);
        let since = match &old {
            Some(old) if old.text("status") == status => old.text("lastTransitionTime").to_owned(),
            _ => self.cx.loopback.clock().now_rfc3339(),
        };
        let new = json!({
            "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
        });
        match old {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
        set(autoscaler, "status.conditions", conditions.into());
    }

    /// Tells that the metrics cannot be had.
    fn lack_metrics(&self, autoscaler: &mut Value) {
        let metrics = autoscaler.items("spec.metrics").to_vec();
        let Some(first) = metrics.first() else { return };
        let (reason, what) = missing(first);
        let text = format!("the HPA was unable to compute the replica count: {what}");
        self.put(autoscaler, "ScalingActive", "False", reason, &text);
        self.cx.events.warning(autoscaler, reason, what.clone());
        let value = if first.text("type") == "Resource" {
            format!(
                "failed to get {} resource metric value: {what}",
                first.text("resource.name")
            )
        } else {
            what
        };
        let text = format!(
            "invalid metrics ({0} invalid out of {0}), first error is: {value}",
            metrics.len()
        );
        self.cx.events.warning(autoscaler, "FailedComputeMetricsReplicas", text);
        let blank: Vec<Value> = metrics.iter().map(|_| json!({ "type": "" })).collect();
        set(autoscaler, "status.currentMetrics", blank.into());
    }
}

/// Why a metric cannot be had: reason and text.
fn missing(metric: &Value) -> (&'static str, String) {
    let resource = "unable to fetch metrics from resource metrics API: the server could not find the requested resource \
                    (get pods.metrics.k8s.io)";
    let custom = "unable to fetch metrics from custom metrics API: the server could not find the requested resource";
    let external =
        "unable to fetch metrics from external metrics API: the server could not find the requested resource";
    match metric.text("type") {
        "Resource" => {
            let name = metric.text("resource.name");
            let how = if metric.text("resource.target.type") == "Utilization" {
                "utilization"
            } else {
                "usage"
            };
            let text = format!("failed to get {name} {how}: unable to get metrics for resource {name}: {resource}");
            ("FailedGetResourceMetric", text)
        }
        "ContainerResource" => {
            let name = metric.text("containerResource.name");
            let text =
                format!("failed to get {name} utilization: unable to get metrics for resource {name}: {resource}");
            ("FailedGetContainerResourceMetric", text)
        }
        "Pods" => {
            let name = metric.text("pods.metric.name");
            ("FailedGetPodsMetric", format!("unable to get metric {name}: {custom}"))
        }
        "Object" => {
            let name = metric.text("object.metric.name");
            (
                "FailedGetObjectMetric",
                format!("unable to get metric {name}: {custom}"),
            )
        }
        _ => {
            let name = metric.text("external.metric.name");
            (
                "FailedGetExternalMetric",
                format!("unable to get external metric {name}: {external}"),
            )
        }
    }
}

impl Controller for Autoscalers {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&AUTOSCALERS) {
            let changed = seen.old.is_none_or(|old| old.get("spec") != seen.object.get("spec"));
            if changed && !seen.deleted {
                queue.add(Key::of(seen.object));
            }
        } else if [&DEPLOYMENTS, &STATEFUL_SETS, &REPLICA_SETS]
            .into_iter()
            .any(|k| seen.is(k))
        {
            let size = |o: &Value| (o.int("spec.replicas"), o.int("status.replicas"));
            if seen.old.is_some_and(|old| size(old) == size(seen.object)) {
                return;
            }
            for autoscaler in self.cx.cache.list(&AUTOSCALERS, seen.object.namespace()) {
                let target = autoscaler.at("spec.scaleTargetRef");
                let ours = |t: &Value| t.text("kind") == seen.resource.kind && t.text("name") == seen.object.name();
                if target.is_some_and(ours) {
                    queue.add_after(Key::of(&autoscaler), PERIOD);
                }
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(stored) = self.cx.cache.get(&AUTOSCALERS, key) else {
            return Ok(Next::Wait);
        };
        let mut autoscaler = (*stored).clone();
        let mut next = Next::Wait;
        match self.scale(&autoscaler).await {
            Err(error) => {
                let text = format!("the HPA controller was unable to get the target's current scale: {error}");
                self.put(&mut autoscaler, "AbleToScale", "False", "FailedGetScale", &text);
                self.cx.events.warning(&autoscaler, "FailedGetScale", error);
            }
            Ok(scale) => {
                set(&mut autoscaler, "status.currentReplicas", scale.present.into());
                if scale.wanted == 0 {
                    let text = "scaling is disabled since the replica count of the target is zero";
                    self.put(&mut autoscaler, "ScalingActive", "False", "ScalingDisabled", text);
                    set(&mut autoscaler, "status.desiredReplicas", 0.into());
                } else if let Some((size, why)) = Self::bounded(&autoscaler, scale.wanted) {
                    let patch = json!({ "spec": { "replicas": size } });
                    let target = autoscaler.text("spec.scaleTargetRef.name").to_owned();
                    let gvr = scale.resource.gvr();
                    self.cx
                        .loopback
                        .merge_patch(&gvr, Some("scale"), autoscaler.namespace(), &target, patch)
                        .await?;
                    let text = format!("the HPA controller was able to update the target scale to {size}");
                    self.put(&mut autoscaler, "AbleToScale", "True", "SucceededRescale", &text);
                    self.cx.events.normal(
                        &autoscaler,
                        "SuccessfulRescale",
                        format!("New size: {size}; reason: {why}"),
                    );
                    set(&mut autoscaler, "status.desiredReplicas", size.into());
                    let now = self.cx.loopback.clock().now_rfc3339();
                    set(&mut autoscaler, "status.lastScaleTime", now.into());
                    next = Next::After(PERIOD);
                } else {
                    let text = "the HPA controller was able to get the target's current scale";
                    self.put(&mut autoscaler, "AbleToScale", "True", "SucceededGetScale", text);
                    self.lack_metrics(&mut autoscaler);
                }
            }
        }
        if autoscaler.get("status") != stored.get("status") {
            match self
                .cx
                .loopback
                .update(&AUTOSCALERS.gvr(), Some("status"), autoscaler)
                .await
            {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(next)
    }
}
