//! Events that controllers record on the objects they work on.
//!
//! Equal texts on one object raise a count; after nine different texts of one reason within ten minutes the rest are
//! combined; an object that produces more than 25 events at once is throttled to one in five minutes. The rules are
//! those of client-go's correlator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::kinds::EVENTS;
use super::object::Object;
use crate::error::ApiError;
use crate::loopback::Loopback;

/// Different texts of one reason that are shown one by one.
const DISTINCT: usize = 9;
/// How long texts are remembered.
const WINDOW: Duration = Duration::from_secs(600);
/// Events that an object may produce at once.
const BURST: f64 = 25.0;
/// Events per second beyond that.
const REFILL: f64 = 1.0 / 300.0;
/// Objects whose events are remembered.
const REMEMBERED: usize = 4096;

/// `Normal` or `Warning`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// What is expected to happen.
    Normal,
    /// What a person may want to look at.
    Warning,
}

/// Records events for one component. Never blocks; a writer task sends them.
#[derive(Clone, Debug)]
pub struct Recorder {
    component: &'static str,
    queue: mpsc::UnboundedSender<Occurrence>,
}

#[derive(Debug)]
struct Occurrence {
    component: &'static str,
    involved: Value,
    severity: &'static str,
    reason: &'static str,
    message: String,
}

/// Sends what recorders record.
#[derive(Debug)]
pub struct Writer {
    loopback: Loopback,
    queue: mpsc::UnboundedReceiver<Occurrence>,
    correlator: Correlator,
    written: u64,
}

/// A recorder and the writer that has to be run for it.
#[must_use]
pub fn pair(loopback: &Loopback) -> (Recorder, Writer) {
    let (sender, queue) = mpsc::unbounded_channel();
    let loopback = loopback.as_manager("kube-controller-manager");
    (
        Recorder {
            component: "",
            queue: sender,
        },
        Writer {
            loopback,
            queue,
            correlator: Correlator::default(),
            written: 0,
        },
    )
}

impl Recorder {
    /// The same recorder under a component's name.
    #[must_use]
    pub fn named(&self, component: &'static str) -> Self {
        Self {
            component,
            queue: self.queue.clone(),
        }
    }

    /// Records an event on `object`, with its resourceVersion as the involved one.
    pub fn record(&self, object: &Value, severity: Severity, reason: &'static str, message: impl Into<String>) {
        let mut involved = reference(object);
        involved["resourceVersion"] = object.text("metadata.resourceVersion").into();
        self.record_on(involved, severity, reason, message);
    }

    /// Records a `Normal` event on `object`.
    pub fn normal(&self, object: &Value, reason: &'static str, message: impl Into<String>) {
        self.record(object, Severity::Normal, reason, message);
    }

    /// Records a `Warning` event on `object`.
    pub fn warning(&self, object: &Value, reason: &'static str, message: impl Into<String>) {
        self.record(object, Severity::Warning, reason, message);
    }

    /// Records an event on what an ObjectReference names.
    pub fn record_on(&self, involved: Value, severity: Severity, reason: &'static str, message: impl Into<String>) {
        let severity = match severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        // The writer is gone only when the server stops.
        let _ = self.queue.send(Occurrence {
            component: self.component,
            involved,
            severity,
            reason,
            message: message.into(),
        });
    }
}

/// The ObjectReference of an object, without its resourceVersion.
#[must_use]
pub fn reference(object: &Value) -> Value {
    let mut reference = json!({
        "kind": object.text("kind"),
        "apiVersion": object.text("apiVersion"),
        "name": object.name(),
        "uid": object.uid(),
    });
    if !object.namespace().is_empty() {
        reference["namespace"] = object.namespace().into();
    }
    reference
}

impl Writer {
    /// Sends events until the last recorder is dropped.
    pub async fn run(mut self) {
        while let Some(occurrence) = self.queue.recv().await {
            if let Err(error) = self.write(&occurrence).await {
                // A namespace that is being deleted takes no events; nobody is there to read them.
                tracing::debug!(reason = occurrence.reason, "an event was not stored: {}", error.message);
            }
        }
    }

