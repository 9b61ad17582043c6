//! What configuration, storage, access and cluster kinds must be.

use std::collections::BTreeSet;

use base64::Engine;
use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, Named, NotNegative, OneOf, Positive, Required, Selector, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

const MAX_DATA: usize = 1024 * 1024;
const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("ConfigMap", &[With(config_keys)]),
    ("Secret", &[With(secret_keys), With(secret_type)]),
    ("PersistentVolumeClaim", &[Below("spec")]),
    (
        "PersistentVolumeClaimSpec",
        &[
            With(claim_modes),
            Selector("selector"),
            With(claim_size),
            Named("storageClassName", names::subdomain),
            OneOf("volumeMode", &["Block", "Filesystem"]),
        ],
    ),
    ("PersistentVolume", &[Below("spec")]),
    (
        "PersistentVolumeSpec",
        &[
            With(volume_modes),
            With(capacity),
            OneOf("persistentVolumeReclaimPolicy", &["Delete", "Recycle", "Retain"]),
            With(volume_source),
            Named("storageClassName", names::subdomain),
            OneOf("volumeMode", &["Block", "Filesystem"]),
        ],
    ),
    (
        "StorageClass",
        &[
            Required("provisioner"),
            OneOf("reclaimPolicy", &["Delete", "Retain"]),
            OneOf("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
        ],
    ),
    ("Role", &[With(role_rules)]),
    ("ClusterRole", &[With(role_rules), With(aggregation)]),
    ("RoleBinding", &[With(role_ref), With(subjects)]),
    ("ClusterRoleBinding", &[With(role_ref), With(subjects)]),
    ("Lease", &[Below("spec")]),
    (
        "LeaseSpec",
        &[Positive("leaseDurationSeconds"), AtLeast("leaseTransitions", 0)],
    ),
    ("Event", &[With(event)]),
    ("ResourceQuota", &[Below("spec")]),
    ("ResourceQuotaSpec", &[With(quota), With(scopes)]),
    ("LimitRange", &[Below("spec")]),
    ("LimitRangeSpec", &[Below("limits")]),
    ("LimitRangeItem", &[With(limit_item)]),
    (
        "PriorityClass",
        &[
            With(priority),
            OneOf("preemptionPolicy", &["PreemptLowerPriority", "Never"]),
        ],
    ),
    ("Namespace", &[With(namespace_finalizers)]),
    ("Node", &[With(taints)]),
    ("ControllerRevision", &[AtLeast("revision", 0)]),
    ("CSIDriver", &[Below("spec")]),
    (
        "CSIDriverSpec",
        &[OneOf("fsGroupPolicy", &["File", "None", "ReadWriteOnceWithFSType"])],
    ),
    ("RuntimeClass", &[Required("handler"), Named("handler", names::label)]),
    (
        "CSIStorageCapacity",
        &[Required("storageClassName"), NotNegative("capacity")],
    ),
];

fn config_keys(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in at.get("data").as_object().into_iter().flatten() {
        let path = format!("data[{key}]");
        let faults = names::config_key(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        if at.get("binaryData").get(key).is_some() {
            causes.push(Cause::invalid(
                path,
                &key.as_str().into(),
                "duplicate of key present in binaryData",
            ));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in at.get("binaryData").as_object().into_iter().flatten() {
        let faults = names::config_key(key);
        let path = format!("binaryData[{key}]");
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        size += decoded_length(value);
    }
    causes.extend(too_long(size, "[]"));
}

fn secret_keys(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in at.get("data").as_object().into_iter().flatten() {
        let faults = names::config_key(key);
        let path = format!("data[{key}]");
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        size += decoded_length(value);
    }
    causes.extend(too_long(size, "data"));
}

fn decoded_length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| {
        text.len() / 4 * 3 - text.bytes().rev().take_while(|b| *b == b'=').count()
    })
}

fn too_long(size: usize, path: &str) -> Option<Cause> {
    (size > MAX_DATA).then(|| Cause {
        reason: "FieldValueTooLong",
        message: format!("Too long: may not be more than {MAX_DATA} bytes"),
        field: path.to_owned(),
    })
}

/// What secrets of well-known types must hold.
fn secret_type(at: &At<'_>, causes: &mut Vec<Cause>) {
    let data = at.get("data");
    let mut must_hold = |keys: &[&str]| {
        for key in keys {
            if data.get(*key).is_none() {
                causes.push(Cause::required(format!("data[{key}]"), ""));
            }
        }
    };
    match at.text("type") {
        "kubernetes.io/tls" => must_hold(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => must_hold(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            must_hold(&["username", "password"]);
        }
        "kubernetes.io/dockerconfigjson" => json_in(data, ".dockerconfigjson", causes),
        "kubernetes.io/dockercfg" => json_in(data, ".dockercfg", causes),
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let name = at
                .get("metadata")
                .get("annotations")
                .and_then(|a| a.get(key))
                .and_then(Value::as_str);
            if name.unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("metadata.annotations[{key}]"), ""));
            }
        }
        _ => {}
    }
}

