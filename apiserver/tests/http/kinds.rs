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

#[tokio::test(start_paused = true)]
async fn where_pods_may_run_is_refused_with_its_place() {
    let client = Client::new();
    let spread = |constraint: Value| {
        let mut all = json!({ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway" });
        for (name, value) in constraint.as_object().unwrap() {
            all[name] = value.clone();
        }
        json!({ "topologySpreadConstraints": [all] })
    };
    let node = |term: Value| {
        json!({ "affinity": { "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term] },
        } } })
    };
    let constraints = "spec.topologySpreadConstraints[0]";
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]";
    for (spec, expected) in [
        (
            spread(json!({ "minDomains": 2 })),
            format!(
                "{constraints}.minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, \
                 not ScheduleAnyway"
            ),
        ),
        (
            spread(json!({ "nodeTaintsPolicy": "Never" })),
            format!(
                "{constraints}.nodeTaintsPolicy: Unsupported value: \"Never\": supported values: \"Honor\", \"Ignore\""
            ),
        ),
        (
            spread(json!({ "matchLabelKeys": ["a"] })),
            format!("{constraints}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"),
        ),
        (
            node(json!({ "matchExpressions": [{ "key": "k", "operator": "In", "values": ["a b"] }] })),
            format!("{terms}.matchExpressions[0].values[0]: Invalid value: \"a b\": a valid label must be"),
        ),
        (
            node(json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["A"] }] })),
            format!("{terms}.matchFields[0].values[0]: Invalid value: \"A\": a lowercase RFC 1123 subdomain"),
        ),
    ] {
        let refused = client.post(PODS, &pod(spec)).await;
        assert_eq!(refused.code, 422, "{}", refused.text);
        let found = causes(&refused.body);
        assert!(
            found.iter().any(|cause| cause.starts_with(&expected)),
            "{expected}\n{found:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_autoscalers_metric_has_the_one_source_that_its_type_says() {
    let client = Client::new();
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let target = json!({ "type": "Utilization", "averageUtilization": 50 });
    let resource = json!({ "name": "cpu", "target": target });
    for (metric, expected) in [
        (
            json!({ "type": "", "resource": resource }),
            "spec.metrics[0].type: Required value: must specify a metric source type",
        ),
        (
            json!({ "type": "Resource", "resource": resource, "containerResource": resource }),
            "spec.metrics[0].containerResource: Forbidden: must populate the given metric source only",
        ),
        (
            json!({ "type": "Pods", "resource": resource }),
            "spec.metrics[0].pods: Required value: must populate information for the given metric source",
        ),
    ] {
        let refused = client
            .post(
                path,
                &json!({
                    "apiVersion": "autoscaling/v2",
                    "kind": "HorizontalPodAutoscaler",
                    "metadata": { "name": "h" },
                    "spec": {
                        "maxReplicas": 3,
                        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" },
                        "metrics": [metric],
                    },
                }),
            )
            .await;
        assert_eq!(refused.code, 422, "{}", refused.text);
        assert!(
            causes(&refused.body).contains(&expected.to_owned()),
            "{expected}\n{}",
            refused.text
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_asked_for_in_full_and_by_who_asks() {
    let client = Client::new();
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = |body: &str, spec: Value| {
        use base64::Engine as _;
        let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n");
        let mut all = json!({
            "request": base64::engine::general_purpose::STANDARD.encode(pem),
            "signerName": "example.com/signer",
            "usages": ["client auth"],
            "username": "somebody else",
        });
        for (name, value) in spec.as_object().unwrap() {
            all[name] = value.clone();
        }
        json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": { "name": "r" },
            "spec": all,
        })
    };
    for (spec, expected) in [
        (json!({ "usages": [] }), "spec.usages: Required value"),
        (
            json!({ "usages": ["client auth", "client auth"] }),
            "spec.usages[1]: Duplicate value: \"client auth\"",
        ),
        (
            json!({ "signerName": "signer" }),
            "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form \
             'example.com/signer-name'",
        ),
        (
            json!({ "expirationSeconds": 5 }),
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
        ),
    ] {
        let refused = client.post(path, &request("MAA=", spec)).await;
        assert_eq!(refused.code, 422, "{}", refused.text);
        assert!(
            causes(&refused.body).contains(&expected.to_owned()),
            "{expected}\n{}",
            refused.text
        );
    }
    assert_eq!(client.post(path, &request("no base64!", json!({}))).await.code, 422);
    let made = client.post(path, &request("MAA=", json!({}))).await;
    assert_eq!(made.code, 201, "{}", made.text);
    assert_eq!(made.body["spec"]["username"], "admin");
}
