//! Versions of a kind between which a webhook converts, in process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Response;
use kubewright_apiserver::admission::webhook::{Answering, Handler};
use serde_json::{Value, json};

use crate::client::{APPLY, Client, MERGE};

const V1: &str = "/apis/demo.example/v1/namespaces/default/things";
const V2: &str = "/apis/demo.example/v2/namespaces/default/things";

/// Renames `spec.size` to `spec.count` on the way to v2, and back; or fails.
#[derive(Default)]
struct Converter {
    broken: AtomicBool,
}

impl Converter {
    fn answer(&self, review: &Value) -> Value {
        let wanted = review["request"]["desiredAPIVersion"].as_str().unwrap();
        let (from, to) = if wanted.ends_with("/v2") {
            ("size", "count")
        } else {
            ("count", "size")
        };
        let mut objects = review["request"]["objects"].clone();
        for object in objects.as_array_mut().unwrap() {
            object["apiVersion"] = wanted.into();
            if let Some(value) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
                object["spec"][to] = value;
            }
        }
        let result = if self.broken.load(Ordering::Relaxed) {
            json!({ "status": "Failure", "message": "cannot do that" })
        } else {
            json!({ "status": "Success" })
        };
        json!({
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": { "uid": review["request"]["uid"], "result": result, "convertedObjects": objects },
        })
    }
}

impl Handler for Converter {
    fn call<'a>(&'a self, _: &'a str, review: Bytes) -> Answering<'a> {
        let answer = self.answer(&serde_json::from_slice(&review).unwrap());
        Box::pin(async move { Ok(Response::new(Bytes::from(answer.to_string()))) })
    }
}

async fn cluster() -> (Client, Arc<Converter>) {
    let client = Client::new();
    let converter = Arc::new(Converter::default());
    client
        .server
        .webhooks()
        .route("hooks.test:443", Arc::clone(&converter) as Arc<dyn Handler>);
    let version = |name: &str, field: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "selectableFields": [{ "jsonPath": format!(".spec.{field}") }],
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": {
                    field: { "type": "integer" }, "note": { "type": "string" },
                } },
            } } },
        })
    };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.demo.example" },
        "spec": {
            "group": "demo.example",
            "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [version("v1", "size", true), version("v2", "count", false)],
            "conversion": { "strategy": "Webhook", "webhook": {
                "clientConfig": { "url": "https://hooks.test:443/convert" }, "conversionReviewVersions": ["v1"],
            } },
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.post(path, &definition).await.code, 201);
    (client, converter)
}

fn thing(version: &str, spec: &Value) -> Value {
    json!({ "apiVersion": format!("demo.example/{version}"), "kind": "Thing", "metadata": { "name": "a" }, "spec": spec })
}

#[tokio::test(start_paused = true)]
async fn an_object_is_written_in_one_version_and_read_in_the_other() {
    let (client, _) = cluster().await;
    assert_eq!(client.post(V2, &thing("v2", &json!({ "count": 1 }))).await.code, 201);
    assert_eq!(client.get(&format!("{V1}/a")).await.body["spec"], json!({ "size": 1 }));
    let changed = client
        .patch(&format!("{V1}/a"), MERGE, &json!({ "spec": { "size": 2 } }))
        .await;
    assert_eq!(changed.body["spec"], json!({ "size": 2 }));
    assert_eq!(client.get(&format!("{V2}/a")).await.body["spec"], json!({ "count": 2 }));
}

#[tokio::test(start_paused = true)]
async fn objects_are_selected_by_the_fields_of_the_version_that_is_asked_for() {
    let (client, _) = cluster().await;
    client.post(V1, &thing("v1", &json!({ "size": 7 }))).await;
    for (path, count) in [
        (format!("{V2}?fieldSelector=spec.count=7"), 1),
        (format!("{V2}?fieldSelector=spec.count=8"), 0),
    ] {
        let list = client.get(&path).await;
        assert_eq!(list.body["items"].as_array().unwrap().len(), count, "{}", list.text);
    }
}

#[tokio::test(start_paused = true)]
async fn fields_are_owned_across_versions() {
    let (client, _) = cluster().await;
    let apply = |path: &str, manager: &str| format!("{path}/a?fieldManager={manager}");
    let two = thing("v2", &json!({ "count": 1, "note": "n" }));
    assert_eq!(client.patch(&apply(V2, "two"), APPLY, &two).await.code, 201);
    let taken = client
        .patch(&apply(V1, "one"), APPLY, &thing("v1", &json!({ "size": 5 })))
        .await;
    assert_eq!(taken.code, 409);
    assert_eq!(taken.body["details"]["causes"][0]["field"], ".spec.count");
    // What an applier no longer sends goes, though it speaks another version now.
    let less = client
        .patch(&apply(V1, "two"), APPLY, &thing("v1", &json!({ "size": 1 })))
        .await;
    assert_eq!(less.body["spec"], json!({ "size": 1 }), "{}", less.text);
}

#[tokio::test(start_paused = true)]
async fn a_broken_converter_fails_the_version_that_needs_it_alone() {
    let (client, converter) = cluster().await;
    client.post(V1, &thing("v1", &json!({ "size": 1 }))).await;
    converter.broken.store(true, Ordering::Relaxed);
    let refused = client.get(&format!("{V2}/a")).await;
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.body["message"],
        "conversion webhook for demo.example/v1, Kind=Thing failed: cannot do that"
    );
    assert_eq!(client.get(&format!("{V1}/a")).await.code, 200);
    assert_eq!(client.post(V2, &json!({
        "apiVersion": "demo.example/v2", "kind": "Thing", "metadata": { "name": "b" }, "spec": { "count": 1 },
    })).await.code, 500);
    assert_eq!(client.get(&format!("{V1}/b")).await.code, 404);
}