fn json_in(data: &Value, key: &str, causes: &mut Vec<Cause>) {
    let path = format!("data[{key}]");
    let Some(text) = data.get(key).and_then(Value::as_str) else {
        causes.push(Cause::required(path, ""));
        return;
    };
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_default();
    if serde_json::from_slice::<Value>(&bytes).is_err() {
        let why = crate::http::go_json::complaint(&bytes);
        let why = if why.is_empty() {
            "unexpected end of JSON input".to_owned()
        } else {
            why
        };
        causes.push(Cause::invalid(path, &"<secret contents redacted>".into(), why));
    }
}

fn claim_modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("accessModes").is_empty() {
        causes.push(Cause::required(
            at.field("accessModes"),
            "at least 1 access mode is required",
        ));
    }
    modes(at, causes);
}

fn volume_modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("accessModes").is_empty() {
        causes.push(Cause::required(at.field("accessModes"), ""));
    }
    modes(at, causes);
}

fn modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    for mode in at.list("accessModes") {
        if !mode.as_str().is_some_and(|m| ACCESS_MODES.contains(&m)) {
            causes.push(Cause::unsupported(at.field("accessModes"), mode, ACCESS_MODES));
        }
    }
}

fn claim_size(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("resources[storage]");
    match at.get("resources.requests.storage") {
        Value::Null => causes.push(Cause::required(path, "")),
        amount => {
            if amount
                .as_str()
                .and_then(Quantity::parse)
                .is_some_and(|q| q.nanos() <= 0)
            {
                causes.push(Cause::invalid(path, amount, "must be greater than zero"));
            }
        }
    }
}

fn capacity(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("capacity");
    let given = at.get("capacity");
    if given.is_null() {
        causes.push(Cause::required(path.as_str(), ""));
    }
    if given.get("storage").is_none() || given.as_object().is_some_and(|c| c.len() > 1) {
        causes.push(Cause::unsupported(path.as_str(), given, &["storage"]));
    }
    if given["storage"]
        .as_str()
        .and_then(Quantity::parse)
        .is_some_and(|q| q.nanos() <= 0)
    {
        causes.push(Cause::invalid(
            format!("{path}[storage]"),
            &given["storage"],
            "must be greater than zero",
        ));
    }
}

/// The ways to provide a volume, in the order in which they are looked at.
const VOLUME_SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn volume_source(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut given = VOLUME_SOURCES.iter().filter(|source| at.map.contains_key(**source));
    if given.next().is_none() {
        causes.push(Cause::required(at.path, "must specify a volume type"));
    }
    for extra in given {
        causes.push(Cause::forbidden(
            at.field(extra),
            "may not specify more than 1 volume type",
        ));
    }
}

fn role_rules(at: &At<'_>, causes: &mut Vec<Cause>) {
    let namespaced = at.root["kind"] == "Role";
    for (index, rule) in at.list("rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        let empty = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        if empty("verbs") {
            causes.push(Cause::required(
                format!("{path}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if !empty("nonResourceURLs") {
            let why = if namespaced {
                "namespaced rules cannot apply to non-resource URLs"
            } else if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
                "rules cannot apply to both regular resources and non-resource URLs"
            } else {
                continue;
            };
            causes.push(Cause::invalid(
                format!("{path}.nonResourceURLs"),
                &rule["nonResourceURLs"],
                why,
            ));
            continue;
        }
        if empty("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(format!("{path}.apiGroups"), why));
        }
        if empty("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(format!("{path}.resources"), why));
        }
    }
}

fn aggregation(at: &At<'_>, causes: &mut Vec<Cause>) {
    let selectors = at.list("aggregationRule.clusterRoleSelectors");
    if !at.get("aggregationRule").is_null() && selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required("aggregationRule.clusterRoleSelectors", why));
    }
}

