//! Holding reconciles back by an annotation, while the operator runs on.
//!
//! - An object that carries `kubewright.dev/paused: "true"` is neither reconciled nor cleaned up, until the annotation is
//!   taken off. Its status shows the condition `Paused` where its kind has conditions as a map by type; otherwise an
//!   event tells. Anything but `false` pauses.
//! - A kind is paused by the same annotation on the operator's Lease; its value names kinds by plural and group, separated
//!   by commas, or all of them: `kubectl annotate lease app-operator kubewright.dev/paused=apps.demo.dev`. The Lease is
//!   what every replica reads all the time, so this needs no further right. Running reconciles end; what is woken
//!   meanwhile runs afterwards. `/statusz` and the metric `kubewright_paused` show it. Without leader election there is
//!   no Lease: stop the operator instead.
//!
//! The annotation passes every filter.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::cache::{Cached, Cursor, JsonError};
use crate::delta::Delta;
use crate::kind::Kind;

/// The annotation that pauses.
pub const ANNOTATION: &str = "kubewright.dev/paused";

/// The kinds that are not reconciled for now. Clones share it.
#[derive(Clone, Default)]
pub struct PausedKinds(Arc<Inner>);

#[derive(Default)]
struct Inner {
    names: Mutex<BTreeSet<String>>,
    changed: Notify,
}

impl PausedKinds {
    /// Takes in the value of the annotation on the Lease.
    pub fn set(&self, annotation: Option<&str>) {
        let names: BTreeSet<String> = annotation
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty() && *name != "false")
            .map(str::to_owned)
            .collect();
        let before = std::mem::replace(&mut *self.names(), names.clone());
        if before == names {
            return;
        }
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        if names.is_empty() {
            tracing::info!("reconciling goes on: {}", list(&before));
        } else {
            tracing::warn!("paused by the annotation `{ANNOTATION}` on the Lease: {}", list(&names));
        }
        self.0.changed.notify_waiters();
    }

    /// Whether a kind is paused.
    #[must_use]
    pub fn covers(&self, kind: &Kind) -> bool {
        let names = self.names();
        if names.is_empty() {
            return false;
        }
        let group = kind.group();
        let dot = if group.is_empty() { "" } else { "." };
        names.contains("*") || names.contains("true") || names.contains(&format!("{}{dot}{group}", kind.plural()))
    }

    /// Returns when a kind is not paused.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn resumed(&self, kind: &Kind) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.covers(kind) {
                return;
            }
            changed.await;
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PausedKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PausedKinds").field(&*self.names()).finish()
    }
}

/// Whether an object carries the annotation.
pub(crate) fn is_paused(object: &Cached) -> bool {
    // Most objects have no annotations, and their bodies are left alone.
    object.header().annotations_digest != 0 && annotation(&object.json()).is_ok_and(|found| found)
}

/// Whether a change pauses an object, or lets it go on.
pub(crate) fn changes(delta: &Delta) -> bool {
    match (delta.old_cached(), delta.new_cached()) {
        (Some(old), Some(new)) if old.header().annotations_digest != new.header().annotations_digest => {
            is_paused(old) != is_paused(new)
        }
        _ => false,
    }
}

/// Whether the metadata of an object, as JSON, holds the annotation with any value but `false`.
fn annotation(object: &[u8]) -> Result<bool, JsonError> {
    let mut paused = false;
    Cursor::new(object).members(|name, value| {
        if name != b"metadata" {
            return value.skip().map(drop);
        }
        value.members(|name, value| {
            if name != b"annotations" || value.is_null() {
                return value.skip().map(drop);
            }
            value.members(|name, value| {
                if name == ANNOTATION.as_bytes() {
                    paused = value.text()?.is_some_and(|text| text != "false");
                    Ok(())
                } else {
                    value.skip().map(drop)
                }
            })
        })
    })?;
    Ok(paused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_by_plural_and_group_or_all_at_once() {
        let paused = PausedKinds::default();
        let app = Kind::new("demo.dev", "v1", "App", "apps", true);
        let map = Kind::new("", "v1", "ConfigMap", "configmaps", true);
        for (value, expected) in [
            (None, (false, false)),
            (Some("apps.demo.dev"), (true, false)),
            (Some(" configmaps , x.dev"), (false, true)),
            (Some("*"), (true, true)),
            (Some("true"), (true, true)),
            (Some("false"), (false, false)),
            (Some("apps"), (false, false)),
        ] {
            paused.set(value);
            assert_eq!((paused.covers(&app), paused.covers(&map)), expected, "{value:?}");
        }
    }

    #[test]
    fn the_annotation_is_found_among_others_and_nowhere_else() {
        let with = |annotations: &str| {
            let text =
                format!(r#"{{"spec":{{"{ANNOTATION}":"x"}},"metadata":{{"name":"a","annotations":{annotations}}}}}"#);
            annotation(text.as_bytes()).expect("valid")
        };
        assert!(with(&format!(r#"{{"a":"b","{ANNOTATION}":"true"}}"#)));
        assert!(with(&format!(r#"{{"{ANNOTATION}":""}}"#)));
        assert!(!with(&format!(r#"{{"{ANNOTATION}":"false"}}"#)));
        assert!(!with(r#"{"a":"b"}"#) && !with("null") && !with("{}"));
    }
}
