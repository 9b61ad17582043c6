//! What the recorded schemas do not tell of the real server's types: which scalars are behind pointers (so that an
//! empty one is a value), and which fields are written even when they are empty.

use super::node::{Format, Node, Type};

/// Strings behind pointers: `""` is a value and stays.
const POINTERS: &[(&str, &[&str])] = &[
    ("AppArmorProfile", &["localhostProfile"]),
    ("AzureDiskVolumeSource", &["cachingMode", "fsType", "kind"]),
    ("AzureFilePersistentVolumeSource", &["secretNamespace"]),
    ("CSIDriverSpec", &["fsGroupPolicy"]),
    ("CSIVolumeSource", &["fsType"]),
    ("ClusterTrustBundleProjection", &["name", "signerName"]),
    ("Container", &["restartPolicy"]),
    ("ContainerStatus", &["stopSignal"]),
    ("CronJobSpec", &["timeZone"]),
    ("CustomResourceDefinitionVersion", &["deprecationWarning"]),
    ("CustomResourceSubresourceScale", &["labelSelectorPath"]),
    ("DeleteOptions", &["propagationPolicy"]),
    ("Endpoint", &["hostname", "nodeName", "zone"]),
    ("EndpointAddress", &["nodeName"]),
    ("EndpointPort", &["appProtocol", "name", "protocol"]),
    ("EphemeralContainer", &["restartPolicy"]),
    ("GRPCAction", &["service"]),
    ("GlusterfsPersistentVolumeSource", &["endpointsNamespace"]),
    ("HPAScalingRules", &["selectPolicy"]),
    ("HTTPIngressPath", &["pathType"]),
    ("HostPathVolumeSource", &["type"]),
    ("ISCSIPersistentVolumeSource", &["initiatorName"]),
    ("ISCSIVolumeSource", &["initiatorName"]),
    ("IngressClassParametersReference", &["apiGroup", "namespace", "scope"]),
    ("IngressPortStatus", &["error"]),
    ("IngressSpec", &["ingressClassName"]),
    (
        "JSONSchemaProps",
        &["$ref", "x-kubernetes-list-type", "x-kubernetes-map-type"],
    ),
    ("JobSpec", &["completionMode", "managedBy", "podReplacementPolicy"]),
    ("JobStatus", &["failedIndexes"]),
    ("LeaseSpec", &["holderIdentity", "preferredHolder", "strategy"]),
    ("Lifecycle", &["stopSignal"]),
    ("LoadBalancerIngress", &["ipMode"]),
    ("LocalVolumeSource", &["fsType"]),
    ("MatchResources", &["matchPolicy"]),
    ("MutatingAdmissionPolicySpec", &["failurePolicy"]),
    (
        "MutatingWebhook",
        &["failurePolicy", "matchPolicy", "reinvocationPolicy", "sideEffects"],
    ),
    ("NetworkPolicyPort", &["protocol"]),
    ("ParamRef", &["parameterNotFoundAction"]),
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
    ("PodDisruptionBudgetSpec", &["unhealthyPodEvictionPolicy"]),
    ("PodFailurePolicyOnExitCodesRequirement", &["containerName"]),
    ("PodResourceClaim", &["resourceClaimName", "resourceClaimTemplateName"]),
    ("PodResourceClaimStatus", &["resourceClaimName"]),
    ("PodSchedulingGroup", &["podGroupName"]),
    (
        "PodSecurityContext",
        &["fsGroupChangePolicy", "seLinuxChangePolicy", "supplementalGroupsPolicy"],
    ),
    ("PodSpec", &["hostnameOverride", "preemptionPolicy", "runtimeClassName"]),
    ("PortStatus", &["error"]),
    ("Preconditions", &["resourceVersion", "uid"]),
    ("PriorityClass", &["preemptionPolicy"]),
    ("ResourceHealth", &["message"]),
    ("SeccompProfile", &["localhostProfile"]),
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
    ("SuccessPolicyRule", &["succeededIndexes"]),
    ("TopologySpreadConstraint", &["nodeAffinityPolicy", "nodeTaintsPolicy"]),
    ("TypedLocalObjectReference", &["apiGroup"]),
    ("TypedObjectReference", &["apiGroup", "namespace"]),
    ("ValidatingAdmissionPolicySpec", &["failurePolicy"]),
    ("ValidatingWebhook", &["failurePolicy", "matchPolicy", "sideEffects"]),
    ("Validation", &["reason"]),
    ("ValidationRule", &["reason"]),
    ("VolumeAttachmentSource", &["persistentVolumeName"]),
    ("VolumeMount", &["mountPropagation", "recursiveReadOnly"]),
    ("VolumeMountStatus", &["recursiveReadOnly"]),
    ("WebhookClientConfig", &["url"]),
    (
        "WindowsSecurityContextOptions",
        &["gmsaCredentialSpec", "gmsaCredentialSpecName", "runAsUserName"],
    ),
];

