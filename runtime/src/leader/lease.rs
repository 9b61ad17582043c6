//! A Lease as JSON, so that fields of others and of later versions survive our updates.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// A Lease object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lease(pub(super) Value);

impl Lease {
    /// A Lease that does not exist yet.
    pub(super) fn named(name: &str, namespace: &str) -> Self {
        Self(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": name, "namespace": namespace },
            "spec": {},
        }))
    }

    /// Who holds it; `None` when nobody does.
    pub(super) fn holder(&self) -> Option<&str> {
        self.spec("holderIdentity")
            .and_then(Value::as_str)
            .filter(|holder| !holder.is_empty())
    }

    /// The value of an annotation.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.0["metadata"]["annotations"][name].as_str()
    }

    /// How long it is valid after a renewal; `otherwise` where it does not say.
    pub(super) fn duration(&self, otherwise: Duration) -> Duration {
        self.spec("leaseDurationSeconds")
            .and_then(Value::as_u64)
            .map_or(otherwise, Duration::from_secs)
    }

    /// How often it changed hands.
    pub(super) fn transitions(&self) -> u64 {
        self.spec("leaseTransitions").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Whether it was read from, or written to, the server: an update needs its version.
    pub(super) fn has_version(&self) -> bool {
        self.0["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|version| !version.is_empty())
    }

    /// Makes the next update read first.
    pub(super) fn forget_version(&mut self) {
        if let Some(metadata) = self.0.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
    }

    /// Whether the parts that tell of a renewal are the same.
    pub(super) fn same_term(&self, other: &Self) -> bool {
        [
            "holderIdentity",
            "renewTime",
            "acquireTime",
            "leaseTransitions",
            "leaseDurationSeconds",
        ]
        .iter()
        .all(|field| self.spec(field) == other.spec(field))
    }

    /// The Lease as `identity` holds it from now on.
    pub(super) fn held_by(&self, identity: &str, duration: Duration, now: Timestamp) -> Self {
        let mut held = self.clone();
        let renewal = self.holder() == Some(identity);
        held.set("holderIdentity", json!(identity));
        held.set("leaseDurationSeconds", json!(duration.as_secs().max(1)));
        held.set("renewTime", json!(micro_time(now)));
        if !renewal {
            held.set("acquireTime", json!(micro_time(now)));
            // The first holder is no transition, as with client-go.
            let changes_hands = self.spec("acquireTime").is_some();
            held.set("leaseTransitions", json!(self.transitions() + u64::from(changes_hands)));
        }
        held
    }

    /// The Lease given back: free at once.
    pub(super) fn released(&self, now: Timestamp) -> Self {
        let mut released = self.clone();
        released.set("holderIdentity", json!(""));
        released.set("leaseDurationSeconds", json!(1));
        released.set("renewTime", json!(micro_time(now)));
        released.set("acquireTime", json!(micro_time(now)));
        released
    }

    fn spec(&self, field: &str) -> Option<&Value> {
        self.0.get("spec")?.get(field).filter(|value| !value.is_null())
    }

    fn set(&mut self, field: &str, value: Value) {
        if !self.0["spec"].is_object() {
            self.0["spec"] = json!({});
        }
        self.0["spec"][field] = value;
    }
}

/// `metav1.MicroTime`: six digits after the second, always.
fn micro_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_even_on_the_second() {
        let at: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
        assert_eq!(micro_time(at), "2026-01-02T03:04:05.000000Z");
    }

    #[test]
    fn holding_keeps_what_others_wrote_and_counts_transitions() {
        let now: Timestamp = "2026-01-02T03:04:05.25Z".parse().expect("a time");
        let mut lease = Lease::named("op", "ns");
        lease.0["spec"]["strategy"] = json!("OldestEmulationVersion");
        lease.0["metadata"]["labels"] = json!({ "team": "x" });
        let first = lease.held_by("a", Duration::from_secs(15), now);
        assert_eq!((first.holder(), first.transitions()), (Some("a"), 0));
        let renewed = first.held_by("a", Duration::from_secs(15), now);
        assert_eq!(renewed.transitions(), 0);
        let taken = renewed.released(now).held_by("b", Duration::from_secs(15), now);
        assert_eq!((taken.holder(), taken.transitions()), (Some("b"), 1));
        assert_eq!(taken.0["spec"]["strategy"], "OldestEmulationVersion");
        assert_eq!(taken.0["metadata"]["labels"]["team"], "x");
        assert_eq!(taken.0["spec"]["renewTime"], "2026-01-02T03:04:05.250000Z");
    }
}
