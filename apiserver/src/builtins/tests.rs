use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::access::User;
use crate::clock::Clock;

fn kind(kind: &str) -> Resource {
    resources().into_iter().find(|r| r.kind == kind).unwrap()
}

fn created(name: &str, object: Value) -> Value {
    let resource = kind(name);
    let mut object = object;
    resource.schema.decode_builtin(&mut object).unwrap();
    default(&resource, &mut object);
    prepare_create(
        &resource,
        &mut object,
        &Clock::new(Timestamp::UNIX_EPOCH, 1),
        &User::default(),
    );
    object
}

#[tokio::test]
async fn a_deployment_gets_the_defaults_of_its_parts() {
    let template = json!({ "spec": { "containers": [{ "name": "c", "image": "r.example/app:1" }] } });
    let object = created(
        "Deployment",
        json!({ "metadata": { "name": "a" }, "spec": { "selector": {}, "template": template } }),
    );
    let spec = &object["spec"];
    assert_eq!(
        spec["strategy"],
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" } })
    );
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["imagePullPolicy"], "IfNotPresent");
    assert_eq!(container["resources"], json!({}));
    assert!(spec["template"]["spec"].get("enableServiceLinks").is_none());
    assert_eq!(object["status"], json!({}));
}

#[tokio::test]
async fn a_pod_starts_pending_with_the_quality_of_its_resources() {
    let limits = json!({ "limits": { "cpu": "0.5", "memory": "1Gi" } });
    let object = created(
        "Pod",
        json!({ "spec": { "containers": [{ "name": "c", "image": "a", "resources": limits }] } }),
    );
    assert_eq!(
        object["status"],
        json!({ "phase": "Pending", "qosClass": "Guaranteed" })
    );
    assert_eq!(object["spec"]["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(object["spec"]["enableServiceLinks"], true);
}

#[tokio::test]
async fn a_service_gets_addresses_and_ports_and_gives_node_ports_back() {
    let resource = kind("Service");
    let mut object = created(
        "Service",
        json!({ "spec": { "type": "NodePort", "selector": { "a": "b" }, "ports": [{ "port": 80 }] } }),
    );
    let spec = &object["spec"];
    assert!(spec["clusterIP"].as_str().unwrap().starts_with("10."));
    assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
    assert!(spec["ports"][0]["nodePort"].as_i64().unwrap() >= 30_000);
    assert_eq!(spec["ports"][0]["targetPort"], 80);
    let old = object.clone();
    object["spec"]["type"] = "ClusterIP".into();
    prepare_update(&resource, "", &mut object, &old, &Clock::new(Timestamp::UNIX_EPOCH, 1));
    assert!(object["spec"]["ports"][0].get("nodePort").is_none());
    assert!(object["spec"].get("externalTrafficPolicy").is_none());
}

#[tokio::test]
async fn text_in_a_secret_is_stored_as_base64() {
    let object = created(
        "Secret",
        json!({ "data": { "k": "b2xk" }, "stringData": { "k": "new" } }),
    );
    assert_eq!(
        object,
        json!({ "data": { "k": "bmV3" }, "type": "Opaque", "metadata": {} })
    );
}

fn faults(name: &str, object: Value) -> Vec<String> {
    let mut object = created(name, object);
    object["metadata"]["name"] = "x".into();
    object["kind"] = name.into();
    validate_create(&kind(name), &object)
        .iter()
        .map(crate::error::Cause::sentence)
        .collect()
}

#[tokio::test]
async fn faults_are_told_in_the_order_of_the_tables() {
    let template =
        json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "Bad", "image": "i" }] } });
    let found = faults(
        "Deployment",
        json!({ "spec": { "replicas": -1, "selector": { "matchLabels": { "a": "c" } }, "template": template } }),
    );
    let fields: Vec<&str> = found.iter().map(|f| f.split(':').next().unwrap()).collect();
    let expected = [
        "spec.replicas",
        "spec.template.metadata.labels",
        "spec.template.spec.containers[0].name",
    ];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn what_a_kind_keeps_cannot_be_updated() {
    let spec = json!({ "spec": { "containers": [{ "name": "c", "image": "i:1" }] } });
    let mut old = created("Pod", spec);
    old["metadata"] = json!({ "name": "x", "resourceVersion": "1" });
    let mut new = old.clone();
    new["spec"]["containers"][0]["image"] = "i:2".into();
    new["spec"]["activeDeadlineSeconds"] = 5.into();
    assert_eq!(validate_update(&kind("Pod"), "", &new, &old), []);
    new["spec"]["hostname"] = "h".into();
    assert_eq!(validate_update(&kind("Pod"), "", &new, &old)[0].field, "spec");
}