fn role_ref(at: &At<'_>, causes: &mut Vec<Cause>) {
    let group = "rbac.authorization.k8s.io";
    if at.text("roleRef.apiGroup") != group {
        causes.push(Cause::unsupported(
            "roleRef.apiGroup",
            at.get("roleRef.apiGroup"),
            &[group],
        ));
    }
    let kinds: &[&str] = if at.root["kind"] == "RoleBinding" {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = at.text("roleRef.kind");
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported("roleRef.kind", &kind.into(), kinds));
    }
    match at.text("roleRef.name") {
        "" => causes.push(Cause::required("roleRef.name", "")),
        name => {
            let faults = names::path_segment(name, false);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid("roleRef.name", &name.into(), why)),
            );
        }
    }
}

fn subjects(at: &At<'_>, causes: &mut Vec<Cause>) {
    let namespaced = at.root["kind"] == "RoleBinding";
    for (index, subject) in at.list("subjects").iter().enumerate() {
        let path = format!("subjects[{index}]");
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        match text("kind") {
            "ServiceAccount" => {
                if !text("name").is_empty() {
                    let faults = names::subdomain(text("name"));
                    causes.extend(
                        faults
                            .iter()
                            .map(|why| Cause::invalid(format!("{path}.name"), &subject["name"], why)),
                    );
                }
                if !text("apiGroup").is_empty() {
                    causes.push(Cause::unsupported(
                        format!("{path}.apiGroup"),
                        &subject["apiGroup"],
                        &[""],
                    ));
                }
                if !namespaced && text("namespace").is_empty() {
                    causes.push(Cause::required(format!("{path}.namespace"), ""));
                }
            }
            "User" | "Group" => {
                let group = "rbac.authorization.k8s.io";
                if text("apiGroup") != group {
                    causes.push(Cause::unsupported(
                        format!("{path}.apiGroup"),
                        &subject["apiGroup"],
                        &[group],
                    ));
                }
            }
            kind => {
                let allowed = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::unsupported(format!("{path}.kind"), &kind.into(), &allowed));
            }
        }
    }
}

/// The old group checks where the event belongs, the new one that it says what happened.
fn event(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.map.contains_key("involvedObject") || at.root["apiVersion"] == "v1" {
        let (own, of) = (at.text("metadata.namespace"), at.text("involvedObject.namespace"));
        let fits = own == of || (of.is_empty() && matches!(own, "" | "default"));
        if !fits {
            let why = "does not match event.namespace";
            causes.push(Cause::invalid("involvedObject.namespace", &of.into(), why));
        }
        return;
    }
    let deprecated = !at.get("deprecatedFirstTimestamp").is_null() || !at.get("deprecatedLastTimestamp").is_null();
    if deprecated {
        return;
    }
    if at.get("eventTime").is_null() {
        causes.push(Cause::required("eventTime", ""));
    } else {
        for (field, limit) in [
            ("reportingController", usize::MAX),
            ("reportingInstance", 128),
            ("action", 128),
            ("reason", 128),
        ] {
            let text = at.text(field);
            if text.is_empty() {
                causes.push(Cause::required(field, ""));
            } else if text.len() > limit {
                causes.push(Cause::invalid(
                    field,
                    &"".into(),
                    format!("can have at most {limit} characters"),
                ));
            }
        }
    }
    let kind = at.text("type");
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid("type", &"".into(), format!("has invalid value: {kind}")));
    }
    if at.text("note").len() > 1024 {
        causes.push(Cause::invalid("note", &"".into(), "can have at most 1024 characters"));
    }
}

/// What a quota may count without a domain.
const COUNTED: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

fn quota(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (name, amount) in at.get("hard").as_object().into_iter().flatten() {
        let path = at.field(&format!("hard[{name}]"));
        let faults = names::qualified(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &name.as_str().into(), why)),
        );
        let known = COUNTED.contains(&name.as_str())
            || ["hugepages-", "requests.hugepages-"]
                .iter()
                .any(|p| name.starts_with(p));
        if faults.is_empty() && !name.contains('/') && !known {
            for why in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                causes.push(Cause::invalid(path.as_str(), &name.as_str().into(), why));
            }
        }
        let Some(quantity) = amount.as_str().and_then(Quantity::parse) else {
            continue;
        };
        if quantity.is_negative() {
            causes.push(Cause::invalid(
                path.as_str(),
                amount,
                "must be greater than or equal to 0",
            ));
        }
        let counted = COUNTED[10..].contains(&name.as_str()) || name.starts_with("count/");
        if counted && !quantity.is_whole() {
            causes.push(Cause::invalid(path, amount, "must be an integer"));
        }
    }
}

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

