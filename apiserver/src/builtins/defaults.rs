//! The defaults of built-in kinds, by structure.
//!
//! To add a kind, add its structures to the tables. Structures are named as in the recorded definitions, without
//! package and version; `Name@version`, before `Name`, is for one version alone. The rules of a kind's own structure
//! come first.

use serde_json::{Map, Value, json};

use super::rules::Rule::{self, Compute, Copy, Set, SetIf, SetIfThere};
use super::rules::find;
use crate::schema::quantity::Quantity;

/// The rules of a structure in one version of its group.
pub(super) fn rules_of(structure: &str, version: &str) -> Option<&'static [Rule]> {
    let mut entries = TABLES.iter().flat_map(|table| table.iter());
    let found = entries.find(|(key, _)| match key.split_once('@') {
        Some((name, only)) => name == structure && only == version,
        None => *key == structure,
    });
    found.map(|(_, rules)| *rules)
}

type Table = &'static [(&'static str, &'static [Rule])];

const TABLES: [Table; 4] = [PODS, WORKLOADS, NETWORK, REST];

const PODS: Table = &[
    (
        "Pod",
        &[
            Set("spec.enableServiceLinks", "true"),
            Compute(requests_from_limits),
            Compute(host_ports),
        ],
    ),
    (
        "PodSpec",
        &[
            Copy("serviceAccountName", "serviceAccount"),
            Copy("serviceAccount", "serviceAccountName"),
            Set("restartPolicy", r#""Always""#),
            Set("terminationGracePeriodSeconds", "30"),
            Set("dnsPolicy", r#""ClusterFirst""#),
            Set("securityContext", "{}"),
            Set("schedulerName", r#""default-scheduler""#),
        ],
    ),
    ("Container", CONTAINER),
    ("EphemeralContainer", CONTAINER),
    ("ContainerPort", &[Set("protocol", r#""TCP""#)]),
    (
        "Probe",
        &[
            Set("timeoutSeconds", "1"),
            Set("periodSeconds", "10"),
            Set("successThreshold", "1"),
            Set("failureThreshold", "3"),
        ],
    ),
    ("HTTPGetAction", &[Set("path", r#""/""#), Set("scheme", r#""HTTP""#)]),
    ("GRPCAction", &[Set("service", r#""""#)]),
    ("ObjectFieldSelector", &[Set("apiVersion", r#""v1""#)]),
    ("ResourceFieldSelector", &[Set("divisor", r#""0""#)]),
    ("FileKeySelector", &[Set("optional", "false")]),
    ("Volume", &[Compute(empty_dir)]),
    ("SecretVolumeSource", &[Set("defaultMode", "420")]),
    ("ConfigMapVolumeSource", &[Set("defaultMode", "420")]),
    ("DownwardAPIVolumeSource", &[Set("defaultMode", "420")]),
    ("ProjectedVolumeSource", &[Set("defaultMode", "420")]),
    ("HostPathVolumeSource", &[Set("type", r#""""#)]),
    ("ServiceAccountTokenProjection", &[Set("expirationSeconds", "3600")]),
    ("PodCertificateProjection", &[Set("maxExpirationSeconds", "86400")]),
    ("ISCSIVolumeSource", &[Set("iscsiInterface", r#""default""#)]),
    ("ISCSIPersistentVolumeSource", &[Set("iscsiInterface", r#""default""#)]),
    ("RBDVolumeSource", RBD),
    ("RBDPersistentVolumeSource", RBD),
    (
        "AzureDiskVolumeSource",
        &[
            Set("cachingMode", r#""ReadWrite""#),
            Set("fsType", r#""ext4""#),
            Set("kind", r#""Shared""#),
            Set("readOnly", "false"),
        ],
    ),
    ("ScaleIOVolumeSource", SCALE_IO),
    ("ScaleIOPersistentVolumeSource", SCALE_IO),
];

const CONTAINER: &[Rule] = &[
    Set("terminationMessagePath", r#""/dev/termination-log""#),
    Set("terminationMessagePolicy", r#""File""#),
    Compute(pull_policy),
];
const RBD: &[Rule] = &[
    Set("pool", r#""rbd""#),
    Set("user", r#""admin""#),
    Set("keyring", r#""/etc/ceph/keyring""#),
];
const SCALE_IO: &[Rule] = &[Set("storageMode", r#""ThinProvisioned""#), Set("fsType", r#""xfs""#)];

const WORKLOADS: Table = &[
    (
        "DeploymentSpec",
        &[
            Set("replicas", "1"),
            Set("revisionHistoryLimit", "10"),
            Set("progressDeadlineSeconds", "600"),
            Set("strategy.type", r#""RollingUpdate""#),
            SetIf(
                "strategy.rollingUpdate.maxUnavailable",
                r#""25%""#,
                "strategy.type",
                &["RollingUpdate"],
            ),
            SetIf(
                "strategy.rollingUpdate.maxSurge",
                r#""25%""#,
                "strategy.type",
                &["RollingUpdate"],
            ),
        ],
    ),
    ("ReplicaSetSpec", &[Set("replicas", "1")]),
    (
        "ReplicationController",
        &[
            Copy("spec.selector", "spec.template.metadata.labels"),
            Copy("metadata.labels", "spec.template.metadata.labels"),
            Set("spec.replicas", "1"),
        ],
    ),
    (
        "StatefulSetSpec",
        &[
            Set("replicas", "1"),
            Set("revisionHistoryLimit", "10"),
            Set("podManagementPolicy", r#""OrderedReady""#),
            Set("updateStrategy.type", r#""RollingUpdate""#),
            SetIf(
                "updateStrategy.rollingUpdate.partition",
                "0",
                "updateStrategy.type",
                &["RollingUpdate"],
            ),
            Set("persistentVolumeClaimRetentionPolicy.whenDeleted", r#""Retain""#),
            Set("persistentVolumeClaimRetentionPolicy.whenScaled", r#""Retain""#),
            Compute(claim_templates),
        ],
    ),
    ("DaemonSet", &[Compute(template_generation)]),
    (
        "DaemonSetSpec",
        &[
            Set("revisionHistoryLimit", "10"),
            Set("updateStrategy.type", r#""RollingUpdate""#),
            SetIf(
                "updateStrategy.rollingUpdate.maxUnavailable",
                "1",
                "updateStrategy.type",
                &["RollingUpdate"],
            ),
            SetIf(
                "updateStrategy.rollingUpdate.maxSurge",
                "0",
                "updateStrategy.type",
                &["RollingUpdate"],
            ),
        ],
    ),
    (
        "Job",
        &[
            Compute(completions),
            Set("spec.parallelism", "1"),
            SetIfThere("spec.backoffLimit", "2147483647", "spec.backoffLimitPerIndex"),
            Set("spec.backoffLimit", "6"),
            Set("spec.completionMode", r#""NonIndexed""#),
            Set("spec.suspend", "false"),
            Set("spec.manualSelector", "false"),
            SetIfThere("spec.podReplacementPolicy", r#""Failed""#, "spec.podFailurePolicy"),
            Set("spec.podReplacementPolicy", r#""TerminatingOrFailed""#),
            Copy("metadata.labels", "spec.template.metadata.labels"),
        ],
    ),
    ("PodFailurePolicyOnPodConditionsPattern", &[Set("status", r#""True""#)]),
    (
        "CronJobSpec",
        &[
            Set("concurrencyPolicy", r#""Allow""#),
            Set("suspend", "false"),
            Set("successfulJobsHistoryLimit", "3"),
            Set("failedJobsHistoryLimit", "1"),
        ],
    ),
    (
        "HorizontalPodAutoscalerSpec",
        &[Set("minReplicas", "1"), Compute(metrics)],
    ),
    (
        "HorizontalPodAutoscalerBehavior",
        &[
            Set("scaleUp.stabilizationWindowSeconds", "0"),
            Set("scaleUp.selectPolicy", r#""Max""#),
            Set(
                "scaleUp.policies",
                r#"[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]"#,
            ),
            Set("scaleDown.selectPolicy", r#""Max""#),
            Set(
                "scaleDown.policies",
                r#"[{"type":"Percent","value":100,"periodSeconds":15}]"#,
            ),
        ],
    ),
];

const NETWORK: Table = &[
    (
        "ServiceSpec",
        &[
            Set("sessionAffinity", r#""None""#),
            Set("type", r#""ClusterIP""#),
            SetIf(
                "sessionAffinityConfig.clientIP.timeoutSeconds",
                "10800",
                "sessionAffinity",
                &["ClientIP"],
            ),
            SetIf(
                "externalTrafficPolicy",
                r#""Cluster""#,
                "type",
                &["NodePort", "LoadBalancer"],
            ),
            SetIf(
                "internalTrafficPolicy",
                r#""Cluster""#,
                "type",
                &["ClusterIP", "NodePort", "LoadBalancer"],
            ),
            SetIf("allocateLoadBalancerNodePorts", "true", "type", &["LoadBalancer"]),
        ],
    ),
    (
        "ServicePort",
        &[Set("protocol", r#""TCP""#), Copy("targetPort", "port")],
    ),
    ("EndpointPort", &[Set("protocol", r#""TCP""#)]),
    ("EndpointSlice", &[Compute(slice_ports)]),
    ("IngressClassParametersReference", &[Set("scope", r#""Cluster""#)]),
    ("NetworkPolicySpec", &[Compute(policy_types)]),
    ("NetworkPolicyPort", &[Set("protocol", r#""TCP""#)]),
];

const REST: Table = &[
    ("TokenRequest", &[Set("spec.expirationSeconds", "3600")]),
    ("Secret", &[Set("type", r#""Opaque""#), Compute(string_data)]),
    ("Namespace", &[Compute(name_label)]),
    (
        "PersistentVolumeSpec",
        &[
            Set("persistentVolumeReclaimPolicy", r#""Retain""#),
            Set("volumeMode", r#""Filesystem""#),
        ],
    ),
    ("PersistentVolumeClaimSpec", &[Set("volumeMode", r#""Filesystem""#)]),
    ("PersistentVolume", &[Set("status.phase", r#""Pending""#)]),
    ("PersistentVolumeClaim", &[Set("status.phase", r#""Pending""#)]),
    ("NodeSpec", &[Compute(pod_cidrs)]),
    ("NodeStatus", &[Copy("allocatable", "capacity")]),
    ("LimitRangeItem", &[Compute(limit_defaults)]),
    (
        "RoleRef",
        &[Set("apiGroup", r#""rbac.authorization.k8s.io""#), Compute(role_group)],
    ),
    (
        "Subject",
        &[SetIf(
            "apiGroup",
            r#""rbac.authorization.k8s.io""#,
            "kind",
            &["User", "Group"],
        )],
    ),
    ("PriorityClass", &[Set("preemptionPolicy", r#""PreemptLowerPriority""#)]),
    (
        "StorageClass",
        &[
            Set("reclaimPolicy", r#""Delete""#),
            Set("volumeBindingMode", r#""Immediate""#),
        ],
    ),
    (
        "CSIDriverSpec",
        &[
            Set("attachRequired", "true"),
            Set("podInfoOnMount", "false"),
            Set("storageCapacity", "false"),
            Set("fsGroupPolicy", r#""ReadWriteOnceWithFSType""#),
            Set("volumeLifecycleModes", r#"["Persistent"]"#),
            Set("requiresRepublish", "false"),
            Set("seLinuxMount", "false"),
        ],
    ),
    ("ValidatingWebhook", WEBHOOK),
    (
        "MutatingWebhook",
        &[
            Set("failurePolicy", r#""Fail""#),
            Set("matchPolicy", r#""Equivalent""#),
            Set("namespaceSelector", "{}"),
            Set("objectSelector", "{}"),
            Set("timeoutSeconds", "10"),
            Set("reinvocationPolicy", r#""Never""#),
        ],
    ),
    ("RuleWithOperations", &[Set("scope", r#""*""#)]),
    ("NamedRuleWithOperations", &[Set("scope", r#""*""#)]),
    ("ServiceReference", &[Set("port", "443")]),
    ("ValidatingAdmissionPolicySpec", &[Set("failurePolicy", r#""Fail""#)]),
    ("MutatingAdmissionPolicySpec", &[Set("failurePolicy", r#""Fail""#)]),
    (
        "MatchResources",
        &[
            Set("matchPolicy", r#""Equivalent""#),
            Set("namespaceSelector", "{}"),
            Set("objectSelector", "{}"),
        ],
    ),
];

const WEBHOOK: &[Rule] = &[
    Set("failurePolicy", r#""Fail""#),
    Set("matchPolicy", r#""Equivalent""#),
    Set("namespaceSelector", "{}"),
    Set("objectSelector", "{}"),
    Set("timeoutSeconds", "10"),
];

type Fields = Map<String, Value>;

/// No tag or `latest` means Always, anything else IfNotPresent.
fn pull_policy(container: &mut Fields) {
    if find(container, "imagePullPolicy").is_some() {
        return;
    }
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let always = !image.contains('@') && last.rsplit_once(':').is_none_or(|(_, tag)| tag == "latest");
    container.insert(
        "imagePullPolicy".to_owned(),
        if always { "Always" } else { "IfNotPresent" }.into(),
    );
}

/// A volume that says nothing but its name is an emptyDir.
fn empty_dir(volume: &mut Fields) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
}

/// Requests that a pod's container does not make are its limits.
fn requests_from_limits(pod: &mut Fields) {
    each_container(pod, &mut |container| {
        let Some(limits) = find(container, "resources.limits").and_then(Value::as_object).cloned() else {
            return;
        };
        for (name, limit) in limits {
            let resources = &mut container["resources"];
            if !resources["requests"].is_object() {
                resources["requests"] = json!({});
            }
            if let Some(requests) = resources["requests"].as_object_mut() {
                requests.entry(name).or_insert(limit);
            }
        }
    });
}

/// On the host's network, a container's port is the host's port.
fn host_ports(pod: &mut Fields) {
    if find(pod, "spec.hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    each_container(pod, &mut |container| {
        for port in container
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let number = port["containerPort"].clone();
            if let Some(port) = port.as_object_mut() {
                port.entry("hostPort").or_insert(number);
            }
        }
    });
}

fn each_container(pod: &mut Fields, visit: &mut dyn FnMut(&mut Fields)) {
    let Some(spec) = pod.get_mut("spec") else { return };
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                visit(container);
            }
        }
    }
}

fn claim_templates(spec: &mut Fields) {
    for claim in spec
        .get_mut("volumeClaimTemplates")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(claim) = claim.as_object_mut() {
            claim.insert("apiVersion".to_owned(), "v1".into());
            claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
        }
    }
}

/// One completion where neither completions nor parallelism are given.
fn completions(job: &mut Fields) {
    if find(job, "spec.completions").is_none() && find(job, "spec.parallelism").is_none() {
        super::rules::set(job, "spec.completions", 1.into());
    }
}

/// CPU at 80 % where no metric is given.
fn metrics(spec: &mut Fields) {
    if !spec.contains_key("metrics") {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.insert("metrics".to_owned(), json!([metric]));
    }
}

fn slice_ports(slice: &mut Fields) {
    for port in slice
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(port) = port.as_object_mut() {
            port.entry("name").or_insert_with(|| "".into());
        }
    }
}

/// Ingress always, Egress when there are egress rules.
fn policy_types(spec: &mut Fields) {
    if find(spec, "policyTypes").is_none() {
        let egress = spec
            .get("egress")
            .and_then(Value::as_array)
            .is_some_and(|rules| !rules.is_empty());
        let types = if egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        spec.insert("policyTypes".to_owned(), types);
    }
}

/// What is written as text is stored as base64 and wins over what is there.
fn string_data(secret: &mut Fields) {
    use base64::Engine;
    let Some(Value::Object(plain)) = secret.remove("stringData") else {
        return;
    };
    if plain.is_empty() {
        return;
    }
    let data = secret.entry("data").or_insert_with(|| json!({}));
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        data[key] = base64::engine::general_purpose::STANDARD.encode(text).into();
    }
}

/// Every namespace is labelled with its name.
fn name_label(namespace: &mut Fields) {
    let Some(metadata) = namespace.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let name = metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if !name.is_empty() {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }
}

/// The annotation in which a DaemonSet counts the changes of its template.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(set: &mut Fields) {
    let Some(metadata) = set.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations[TEMPLATE_GENERATION].is_null() {
        annotations[TEMPLATE_GENERATION] = "1".into();
    }
}

/// A node's one range of pod addresses is the first of its ranges.
fn pod_cidrs(spec: &mut Fields) {
    match (
        spec.get("podCIDR").cloned(),
        spec.get("podCIDRs").and_then(|list| list.get(0)).cloned(),
    ) {
        (Some(one), None) => {
            spec.insert("podCIDRs".to_owned(), json!([one]));
        }
        (None, Some(first)) => {
            spec.insert("podCIDR".to_owned(), first);
        }
        _ => {}
    }
}

/// The two ways to name a claim's source say the same.
pub(super) fn data_source(spec: &mut Fields) {
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(source)) if source.get("namespace").is_none() => {
            let group = source["apiGroup"].as_str().unwrap_or_default();
            let known = (group.is_empty() && source["kind"] == "PersistentVolumeClaim")
                || (group == "snapshot.storage.k8s.io" && source["kind"] == "VolumeSnapshot");
            if known {
                spec.insert("dataSource".to_owned(), source);
            }
        }
        _ => {}
    }
}

/// For containers, the default limit is the maximum, and the default request the default limit or the minimum.
fn limit_defaults(item: &mut Fields) {
    if item.get("type").is_none_or(|t| t != "Container") {
        return;
    }
    let mut fill = |to: &str, from: &str| {
        let Some(values) = item.get(from).and_then(Value::as_object).cloned() else {
            return;
        };
        if values.is_empty() {
            return;
        }
        let target = item.entry(to).or_insert_with(|| json!({}));
        if let Some(target) = target.as_object_mut() {
            for (name, value) in values {
                target.entry(name).or_insert(value);
            }
        }
    };
    fill("default", "max");
    fill("defaultRequest", "default");
    fill("defaultRequest", "min");
}

/// An empty group in a role reference is the RBAC group.
fn role_group(reference: &mut Fields) {
    if reference.get("apiGroup").is_some_and(|group| group == "") {
        reference.insert("apiGroup".to_owned(), "rbac.authorization.k8s.io".into());
    }
}

/// The quality of service that a pod's resources give it.
pub(super) fn quality_of_service(pod: &Value) -> &'static str {
    let lists = ["initContainers", "containers"].map(|list| pod["spec"][list].as_array());
    let containers: Vec<&Value> = lists.into_iter().flatten().flatten().collect();
    let amount = |container: &Value, kind: &str, name: &str| {
        let text = container["resources"][kind][name].as_str()?;
        Quantity::parse(text).filter(|q| q.milli() != 0)
    };
    let names = ["cpu", "memory"];
    let any = containers.iter().any(|c| {
        names
            .iter()
            .any(|n| amount(c, "limits", n).is_some() || amount(c, "requests", n).is_some())
    });
    if !any {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|c| {
        names
            .iter()
            .all(|n| match (amount(c, "limits", n), amount(c, "requests", n)) {
                (Some(limit), Some(request)) => limit.compare(request).is_eq(),
                _ => false,
            })
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}
