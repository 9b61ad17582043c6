use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use serde_json::{Value, json};

use super::{Manifests, documents};
use crate::context::Context;
use crate::declaration::{Declaration, Declared};
use crate::error::Result;
use crate::grants::{Declare, Owns, Reads};
use crate::reconciler::{Action, Reconciler};

struct OfDeployments;

impl Reconciler for OfDeployments {
    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Declare for OfDeployments {
    type Primary = Deployment;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<Deployment>().owns::<ConfigMap>().live::<Secret>()
    }
}

impl Owns<ConfigMap> for OfDeployments {}
impl Reads<Secret> for OfDeployments {}

struct OfNamespaces;

impl Reconciler for OfNamespaces {
    async fn reconcile(&self, _: Arc<Namespace>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Declare for OfNamespaces {
    type Primary = Namespace;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<Namespace>().live::<Secret>()
    }
}

impl Reads<Secret> for OfNamespaces {}

fn declared<C: Declare>() -> Declared {
    Declaration::<C>::of().declared().clone()
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    objects
        .iter()
        .find(|o| o["kind"] == kind && o["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("no {kind} {name}"))
}

#[test]
fn the_cluster_role_holds_what_the_declarations_need_and_nothing_else() {
    let objects = Manifests::new("op", "ops", [declared::<OfDeployments>(), declared::<OfNamespaces>()]).rbac();
    assert_eq!(
        find(&objects, "ClusterRole", "op")["rules"],
        json!([
            { "apiGroups": [""], "resources": ["configmaps"],
              "verbs": ["get", "list", "watch", "create", "patch", "delete"] },
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"] },
            { "apiGroups": [""], "resources": ["namespaces/status"], "verbs": ["patch"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"] },
            { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"] },
            { "apiGroups": ["apps"], "resources": ["deployments/finalizers"], "verbs": ["update"] },
            { "apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["patch"] },
            { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        ])
    );
}

#[test]
fn the_lease_is_the_operators_own_and_in_its_own_namespace() {
    let objects = Manifests::new("op", "ops", [declared::<OfDeployments>()]).rbac();
    let role = find(&objects, "Role", "op-leader-election");
    assert_eq!(role["metadata"]["namespace"], "ops");
    assert_eq!(
        role["rules"],
        json!([
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["op"],
              "verbs": ["get", "update"] },
        ])
    );
    for object in &objects {
        if let Some(subjects) = object.get("subjects") {
            assert_eq!(
                *subjects,
                json!([{ "kind": "ServiceAccount", "name": "op", "namespace": "ops" }])
            );
        }
    }
}

#[test]
fn with_namespaces_only_cluster_scoped_kinds_keep_a_cluster_role() {
    let objects = Manifests::new("op", "ops", [declared::<OfDeployments>(), declared::<OfNamespaces>()])
        .namespaces(["b".to_owned(), "a".to_owned(), "a".to_owned()])
        .rbac();
    let cluster = &find(&objects, "ClusterRole", "op")["rules"];
    assert_eq!(
        *cluster,
        json!([
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"] },
            { "apiGroups": [""], "resources": ["namespaces/status"], "verbs": ["patch"] },
        ])
    );
    let places: Vec<&str> = objects
        .iter()
        .filter(|o| o["kind"] == "Role" && o["metadata"]["name"] == "op")
        .filter_map(|o| o["metadata"]["namespace"].as_str())
        .collect();
    // Events about cluster-scoped objects are written to `default`.
    assert_eq!(places, ["a", "b"]);
    let events = find(&objects, "Role", "op-events");
    assert_eq!(events["metadata"]["namespace"], "default");
}

#[test]
fn a_deployment_is_restricted_probed_and_told_what_to_watch() {
    let manifests = Manifests::new("op", "ops", [declared::<OfDeployments>()])
        .namespaces(["a".to_owned(), "b".to_owned()])
        .metrics_access(crate::health::MetricsAccess::Reviewed)
        .deployment("registry.example/op:1", 2);
    let objects = manifests.objects();
    let deployment = objects.last().expect("it comes last");
    assert_eq!(
        (&deployment["kind"], &deployment["metadata"]["namespace"]),
        (&json!("Deployment"), &json!("ops"))
    );
    assert_eq!(deployment["spec"]["replicas"], 2);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "op");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "registry.example/op:1");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    let env = container["env"].as_array().expect("variables");
    assert!(
        env.contains(&json!({ "name": "OPERATOR_WATCH_NAMESPACES", "value": "a,b" })),
        "{env:?}"
    );
    assert!(
        env.contains(&json!({ "name": "OPERATOR_METRICS_ACCESS", "value": "reviewed" })),
        "{env:?}"
    );
    let reader = find(&objects, "ClusterRole", "op-metrics-reader");
    assert_eq!(
        reader["rules"],
        json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }])
    );
    find(&objects, "ClusterRoleBinding", "op-metrics-access");
    let without = Manifests::new("op", "ops", [declared::<OfDeployments>()]).objects();
    assert!(without.iter().all(|object| object["kind"] != "Deployment"));
}

#[test]
fn the_same_declarations_give_the_same_text() {
    let of = |declared: Vec<Declared>| Manifests::new("op", "ops", declared).to_yaml().expect("plain values");
    let one = of(vec![declared::<OfDeployments>(), declared::<OfNamespaces>()]);
    let other = of(vec![declared::<OfNamespaces>(), declared::<OfDeployments>()]);
    assert_eq!(one, other);
    let read = documents(&one).expect("what was written can be read");
    assert_eq!(read.len(), 5);
    assert!(one.starts_with("---\napiVersion: v1\nkind: ServiceAccount\n"), "{one}");
}

#[test]
fn a_yaml_stream_gives_its_objects_and_the_items_of_lists() {
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
---
---
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Secret, metadata: { name: b } }
";
    let objects = documents(text).expect("valid");
    let names: Vec<_> = objects.iter().map(|o| o["metadata"]["name"].clone()).collect();
    assert_eq!(names, [json!("a"), json!("b")]);
}

#[test]
fn what_is_no_object_is_named_by_document_and_missing_field() {
    let of = |text: &str| documents(text).expect_err("invalid").to_string();
    assert_eq!(
        of("apiVersion: v1\nkind: ConfigMap\nmetadata: {}"),
        "document 1 is not a Kubernetes object: `metadata.name` is missing"
    );
    assert_eq!(of("[1]"), "document 1 is not a Kubernetes object: it is not a mapping");
    assert!(of("a: [").starts_with("not valid YAML: "));
}