    async fn write(&mut self, occurrence: &Occurrence) -> Result<(), ApiError> {
        let Some(seen) = self.correlator.observe(occurrence, Instant::now()) else {
            return Ok(());
        };
        let now = self.loopback.clock().now_rfc3339();
        let namespace = match occurrence.involved.text("namespace") {
            "" => "default",
            namespace => namespace,
        };
        if let Some(name) = seen.stored {
            let patch = json!({ "count": seen.count, "lastTimestamp": now, "message": seen.message });
            match self
                .loopback
                .merge_patch(&EVENTS.gvr(), None, namespace, &name, patch)
                .await
            {
                Err(error) if error.code == 404 => {} // it expired or was deleted: write a new one
                other => return other.map(drop),
            }
        }
        self.written += 1;
        let nanos = u64::try_from(self.loopback.clock().now().as_nanosecond()).unwrap_or(0);
        // The name ends in the time; the counter keeps names apart while a paused clock stands still.
        let name = format!(
            "{}.{:016x}",
            occurrence.involved.text("name"),
            nanos.wrapping_add(self.written)
        );
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "involvedObject": occurrence.involved,
            "reason": occurrence.reason,
            "message": seen.message,
            "source": { "component": occurrence.component },
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": seen.count,
            "type": occurrence.severity,
            "eventTime": null,
            "reportingComponent": occurrence.component,
            "reportingInstance": "",
        });
        self.loopback.create(&EVENTS.gvr(), namespace, event).await?;
        self.correlator.stored(seen.key, name);
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Correlator {
    groups: BTreeMap<Arc<str>, Group>,
    budgets: BTreeMap<String, (f64, Instant)>,
}

/// The texts of one component, object, type and reason.
#[derive(Debug)]
struct Group {
    texts: BTreeSet<String>,
    last: Instant,
    stored: BTreeMap<String, (String, u64)>,
}

#[derive(Debug)]
struct Observed {
    key: (Arc<str>, String),
    message: String,
    count: u64,
    stored: Option<String>,
}

impl Correlator {
    /// How an occurrence shows, or none if its object produces too many.
    fn observe(&mut self, o: &Occurrence, now: Instant) -> Option<Observed> {
        let object = format!("{} {}", o.component, o.involved.text("uid"));
        let (tokens, last) = self.budgets.get(&object).copied().unwrap_or((BURST, now));
        let tokens = (tokens + (now - last).as_secs_f64() * REFILL).min(BURST);
        let allowed = tokens >= 1.0;
        self.budgets
            .insert(object.clone(), (if allowed { tokens - 1.0 } else { tokens }, now));
        if self.budgets.len() > REMEMBERED {
            self.budgets.retain(|_, (_, last)| now - *last < WINDOW);
        }
        if self.groups.len() > REMEMBERED {
            self.groups.retain(|_, group| now - group.last < WINDOW);
        }
        let key: Arc<str> = format!("{object} {} {}", o.severity, o.reason).into();
        let group = self.groups.entry(Arc::clone(&key)).or_insert_with(|| Group {
            texts: BTreeSet::new(),
            last: now,
            stored: BTreeMap::new(),
        });
        if now - group.last > WINDOW {
            group.texts.clear();
        }
        group.last = now;
        let combined = !group.texts.contains(&o.message) && group.texts.len() >= DISTINCT;
        let (slot, message) = if combined {
            (String::new(), format!("(combined from similar events): {}", o.message))
        } else {
            group.texts.insert(o.message.clone());
            (o.message.clone(), o.message.clone())
        };
        let entry = group.stored.entry(slot.clone()).or_insert_with(|| (String::new(), 0));
        entry.1 += 1;
        let stored = (!entry.0.is_empty()).then(|| entry.0.clone());
        allowed.then_some(Observed {
            key: (key, slot),
            message,
            count: entry.1,
            stored,
        })
    }

    fn stored(&mut self, (group, slot): (Arc<str>, String), name: String) {
        if let Some(entry) = self.groups.get_mut(&group).and_then(|g| g.stored.get_mut(&slot)) {
            entry.0 = name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(message: &str) -> Occurrence {
        Occurrence {
            component: "c",
            involved: json!({"name": "o", "uid": "u"}),
            severity: "Normal",
            reason: "R",
            message: message.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn equal_texts_are_counted_and_many_different_ones_combined() {
        let mut correlator = Correlator::default();
        let mut see = |m: &str| correlator.observe(&occurrence(m), Instant::now()).expect("allowed");
        assert_eq!(see("0").count, 1);
        assert_eq!(see("0").count, 2);
        for i in 1..9 {
            assert_eq!(see(&i.to_string()).message, i.to_string());
        }
        assert_eq!(see("9").message, "(combined from similar events): 9");
        assert_eq!(see("10").count, 2);
        assert_eq!(see("0").count, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_produces_many_events_is_throttled() {
        let mut correlator = Correlator::default();
        for _ in 0..25 {
            assert!(correlator.observe(&occurrence("x"), Instant::now()).is_some());
        }
        assert!(correlator.observe(&occurrence("x"), Instant::now()).is_none());
        tokio::time::advance(Duration::from_secs(301)).await;
        assert!(correlator.observe(&occurrence("x"), Instant::now()).is_some());
    }
}
