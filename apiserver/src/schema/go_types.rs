//! What the recorded schemas do not tell of the real server's types: which scalars are behind pointers (so that an
//! empty one is a value), and which fields are written even when they are empty.

use super::node::{Format, Node, Type};

/// Strings behind pointers: `""` is a value and stays.
const POINTERS: &[(&str, &[&str])] = &[
    ("CSIVolumeSource", &["fsType"]),
    ("Container", &["restartPolicy"]),
    ("Endpoint", &["hostname", "nodeName", "zone"]),
    ("EndpointAddress", &["nodeName"]),
    ("EndpointPort", &["appProtocol", "name", "protocol"]),
    ("EphemeralContainer", &["restartPolicy"]),
    ("GRPCAction", &["service"]),
    ("HTTPIngressPath", &["pathType"]),
    ("HostPathVolumeSource", &["type"]),
    ("IngressClassParametersReference", &["apiGroup", "namespace", "scope"]),
    ("IngressSpec", &["ingressClassName"]),
    ("JobSpec", &["completionMode", "managedBy", "podReplacementPolicy"]),
    ("CronJobSpec", &["timeZone"]),
    ("LeaseSpec", &["holderIdentity", "preferredHolder", "strategy"]),
    ("NetworkPolicyPort", &["protocol"]),
    (
        "PersistentVolumeClaimSpec",
        &[
            "dataSource",
            "storageClassName",
            "volumeAttributesClassName",
            "volumeMode",
        ],
    ),
    ("PersistentVolumeClaimStatus", &["currentVolumeAttributesClassName"]),
    ("PersistentVolumeSpec", &["volumeAttributesClassName", "volumeMode"]),
    ("PodDNSConfigOption", &["value"]),
    ("PodSpec", &["hostnameOverride", "preemptionPolicy", "runtimeClassName"]),
    ("PriorityClass", &["preemptionPolicy"]),
    ("SeccompProfile", &["localhostProfile"]),
    ("AppArmorProfile", &["localhostProfile"]),
    ("SecurityContext", &["procMount"]),
    ("ServicePort", &["appProtocol"]),
    ("ServiceReference", &["path"]),
    (
        "ServiceSpec",
        &[
            "internalTrafficPolicy",
            "ipFamilyPolicy",
            "loadBalancerClass",
            "trafficDistribution",
        ],
    ),
    ("StorageClass", &["reclaimPolicy", "volumeBindingMode"]),
    ("TopologySpreadConstraint", &["nodeAffinityPolicy", "nodeTaintsPolicy"]),
    ("TypedLocalObjectReference", &["apiGroup"]),
    ("TypedObjectReference", &["apiGroup", "namespace"]),
    ("VolumeMount", &["mountPropagation", "recursiveReadOnly"]),
    ("WebhookClientConfig", &["url"]),
    (
        "WindowsSecurityContextOptions",
        &["gmsaCredentialSpec", "gmsaCredentialSpecName", "runAsUserName"],
    ),
];

/// Numbers and booleans in place: zero and false vanish. All others are behind pointers.
const PLAIN: &[(&str, &[&str])] = &[
    ("Container", &["stdin", "stdinOnce", "tty"]),
    ("ContainerPort", &["hostPort"]),
    ("ContainerStateTerminated", &["signal"]),
    ("CustomResourceDefinitionSpec", &["preserveUnknownFields"]),
    ("CustomResourceDefinitionVersion", &["deprecated"]),
    ("CustomResourceDefinitionStatus", &["observedGeneration"]),
    ("DaemonSetSpec", &["minReadySeconds"]),
    (
        "DaemonSetStatus",
        &[
            "numberAvailable",
            "numberUnavailable",
            "observedGeneration",
            "updatedNumberScheduled",
        ],
    ),
    ("DeploymentSpec", &["minReadySeconds", "paused"]),
    (
        "DeploymentStatus",
        &[
            "availableReplicas",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "unavailableReplicas",
            "updatedReplicas",
        ],
    ),
    ("EphemeralContainer", &["stdin", "stdinOnce", "tty"]),
    ("Event", &["count", "deprecatedCount"]),
    ("HorizontalPodAutoscalerStatus", &["currentReplicas"]),
    (
        "JSONSchemaProps",
        &[
            "exclusiveMaximum",
            "exclusiveMinimum",
            "nullable",
            "uniqueItems",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ],
    ),
    ("JobStatus", &["active", "failed", "succeeded"]),
    ("NFSVolumeSource", &["readOnly"]),
    ("NodeSpec", &["unschedulable"]),
    ("ObjectMeta", &["generation"]),
    ("PersistentVolumeClaimVolumeSource", &["readOnly"]),
    ("PodDisruptionBudgetStatus", &["observedGeneration"]),
    ("PodSpec", &["hostIPC", "hostNetwork", "hostPID"]),
    ("PodStatus", &["observedGeneration"]),
    ("PriorityClass", &["globalDefault"]),
    (
        "Probe",
        &[
            "failureThreshold",
            "initialDelaySeconds",
            "periodSeconds",
            "successThreshold",
            "timeoutSeconds",
        ],
    ),
    ("ReplicaSetSpec", &["minReadySeconds"]),
    (
        "ReplicaSetStatus",
        &[
            "availableReplicas",
            "fullyLabeledReplicas",
            "observedGeneration",
            "readyReplicas",
        ],
    ),
    ("ReplicationControllerSpec", &["minReadySeconds"]),
    (
        "ReplicationControllerStatus",
        &[
            "availableReplicas",
            "fullyLabeledReplicas",
            "observedGeneration",
            "readyReplicas",
        ],
    ),
    ("ScaleSpec", &["replicas"]),
    ("ServiceBackendPort", &["number"]),
    ("ServicePort", &["nodePort"]),
    ("ServiceSpec", &["healthCheckNodePort", "publishNotReadyAddresses"]),
    ("StatefulSetSpec", &["minReadySeconds"]),
    (
        "StatefulSetStatus",
        &[
            "currentReplicas",
            "observedGeneration",
            "readyReplicas",
            "updatedReplicas",
        ],
    ),
    ("SubjectAccessReviewStatus", &["denied"]),
    ("TokenReviewStatus", &["authenticated"]),
    ("VolumeMount", &["readOnly"]),
];

