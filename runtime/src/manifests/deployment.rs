//! The Deployment that runs the operator.

use serde_json::{Value, json};

use super::roles::Names;

/// What is to be run.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) image: String,
    pub(super) replicas: u32,
    /// Whether scrapers must show who they are.
    pub(super) reviewed: bool,
    /// The Secret with the webhooks' certificates, where something else than the operator writes it.
    pub(super) certificates: Option<String>,
}

/// Where the webhooks' certificates are mounted.
const CERTIFICATES: &str = "/etc/webhook-certificates";

/// How long a pod may take to stop: running reconciles have 30 s, then the Lease is given back.
const STOP_SECONDS: u32 = 40;

/// A Deployment under Pod Security's level `restricted`, with the probes and ports that `run` serves by default.
pub(super) fn object(names: &Names<'_>, watched: &[String], workload: &Workload) -> Value {
    let mut env = vec![
        json!({ "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }),
        json!({ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } }),
    ];
    if !watched.is_empty() {
        env.push(json!({ "name": "OPERATOR_WATCH_NAMESPACES", "value": watched.join(",") }));
    }
    if workload.reviewed {
        env.push(json!({ "name": "OPERATOR_METRICS_ACCESS", "value": "reviewed" }));
    }
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    if let Some(secret) = &workload.certificates {
        env.push(json!({ "name": "OPERATOR_WEBHOOK_CERTS", "value": CERTIFICATES }));
        volumes.push(json!({ "name": "webhook-certificates", "secret": { "secretName": secret } }));
        mounts.push(json!({ "name": "webhook-certificates", "mountPath": CERTIFICATES, "readOnly": true }));
    }
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "health" }, "periodSeconds": 10 });
    let selector = json!({ "app.kubernetes.io/name": names.operator });
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": names.meta(names.operator, Some(names.namespace)),
        "spec": {
            "replicas": workload.replicas,
            "selector": { "matchLabels": selector },
            "template": {
                "metadata": { "labels": selector },
                "spec": {
                    "serviceAccountName": names.operator,
                    "terminationGracePeriodSeconds": STOP_SECONDS,
                    "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
                    "containers": [{
                        "name": "operator",
                        "image": workload.image,
                        "args": ["run"],
                        "env": env,
                        "ports": [
                            { "name": "metrics", "containerPort": 8080 },
                            { "name": "health", "containerPort": 8081 },
                        ],
                        "livenessProbe": probe("/healthz"),
                        "readinessProbe": probe("/readyz"),
                        "resources": {
                            "requests": { "cpu": "10m", "memory": "64Mi" },
                            "limits": { "memory": "256Mi" },
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": { "drop": ["ALL"] },
                        },
                    }],
                },
            },
        },
    });
    if !volumes.is_empty() {
        let pod = &mut deployment["spec"]["template"]["spec"];
        pod["containers"][0]["volumeMounts"] = mounts.into();
        pod["volumes"] = volumes.into();
    }
    deployment
}
