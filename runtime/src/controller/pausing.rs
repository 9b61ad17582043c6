//! Shows on an object that it is paused: by a condition where its kind has them, by an event elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use serde_json::{Value, json};

use crate::cache::Cached;
use crate::client::{ClientError, Origin};
use crate::context::Shared;
use crate::declaration::Declared;
use crate::delta::Header;
use crate::diagnostics::{Base, WriteOutcome, WriteRecord};
use crate::events::{Event, EventType, Regarding};
use crate::key::ObjectKey;
use crate::pause::ANNOTATION;

/// Type and reason of the condition.
const TYPE: &str = "Paused";
const REASON: &str = "PausedByAnnotation";

/// The paused objects of one controller, and how they are shown.
#[derive(Debug)]
pub(super) struct Pausing {
    shared: Shared,
    manager: String,
    /// Whether the kind's status has conditions that several managers may set.
    has_conditions: bool,
    /// Objects whose pause was told.
    told: Mutex<BTreeSet<ObjectKey>>,
}

impl Pausing {
    pub(super) fn new(declared: &Declared, shared: &Shared) -> Self {
        Self {
            has_conditions: has_conditions(declared),
            manager: format!("{}-pause", shared.field_manager),
            shared: shared.clone(),
            told: Mutex::default(),
        }
    }

    /// Shows whether an object is paused, once for each change.
    pub(super) async fn show(
        &self,
        origin: &Origin,
        object: &Cached,
        paused: bool,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<(), ClientError> {
        let told = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(object.key());
        let mut by_event = !self.has_conditions;
        // The object itself says whether it shows the condition, as after a restart nothing else does.
        if self.has_conditions && paused != shows(object) {
            match self.condition(origin, object, paused, writes).await {
                Ok(()) => {}
                // The author keeps a condition of that type: theirs stays.
                Err(error) if error.is_conflict() => by_event = true,
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if by_event && paused != told {
            self.event(object.header(), paused);
        }
        self.note(object.key(), paused);
        Ok(())
    }

    /// The object is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.note(key, false);
    }

    fn note(&self, key: &ObjectKey, paused: bool) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if paused {
            told.insert(key.clone());
        } else {
            told.remove(key);
        }
    }

    /// Applies the condition, or an empty status, which takes it out again.
    async fn condition(
        &self,
        origin: &Origin,
        object: &Cached,
        paused: bool,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<(), ClientError> {
        let declared = &self.shared.declared;
        let (kind, header) = (&declared.primary, object.header());
        let mut body = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind(),
            "metadata": { "name": &*header.key.name, "uid": &*header.uid },
        });
        if let Some(namespace) = header.key.namespace() {
            body["metadata"]["namespace"] = namespace.into();
        }
        if paused {
            body["status"] = json!({ "conditions": [{
                "type": TYPE, "status": "True", "reason": REASON,
                "message": format!("neither reconciled nor cleaned up while it carries the annotation {ANNOTATION}"),
                "lastTransitionTime": self.shared.env.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }] });
            if let Some(generation) = header.generation {
                body["status"]["conditions"][0]["observedGeneration"] = generation.into();
            }
        }
        let bytes = body.to_string().into_bytes();
        let transport = &self.shared.transport;
        let sent = transport
            .apply(origin, kind, &header.key, Some("status"), bytes, &self.manager, false)
            .await;
        let outcome = match &sent {
            Ok(answer) => {
                let answer = Cached::parse(kind, answer.clone(), &self.manager).ok();
                let header = answer.as_ref().map(Cached::header);
                WriteOutcome::Sent {
                    uid: header.map(|header| Arc::clone(&header.uid)),
                    version: header.map(|header| Arc::from(&*header.version.as_str())),
                    based_on: Base::Unknown,
                }
            }
            Err(error) => WriteOutcome::Failed {
                message: error.to_string(),
            },
        };
        writes.push(WriteRecord {
            verb: "apply",
            kind: kind.clone(),
            key: header.key.clone(),
            subresource: Some("status"),
            outcome,
        });
        sent.map(drop)
    }

    fn event(&self, header: &Header, paused: bool) {
        let (reason, note) = if paused {
            (
                "Paused",
                format!("neither reconciled nor cleaned up while it carries the annotation {ANNOTATION}"),
            )
        } else {
            (
                "Resumed",
                format!("reconciled again: the annotation {ANNOTATION} is gone"),
            )
        };
        self.shared.recorder.record(Event {
            event_type: EventType::Normal,
            reason: reason.to_owned(),
            action: reason.to_owned(),
            note,
            regarding: Regarding {
                kind: self.shared.declared.primary.clone(),
                key: header.key.clone(),
                uid: Arc::clone(&header.uid),
            },
            related: None,
        });
    }
}

/// Whether the status shows our condition.
fn shows(object: &Cached) -> bool {
    if object.header().status_digest == 0 {
        return false;
    }
    let json = object.json();
    if memmem::find(&json, REASON.as_bytes()).is_none() {
        return false;
    }
    let object: Value = serde_json::from_slice(&json).unwrap_or_default();
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|condition| condition["type"] == TYPE && condition["reason"] == REASON)
    })
}

/// Whether the definition says that the conditions are a map by type: only then they can be set one by one.
fn has_conditions(declared: &Declared) -> bool {
    let Some(definition) = declared.crd else { return false };
    let definition = definition();
    let version = definition
        .spec
        .versions
        .iter()
        .find(|version| version.name == declared.primary.version());
    let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    let conditions = schema.and_then(|schema| {
        let status = schema.properties.as_ref()?.get("status")?;
        status.properties.as_ref()?.get("conditions")
    });
    conditions.is_some_and(|conditions| {
        conditions.x_kubernetes_list_type.as_deref() == Some("map")
            && conditions.x_kubernetes_list_map_keys.as_deref() == Some(&["type".to_owned()])
    })
}
