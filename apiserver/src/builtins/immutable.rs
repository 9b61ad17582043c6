//! What an update may not change.

use serde_json::{Value, json};

use super::rules::find;
use crate::error::Cause;

/// One restriction of a kind.
enum Rule {
    /// The field stays: `field is immutable`.
    Keep(&'static str),
    /// The field stays, and the refusal says why.
    Forbid(&'static str, &'static str),
    /// The field stays once `immutable` is true.
    KeepWhenImmutable(&'static str),
    /// All of `spec` stays but these fields; the refusal stands at `spec`.
    SpecBut(&'static [&'static str], &'static str),
    /// What depends on more.
    With(fn(&Value, &Value, &mut Vec<Cause>)),
}

use Rule::{Forbid, Keep, KeepWhenImmutable, SpecBut, With};

const TABLE: &[(&str, &[Rule])] = &[
    ("Deployment", &[Keep("spec.selector")]),
    ("ReplicaSet", &[Keep("spec.selector")]),
    ("DaemonSet", &[Keep("spec.selector")]),
    (
        "StatefulSet",
        &[SpecBut(
            &[
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ],
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )],
    ),
    (
        "Job",
        &[
            Keep("spec.completions"),
            Keep("spec.selector"),
            With(job_template),
            Keep("spec.completionMode"),
            Keep("spec.podFailurePolicy"),
            Keep("spec.backoffLimitPerIndex"),
            Keep("spec.managedBy"),
        ],
    ),
    ("Pod", &[With(pod)]),
    ("Service", &[With(cluster_address)]),
    (
        "Secret",
        &[Keep("type"), KeepWhenImmutable("data"), With(stays_immutable)],
    ),
    (
        "ConfigMap",
        &[
            KeepWhenImmutable("data"),
            KeepWhenImmutable("binaryData"),
            With(stays_immutable),
        ],
    ),
    ("PersistentVolumeClaim", &[With(claim)]),
    ("PersistentVolume", &[With(volume_source)]),
    (
        "StorageClass",
        &[
            Keep("parameters"),
            Keep("provisioner"),
            Keep("reclaimPolicy"),
            Keep("volumeBindingMode"),
        ],
    ),
    ("RoleBinding", &[With(role_ref)]),
    ("ClusterRoleBinding", &[With(role_ref)]),
    (
        "PriorityClass",
        &[
            Forbid("value", "may not be changed in an update."),
            Keep("preemptionPolicy"),
        ],
    ),
    ("IngressClass", &[Keep("spec.controller")]),
    ("EndpointSlice", &[Keep("addressType")]),
    ("ControllerRevision", &[Keep("data")]),
    ("RuntimeClass", &[Keep("handler")]),
    (
        "CSIDriver",
        &[
            Keep("spec.attachRequired"),
            Keep("spec.fsGroupPolicy"),
            Keep("spec.volumeLifecycleModes"),
        ],
    ),
    ("CSIStorageCapacity", &[Keep("nodeTopology"), Keep("storageClassName")]),
    ("VolumeAttachment", &[Keep("spec")]),
    ("PodTemplate", &[]),
];

/// What an update of an object changes although it may not.
pub(super) fn violations(kind: &str, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some((_, rules)) = TABLE.iter().find(|(name, _)| *name == kind) else {
        return causes;
    };
    for rule in *rules {
        match rule {
            Keep(path) => {
                if at(new, path) != at(old, path) {
                    causes.push(Cause::invalid(*path, at(new, path), "field is immutable"));
                }
            }
            Forbid(path, why) => {
                if at(new, path) != at(old, path) {
                    causes.push(Cause::forbidden(*path, why));
                }
            }
            KeepWhenImmutable(path) => {
                if old["immutable"] == true && at(new, path) != at(old, path) {
                    causes.push(Cause::forbidden(*path, "field is immutable when `immutable` is set"));
                }
            }
            SpecBut(fields, why) => {
                if without(&new["spec"], fields) != without(&old["spec"], fields) {
                    causes.push(Cause::forbidden("spec", why));
                }
            }
            With(check) => check(new, old, &mut causes),
        }
    }
    causes
}

fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    object
        .as_object()
        .and_then(|map| find(map, path))
        .unwrap_or(&Value::Null)
}

fn without(spec: &Value, fields: &[&str]) -> Value {
    let mut spec = spec.clone();
    if let Some(map) = spec.as_object_mut() {
        map.retain(|key, _| !fields.contains(&key.as_str()));
    }
    spec
}

fn stays_immutable(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if old["immutable"] == true && new["immutable"] != true {
        causes.push(Cause::forbidden(
            "immutable",
            "field is immutable when `immutable` is set",
        ));
    }
}

/// A job's template stays, but for where and how a suspended job's pods may run.
fn job_template(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let started = !old["status"]["startTime"].is_null();
    let mut relaxed = new["spec"]["template"].clone();
    if old["spec"]["suspend"] == true && !started {
        for path in [
            "metadata",
            "spec.nodeSelector",
            "spec.tolerations",
            "spec.affinity",
            "spec.schedulingGates",
        ] {
            copy(&mut relaxed, &old["spec"]["template"], path);
        }
    }
    if relaxed != old["spec"]["template"] {
        causes.push(Cause::invalid(
            "spec.template",
            &new["spec"]["template"],
            "field is immutable",
        ));
    }
}

fn copy(to: &mut Value, from: &Value, path: &str) {
    let (parent, last) = path
        .rsplit_once('.')
        .map_or((None, path), |(parent, last)| (Some(parent), last));
    let (to, from) = match parent {
        Some(parent) => (to.get_mut(parent), &from[parent]),
        None => (Some(to), from),
    };
    let Some(map) = to.and_then(Value::as_object_mut) else {
        return;
    };
    match from.get(last) {
        Some(value) => map.insert(last.to_owned(), value.clone()),
        None => map.remove(last),
    };
}

const POD_FIELDS: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Of a pod, images may change, deadlines shrink and tolerations grow.
fn pod(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let (after, before) = (&new["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| spec[list].as_array().map_or(0, Vec::len);
        if count(after) != count(before) {
            causes.push(Cause::forbidden(
                format!("spec.{list}"),
                "pod updates may not add or remove containers",
            ));
            return;
        }
    }
    let deadline = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (deadline(after), deadline(before)) {
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", &Value::Null, why));
        }
        (Some(n), Some(o)) if n > o => {
            let why = "must be less than or equal to previous value";
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", &n.into(), why));
        }
        _ => {}
    }
    let tolerations = |spec: &Value| spec["tolerations"].as_array().cloned().unwrap_or_default();
    let kept = tolerations(after);
    if tolerations(before)
        .iter()
        .any(|old| !kept.iter().any(|new| same_toleration(new, old)))
    {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    if !causes.is_empty() {
        return;
    }
    let mut relaxed = after.clone();
    for field in ["activeDeadlineSeconds", "tolerations"] {
        copy(&mut relaxed, before, field);
    }
    if before["terminationGracePeriodSeconds"].as_i64().is_some_and(|n| n < 0)
        && after["terminationGracePeriodSeconds"] == 1
    {
        copy(&mut relaxed, before, "terminationGracePeriodSeconds");
    }
    if before["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        for field in ["schedulingGates", "nodeSelector", "affinity"] {
            copy(&mut relaxed, before, field);
        }
    }
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> = before[list]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| c["image"].clone())
            .collect();
        let containers = relaxed.get_mut(list).and_then(Value::as_array_mut);
        for (container, image) in containers.into_iter().flatten().zip(images) {
            container["image"] = image;
        }
    }
    if relaxed != *before {
        causes.push(Cause::forbidden("spec", POD_FIELDS));
    }
}