/// Numbers and booleans in place: zero and false vanish. All others are behind pointers.
const PLAIN: &[(&str, &[&str])] = &[
    ("AWSElasticBlockStoreVolumeSource", &["partition", "readOnly"]),
    ("AzureFilePersistentVolumeSource", &["readOnly"]),
    ("AzureFileVolumeSource", &["readOnly"]),
    ("CSIPersistentVolumeSource", &["readOnly"]),
    ("CephFSPersistentVolumeSource", &["readOnly"]),
    ("CephFSVolumeSource", &["readOnly"]),
    ("CinderPersistentVolumeSource", &["readOnly"]),
    ("CinderVolumeSource", &["readOnly"]),
    ("Condition", &["observedGeneration"]),
    ("Container", &["stdin", "stdinOnce", "tty"]),
    ("ContainerImage", &["sizeBytes"]),
    ("ContainerPort", &["hostPort"]),
    ("ContainerStateTerminated", &["signal"]),
    ("CustomResourceColumnDefinition", &["priority"]),
    ("CustomResourceDefinitionCondition", &["observedGeneration"]),
    ("CustomResourceDefinitionSpec", &["preserveUnknownFields"]),
    ("CustomResourceDefinitionStatus", &["observedGeneration"]),
    ("CustomResourceDefinitionVersion", &["deprecated"]),
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
    ("FCVolumeSource", &["readOnly"]),
    ("FlexPersistentVolumeSource", &["readOnly"]),
    ("FlexVolumeSource", &["readOnly"]),
    ("GCEPersistentDiskVolumeSource", &["partition", "readOnly"]),
    ("GlusterfsPersistentVolumeSource", &["readOnly"]),
    ("GlusterfsVolumeSource", &["readOnly"]),
    ("HorizontalPodAutoscalerStatus", &["currentReplicas"]),
    (
        "ISCSIPersistentVolumeSource",
        &["chapAuthDiscovery", "chapAuthSession", "readOnly"],
    ),
    (
        "ISCSIVolumeSource",
        &["chapAuthDiscovery", "chapAuthSession", "readOnly"],
    ),
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
    ("PodCondition", &["observedGeneration"]),
    ("PodDisruptionBudgetStatus", &["observedGeneration"]),
    ("PodSpec", &["hostIPC", "hostNetwork", "hostPID"]),
    ("PodStatus", &["observedGeneration"]),
    ("PortworxVolumeSource", &["readOnly"]),
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
    ("QuobyteVolumeSource", &["readOnly"]),
    ("RBDPersistentVolumeSource", &["readOnly"]),
    ("RBDVolumeSource", &["readOnly"]),
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
    ("ScaleIOPersistentVolumeSource", &["readOnly", "sslEnabled"]),
    ("ScaleIOVolumeSource", &["readOnly", "sslEnabled"]),
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
    ("StatusDetails", &["retryAfterSeconds"]),
    ("StorageOSPersistentVolumeSource", &["readOnly"]),
    ("StorageOSVolumeSource", &["readOnly"]),
    ("SubjectAccessReviewStatus", &["denied"]),
    ("TokenReviewStatus", &["authenticated"]),
    ("ValidatingAdmissionPolicyStatus", &["observedGeneration"]),
    ("VolumeMount", &["readOnly"]),
    ("VolumeMountStatus", &["readOnly"]),
];

