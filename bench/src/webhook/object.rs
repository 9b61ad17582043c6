//! The review that is measured.

use serde_json::{Value, json};

/// A Deployment of about 1.5 KB, as people write them.
pub(super) fn deployment() -> Value {
    let labels = json!({ "app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "frontend", "team": "web" });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "shop-frontend", "namespace": "production", "labels": labels },
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 5,
            "selector": { "matchLabels": labels },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": labels, "annotations": { "prometheus.io/scrape": "true" } },
                "spec": {
                    "serviceAccountName": "shop-frontend",
                    "terminationGracePeriodSeconds": 30,
                    "containers": [{
                        "name": "frontend",
                        "image": "registry.example/shop/frontend:2.14.3",
                        "args": ["--listen=:8080", "--backend=http://shop-backend:8080", "--log=info"],
                        "env": [
                            { "name": "REGION", "value": "eu-central-1" },
                            { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "shop", "key": "token" } } },
                        ],
                        "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }],
                        "readinessProbe": { "httpGet": { "path": "/readyz", "port": "http" }, "periodSeconds": 5 },
                        "resources": {
                            "requests": { "cpu": "100m", "memory": "128Mi" },
                            "limits": { "memory": "256Mi" },
                        },
                        "volumeMounts": [{ "name": "cache", "mountPath": "/var/cache" }],
                    }],
                    "volumes": [{ "name": "cache", "emptyDir": { "sizeLimit": "1Gi" } }],
                },
            },
        },
    })
}

/// A review of its creation, with what an API server puts around it.
pub(super) fn review() -> Value {
    let resource = json!({ "group": "apps", "version": "v1", "resource": "deployments" });
    let kind = json!({ "group": "apps", "version": "v1", "kind": "Deployment" });
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "shop-frontend",
            "namespace": "production",
            "operation": "CREATE",
            "userInfo": { "username": "admin", "groups": ["system:masters", "system:authenticated"] },
            "object": deployment(),
            "oldObject": null,
            "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl" },
        },
    })
}
