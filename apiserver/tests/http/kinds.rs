//! What built-in kinds demand, in variations of what was recorded.

use serde_json::{Value, json};

use crate::client::{Client, MERGE};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// The causes of a refusal, as `field: message`.
fn causes(body: &Value) -> Vec<String> {
    let causes = body["details"]["causes"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    causes
        .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
        .collect()
}

fn pod(mut spec: Value) -> Value {
    let container = json!({ "name": "c", "image": "example/c:1" });
    if spec["containers"].is_null() {
        spec["containers"] = json!([container]);
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": spec })
}

#[tokio::test(start_paused = true)]
async fn parts_of_pods_are_refused_with_their_place() {
    let client = Client::new();
    let container = |mut container: Value| {
        container["name"] = "c".into();
        container["image"] = "example/c:1".into();
        json!({ "containers": [container] })
    };
    for (spec, expected) in [
        (
            json!({ "volumes": [{ "name": "v", "secret": { "secretName": "" } }] }),
            "spec.volumes[0].secret.secretName: Required value",
        ),
        (
            json!({ "volumes": [{ "name": "v", "configMap": { "name": "m", "items": [{ "key": "k", "path": "../p" }] } }] }),
            "spec.volumes[0].configMap.items[0].path: Invalid value: \"../p\": must not contain '..'",
        ),
        (
            json!({ "dnsPolicy": "None" }),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            json!({ "securityContext": { "runAsUser": -1 } }),
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [] } } } }),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
        (
            container(json!({ "envFrom": [{}] })),
            "spec.containers[0].envFrom[0]: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
        ),
        (
            container(json!({ "lifecycle": { "preStop": {} } })),
            "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type",
        ),
        (
            container(json!({ "resources": { "requests": { "example.com/gpu": "1" } } })),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            container(json!({ "securityContext": { "seccompProfile": { "type": "Localhost" } } })),
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
        ),
    ] {
        let answer = client.post(PODS, &pod(spec)).await;
        assert_eq!(answer.code, 422, "{}", answer.text);
        assert_eq!(causes(&answer.body), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_init_container_gets_the_limits_of_its_namespace_and_keeps_them() {
    let client = Client::new();
    let range = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": { "name": "r" },
        "spec": { "limits": [{ "type": "Container", "default": { "memory": "1Gi" }, "min": { "memory": "128Mi" } }] },
    });
    let path = "/api/v1/namespaces/default/limitranges";
    assert_eq!(client.post(path, &range).await.code, 201);
    let init = json!({ "name": "i", "image": "example/i:1" });
    let made = client.post(PODS, &pod(json!({ "initContainers": [init] }))).await;
    assert_eq!(made.code, 201, "{}", made.text);
    let resources = &made.body["spec"]["initContainers"][0]["resources"];
    assert_eq!(resources["limits"], json!({ "memory": "1Gi" }));
    let told = made.body["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
        .as_str()
        .unwrap();
    assert!(told.ends_with("memory limit for init container i"), "{told}");
    let small = json!({ "name": "c", "image": "example/c:1", "resources": { "limits": { "memory": "64Mi" } } });
    let refused = client.post(PODS, &pod(json!({ "containers": [small] }))).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.body["message"],
        "pods \"p\" is forbidden: minimum memory usage per Container is 128Mi, but request is 64Mi"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_is_warned_of_what_its_pods_may_not_do() {
    let client = Client::new();
    let labels = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "baseline" } } });
    let labelled = client.patch("/api/v1/namespaces/default", MERGE, &labels).await;
    assert_eq!(labelled.code, 200, "{}", labelled.text);
    let template = json!({ "spec": {
        "restartPolicy": "Never", "hostPID": true,
        "containers": [{ "name": "c", "image": "example/c:1" }],
    } });
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": { "name": "j" },
        "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": { "template": template } } },
    });
    let made = client.post("/apis/batch/v1/namespaces/default/cronjobs", &cron).await;
    assert_eq!(made.code, 201, "{}", made.text);
    assert_eq!(
        made.warnings,
        ["299 - \"would violate PodSecurity \\\"baseline:latest\\\": host namespaces (hostPID=true)\""]
    );
    let wrong = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/warn": "strict" } } });
    let refused = client.patch("/api/v1/namespaces/default", MERGE, &wrong).await;
    assert_eq!(
        causes(&refused.body),
        [
            "metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"strict\": must be one of privileged, baseline, restricted"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_balanced_services_have_what_balancers_need() {
    let client = Client::new();
    let service = |extra: Value| {
        let mut spec = json!({ "ports": [{ "port": 80 }] });
        for (field, value) in extra.as_object().unwrap() {
            spec[field] = value.clone();
        }
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" }, "spec": spec })
    };
    for (extra, expected) in [
        (
            json!({ "loadBalancerClass": "example.com/x" }),
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            json!({ "externalTrafficPolicy": "Local" }),
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
        ),
        (
            json!({ "sessionAffinity": "ClientIP", "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 90000 } } }),
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400",
        ),
    ] {
        let answer = client
            .post("/api/v1/namespaces/default/services", &service(extra))
            .await;
        assert_eq!(causes(&answer.body), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_counts_no_more_than_there_is() {
    let client = Client::new();
    let template =
        json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "s" },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
    });
    let path = "/apis/apps/v1/namespaces/default/statefulsets";
    assert_eq!(client.post(path, &set).await.code, 201);
    let status =
        json!({ "status": { "replicas": 1, "currentReplicas": 2, "readyReplicas": 0, "updatedReplicas": -1 } });
    let refused = client.patch(&format!("{path}/s/status"), MERGE, &status).await;
    assert_eq!(
        causes(&refused.body),
        [
            "status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ]
    );
}
