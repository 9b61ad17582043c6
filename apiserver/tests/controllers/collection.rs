//! Deleting owners: background, foreground, orphan.

use serde_json::json;

use crate::cluster::{Cluster, DEPLOYMENTS, PODS, SETS, WEB, deployment};

async fn running() -> Cluster {
    let cluster = Cluster::simulated();
    cluster.create(DEPLOYMENTS, &deployment(2, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 2).await;
    cluster
}

#[tokio::test(start_paused = true)]
async fn deleting_a_deployment_collects_its_replica_sets_and_pods() {
    let cluster = running().await;
    cluster.delete(WEB, "Background").await;
    cluster.until_gone(WEB).await;
    cluster
        .until(SETS, |l| l["items"].as_array().is_some_and(Vec::is_empty))
        .await;
    cluster
        .until(PODS, |l| l["items"].as_array().is_some_and(Vec::is_empty))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_waits_for_the_pods() {
    let cluster = running().await;
    let pod = cluster.names(PODS).await.remove(0);
    let held = format!("{PODS}/{pod}");
    cluster
        .patch(&held, &json!({"metadata": {"finalizers": ["example.com/hold"]}}))
        .await;
    cluster.delete(WEB, "Foreground").await;
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(cluster.names(PODS).await, [pod]);
    assert_eq!(
        cluster.get(WEB).await["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    cluster.patch(&held, &json!({"metadata": {"finalizers": null}})).await;
    cluster.until_gone(WEB).await;
    assert!(cluster.list(SETS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn orphaned_children_stay_and_are_adopted_by_a_new_owner() {
    let cluster = running().await;
    let pods = cluster.names(PODS).await;
    cluster.delete(WEB, "Orphan").await;
    cluster.until_gone(WEB).await;
    let sets = cluster.list(SETS).await;
    assert!(sets.len() == 1 && sets[0]["metadata"]["ownerReferences"].is_null());
    cluster.create(DEPLOYMENTS, &deployment(2, "app:1", &json!({}))).await;
    cluster.until(WEB, |d| d["status"]["readyReplicas"] == 2).await;
    assert_eq!(cluster.names(PODS).await, pods);
    assert_eq!(
        cluster.list(SETS).await[0]["metadata"]["ownerReferences"][0]["name"],
        "web"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dependent_of_two_owners_goes_with_the_second() {
    let cluster = Cluster::start(kubewright_apiserver::Simulate::Off, 1);
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let mut owners = Vec::new();
    for name in ["a", "b"] {
        let owner = cluster.create(maps, &map(name)).await;
        owners.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"]}));
    }
    let mut child = map("child");
    child["metadata"]["ownerReferences"] = owners.into();
    cluster.create(maps, &child).await;
    cluster.delete(&format!("{maps}/a"), "Background").await;
    let path = format!("{maps}/child");
    cluster
        .until(&path, |c| {
            c["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|o| o.len() == 1)
        })
        .await;
    cluster.delete(&format!("{maps}/b"), "Background").await;
    cluster.until_gone(&path).await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_goes_after_its_objects() {
    let cluster = Cluster::start(kubewright_apiserver::Simulate::Off, 1);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    cluster.create(definitions, &definition).await;
    let things = "/apis/example.com/v1/namespaces/default/things";
    let held = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]},
    });
    cluster.until(things, |l| !l.is_null()).await;
    cluster.create(things, &held).await;
    let path = format!("{definitions}/things.example.com");
    cluster.delete(&path, "Background").await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(cluster.get(&path).await["metadata"]["deletionTimestamp"].is_string());
    cluster
        .patch(&format!("{things}/held"), &json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.until_gone(&path).await;
}