fn scopes(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.list("scopes");
    let path = at.field("scopes");
    for scope in given {
        if !scope.as_str().is_some_and(|s| SCOPES.contains(&s)) {
            causes.push(Cause::invalid(path.as_str(), at.get("scopes"), "unsupported scope"));
        }
    }
    for pair in [["Terminating", "NotTerminating"], ["BestEffort", "NotBestEffort"]] {
        if pair.iter().all(|wanted| given.iter().any(|g| g == wanted)) {
            causes.push(Cause::invalid(path.as_str(), at.get("scopes"), "conflicting scopes"));
        }
    }
}

fn limit_item(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("type");
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if at.get(field).as_object().is_some_and(|map| !map.is_empty()) {
                let why = "may not be specified when `type` is 'Pod'";
                causes.push(Cause::forbidden(at.field(field), why));
            }
        }
    }
    let amount = |field: &str, name: &str| {
        let text = at.get(field)[name].as_str()?;
        Some((Quantity::parse(text)?, text.to_owned()))
    };
    let fields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let names: BTreeSet<&String> = fields
        .iter()
        .flat_map(|f| at.get(f).as_object().into_iter().flat_map(|m| m.keys()))
        .collect();
    for name in names {
        let mut order = |low: &str, high: &str, at_field: &str, shown: &str, what: &str| {
            if let (Some((a, a_text)), Some((b, b_text))) = (amount(low, name), amount(high, name))
                && a.compare(b).is_gt()
            {
                let shown = if shown == low { &a_text } else { &b_text };
                let why = what.replace("{a}", &a_text).replace("{b}", &b_text);
                let path = at.field(&format!("{at_field}[{name}]"));
                causes.push(Cause::invalid(path, &shown.as_str().into(), why));
            }
        };
        order(
            "min",
            "max",
            "min",
            "min",
            "min value {a} is greater than max value {b}",
        );
        order(
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            "min value {a} is greater than default request value {b}",
        );
        order(
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            "default request value {a} is greater than max value {b}",
        );
        order(
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            "default request value {a} is greater than default limit value {b}",
        );
        order(
            "min",
            "default",
            "default",
            "min",
            "min value {a} is greater than default value {b}",
        );
        order(
            "default",
            "max",
            "default",
            "max",
            "default value {a} is greater than max value {b}",
        );
    }
}

const MOST_PRIORITY: i64 = 1_000_000_000;

fn priority(at: &At<'_>, causes: &mut Vec<Cause>) {
    let name = at.text("metadata.name");
    let value = at.get("value").as_i64().unwrap_or(0);
    if name.starts_with("system-") {
        let known = [
            ("system-node-critical", 2_000_001_000),
            ("system-cluster-critical", 2_000_000_000),
        ];
        if !known.contains(&(name, value)) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            causes.push(Cause::forbidden("metadata.name", why));
        }
    } else if value > MOST_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {MOST_PRIORITY}");
        causes.push(Cause::forbidden("value", why));
    }
}

fn namespace_finalizers(at: &At<'_>, causes: &mut Vec<Cause>) {
    for name in at.list("spec.finalizers").iter().filter_map(Value::as_str) {
        let faults = names::qualified(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid("spec.finalizers", &name.into(), why)),
        );
        if faults.is_empty() && !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid("spec.finalizers", &name.into(), why));
        }
    }
}

fn taints(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen: Vec<(&Value, &Value)> = Vec::new();
    for (index, taint) in at.list("spec.taints").iter().enumerate() {
        let path = format!("metadata.taints[{index}]");
        let key = taint["key"].as_str().unwrap_or_default();
        let faults = names::qualified(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.key"), &key.into(), why)),
        );
        let allowed = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !taint["effect"].as_str().is_some_and(|e| allowed.contains(&e)) {
            causes.push(Cause::unsupported(format!("{path}.effect"), &taint["effect"], &allowed));
        }
        let pair = (&taint["key"], &taint["effect"]);
        if seen.contains(&pair) {
            let value = taint["value"].as_str().unwrap_or_default();
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!(
                    "Duplicate value: {{\"Key\":{},\"Value\":{value:?},\"Effect\":{},\"TimeAdded\":{}}}: taints must be unique by key and effect pair",
                    taint["key"], taint["effect"], taint["timeAdded"]
                ),
                field: path,
            });
        }
        seen.push(pair);
    }
}
