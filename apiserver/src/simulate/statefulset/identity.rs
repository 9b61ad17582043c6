//! The identity of a StatefulSet's pods: ordinal, name, labels, host name, volumes.

use serde_json::{Value, json};

use super::{Work, claim_name};
use crate::controllers::kinds::STATEFUL_SETS;
use crate::controllers::object::{Object, add_label};
use crate::simulate::{pods, revisions};

/// The ordinal in a pod's name, if it is one of the set's.
pub(super) fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let text = pod.name().strip_prefix(set.name())?.strip_prefix('-')?;
    let canonical = text == "0" || !text.starts_with('0');
    (canonical && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

impl Work<'_> {
    /// The pod of an ordinal, made from a revision's template.
    pub(super) fn new_pod(&self, ordinal: i64, revision: &Value) -> Value {
        let name = format!("{}-{ordinal}", self.set.name());
        let mut pod = pods::from_template(&revisions::template(revision), &self.set, &STATEFUL_SETS);
        pod["metadata"]["name"] = name.clone().into();
        pod["metadata"]["generateName"] = format!("{}-", self.set.name()).into();
        pod["metadata"]["namespace"] = self.set.namespace().into();
        add_label(&mut pod, "statefulset.kubernetes.io/pod-name", &name);
        add_label(&mut pod, "apps.kubernetes.io/pod-index", &ordinal.to_string());
        add_label(&mut pod, "controller-revision-hash", revision.name());
        pod["spec"]["hostname"] = name.clone().into();
        if !self.set.text("spec.serviceName").is_empty() {
            pod["spec"]["subdomain"] = self.set.text("spec.serviceName").into();
        }
        let templates = self.set.items("spec.volumeClaimTemplates");
        if !templates.is_empty() {
            let claimed = |t: &Value| {
                let claim = claim_name(t, &name);
                json!({ "name": t.name(), "persistentVolumeClaim": { "claimName": claim } })
            };
            let mut volumes: Vec<Value> = templates.iter().map(claimed).collect();
            let others = pod
                .items("spec.volumes")
                .iter()
                .filter(|v| !templates.iter().any(|t| t.name() == v.text("name")));
            volumes.extend(others.cloned());
            pod["spec"]["volumes"] = volumes.into();
        }
        pod
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ordinals_after_the_sets_name_count() {
        let set = json!({"metadata": {"name": "db"}});
        let of = |name: &str| ordinal(&set, &json!({"metadata": {"name": name}}));
        assert_eq!(of("db-10"), Some(10));
        assert_eq!(of("db-01"), None);
        assert_eq!(of("db-x"), None);
        assert_eq!(of("db2-1"), None);
    }
}