fn same_toleration(a: &Value, b: &Value) -> bool {
    ["key", "operator", "value", "effect"]
        .iter()
        .all(|field| a[*field] == b[*field])
}

fn cluster_address(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let address = |service: &Value| service["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
    let external = |service: &Value| service["spec"]["type"] == "ExternalName";
    if external(new) || external(old) || address(old).is_empty() {
        return;
    }
    if address(new) != address(old) {
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            &json!([address(new)]),
            "may not change once set",
        ));
    }
}

/// Of a claim, nothing changes but the volume it gets and, once bound, what it asks for.
fn claim(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let mut relaxed = new["spec"].clone();
    let before = &old["spec"];
    if before["volumeName"].is_null() {
        copy(&mut relaxed, before, "volumeName");
    }
    if old["status"]["phase"] == "Bound" {
        copy(&mut relaxed, before, "resources.requests");
        copy(&mut relaxed, before, "volumeAttributesClassName");
    }
    if relaxed != *before {
        let why =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(Cause::forbidden("spec", why));
        return;
    }
    let size = |claim: &Value| {
        let text = claim["spec"]["resources"]["requests"]["storage"].as_str()?;
        crate::schema::quantity::Quantity::parse(text)
    };
    if let (Some(after), Some(before)) = (size(new), size(old))
        && after.compare(before).is_lt()
    {
        let why = "field can not be less than status.capacity";
        causes.push(Cause::forbidden("spec.resources.requests.storage", why));
    }
}

fn volume_source(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let fields = [
        "capacity",
        "accessModes",
        "persistentVolumeReclaimPolicy",
        "claimRef",
        "mountOptions",
        "storageClassName",
        "nodeAffinity",
        "volumeMode",
        "volumeAttributesClassName",
    ];
    if without(&new["spec"], &fields) != without(&old["spec"], &fields) {
        let why = "spec.persistentvolumesource is immutable after creation";
        causes.push(Cause::forbidden("spec.persistentvolumesource", why));
    }
    if new["spec"]["volumeMode"] != old["spec"]["volumeMode"] {
        causes.push(Cause::invalid(
            "volumeMode",
            &new["spec"]["volumeMode"],
            "field is immutable",
        ));
    }
}

fn role_ref(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let reference = &new["roleRef"];
    if *reference != old["roleRef"] {
        causes.push(Cause {
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: {{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}: cannot change roleRef",
                reference["apiGroup"], reference["kind"], reference["name"]
            ),
            field: "roleRef".to_owned(),
        });
    }
}