/// Optional fields that are written even when they are empty.
const WRITTEN: &[(&str, &[&str])] = &[
    ("ClusterRole", &["rules"]),
    ("ContainerStateRunning", &["startedAt"]),
    ("ContainerStateTerminated", &["finishedAt", "startedAt"]),
    ("DaemonSetCondition", &["lastTransitionTime"]),
    ("DeploymentCondition", &["lastTransitionTime", "lastUpdateTime"]),
    ("EndpointSlice", &["endpoints", "ports"]),
    (
        "Event",
        &[
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
            "eventTime",
            "firstTimestamp",
            "lastTimestamp",
            "reportingComponent",
            "reportingInstance",
        ],
    ),
    ("HorizontalPodAutoscalerStatus", &["currentMetrics"]),
    ("JobCondition", &["lastProbeTime", "lastTransitionTime"]),
    ("NodeCondition", &["lastHeartbeatTime", "lastTransitionTime"]),
    (
        "PersistentVolumeClaimCondition",
        &["lastProbeTime", "lastTransitionTime"],
    ),
    ("PodCondition", &["lastProbeTime", "lastTransitionTime"]),
    (
        "PodDisruptionBudgetStatus",
        &["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"],
    ),
    ("PriorityClass", &["value"]),
    ("ReplicaSetCondition", &["lastTransitionTime"]),
    ("Role", &["rules"]),
    ("RoleRef", &["apiGroup"]),
    ("StatefulSetCondition", &["lastTransitionTime"]),
    ("StatefulSetSpec", &["serviceName"]),
    ("StatefulSetStatus", &["availableReplicas"]),
];

/// Whether an empty string in this field is a value.
pub(super) fn is_pointer(structure: &str, field: &str) -> bool {
    listed(POINTERS, structure, field)
}

/// Whether zero or false in this field is the same as nothing.
pub(super) fn is_plain(structure: &str, field: &str) -> bool {
    listed(PLAIN, structure, field) || (field == "readOnly" && structure.ends_with("VolumeSource"))
}

/// Whether the optional field is written even when it is empty.
pub(super) fn always_written(structure: &str, field: &str) -> bool {
    listed(WRITTEN, structure, field)
}

/// The type as Go's decoder names it.
pub(super) fn type_name(node: &Node) -> String {
    if let Some(name) = node.name {
        return format!("v1.{name}");
    }
    match (node.kind, node.format) {
        (_, Format::Bytes) => "[]uint8".to_owned(),
        (Type::String, _) => "string".to_owned(),
        (Type::Boolean, _) => "bool".to_owned(),
        (Type::Integer, Format::Int32) => "int32".to_owned(),
        (Type::Integer, _) => "int64".to_owned(),
        (Type::Number, _) => "float64".to_owned(),
        (Type::Array, _) => format!("[]{}", node.items.as_ref().map_or_else(String::new, |n| type_name(n))),
        (Type::Object, _) => format!(
            "map[string]{}",
            node.additional
                .as_ref()
                .map_or_else(|| "interface {}".to_owned(), |n| type_name(n))
        ),
        (Type::Any, _) => "interface {}".to_owned(),
    }
}

fn listed(table: &[(&str, &[&str])], structure: &str, field: &str) -> bool {
    table
        .iter()
        .any(|(name, fields)| *name == structure && fields.contains(&field))
}