/// Optional fields that are written even when they are empty.
const WRITTEN: &[(&str, &[&str])] = &[
    ("CSINodeDriver", &["topologyKeys"]),
    (
        "CertificateSigningRequestCondition",
        &["lastTransitionTime", "lastUpdateTime"],
    ),
    ("ClusterRole", &["rules"]),
    ("ContainerImage", &["names"]),
    ("ContainerStateRunning", &["startedAt"]),
    ("ContainerStateTerminated", &["finishedAt", "startedAt"]),
    ("CustomResourceDefinitionCondition", &["lastTransitionTime"]),
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
    ("HorizontalPodAutoscalerCondition", &["lastTransitionTime"]),
    ("HorizontalPodAutoscalerStatus", &["currentMetrics"]),
    ("JobCondition", &["lastProbeTime", "lastTransitionTime"]),
    ("NamespaceCondition", &["lastTransitionTime"]),
    ("NodeCondition", &["lastHeartbeatTime", "lastTransitionTime"]),
    ("NodeRuntimeHandler", &["name"]),
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
    ("ProjectedVolumeSource", &["sources"]),
    ("ReplicaSetCondition", &["lastTransitionTime"]),
    ("ReplicationControllerCondition", &["lastTransitionTime"]),
    ("Role", &["rules"]),
    ("RoleRef", &["apiGroup"]),
    ("StatefulSetCondition", &["lastTransitionTime"]),
    ("StatefulSetOrdinals", &["start"]),
    ("StatefulSetSpec", &["serviceName"]),
    ("StatefulSetStatus", &["availableReplicas"]),
    ("TokenRequestSpec", &["audiences"]),
    ("TokenRequestStatus", &["expirationTimestamp", "token"]),
    ("VolumeError", &["time"]),
];

/// Fields that the recorded schemas require of clients, but that are left out when they are empty.
const OMITTED: &[(&str, &[&str])] = &[
    ("ContainerRestartRule", &["action"]),
    ("ContainerRestartRuleOnExitCodes", &["operator"]),
    ("ImageVolumeStatus", &["imageRef"]),
    ("ParentReference", &["name", "resource"]),
    ("PodCertificateProjection", &["keyType", "signerName"]),
    ("TokenReviewSpec", &["token"]),
    (
        "ValidatingAdmissionPolicyBindingSpec",
        &["policyName", "validationActions"],
    ),
];

/// Whether an empty string in this field is a value.
pub(super) fn is_pointer(structure: &str, field: &str) -> bool {
    listed(POINTERS, structure, field)
}

/// Whether zero or false in this field is the same as nothing.
pub(super) fn is_plain(structure: &str, field: &str) -> bool {
    listed(PLAIN, structure, field) || (field == "readOnly" && structure.ends_with("VolumeSource"))
}

/// Whether the field, which the schema requires or not, is written even when it is empty.
pub(super) fn always_written(structure: &str, field: &str, required: bool) -> bool {
    if required {
        !listed(OMITTED, structure, field)
    } else {
        listed(WRITTEN, structure, field)
    }
}

/// Whether the structure belongs to a kind that the real server stores as protobuf: all but definitions.
pub(super) fn stored_as_protobuf(structure: &str) -> bool {
    !["CustomResource", "JSONSchemaProps", "Webhook", "ServiceReference"]
        .iter()
        .any(|json| structure.starts_with(json))
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
