//! What every fuzz target does with an input: it becomes a request, and the server answers it without breaking.
//!
//! The inputs go through the server's whole path, in process. `fuzz/` includes this file.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kubewright_apiserver::server::InProcess;
use kubewright_apiserver::{ApiServer, Clock};
use serde_json::{Value, json};
use tower::ServiceExt;

const JSON: &str = "application/json";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/demo.dev/v1/namespaces/default/things";

/// Bodies to begin from; the first byte chooses media type and kind.
pub(crate) const BODIES: &[&[u8]] = &[
    b"0{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"b\"}},\"data\":{\"k\":\"v\"}}",
    b"1apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: |\n    v\n",
    b"2k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x07\n\x05\n\x01a\x12\0\x1a\0\"\0",
    b"3{\"apiVersion\":\"demo.dev/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"a\":\"x\",\"n\":1.5,\"list\":[{\"name\":\"x\",\"v\":1}]}}",
    b"4{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"100m\"}}}]}}",
    b"5apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i}]}\n",
];

/// Selectors to begin from: labels, a newline, fields.
pub(crate) const SELECTORS: &[&[u8]] = &[
    b"a=b,c!=d,e in (f,g),!h,i\nmetadata.name=a,status.phase!=Running",
    b"a notin (b),c>1,d<2\nspec.nodeName=\\,\\=",
];

/// Patches to begin from; the first byte chooses kind and object.
pub(crate) const PATCHES: &[&[u8]] = &[
    b"0[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"v\"},{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/x\"},{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/y\"},{\"op\":\"remove\",\"path\":\"/y\"}]",
    b"1{\"data\":{\"k\":null,\"l\":\"m\"},\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
    b"2{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"c\"}],\"containers\":[{\"name\":\"c\",\"image\":\"j\"},{\"$patch\":\"delete\",\"name\":\"d\"}]}},\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"Recreate\"}}}",
    b"3[{\"op\":\"add\",\"path\":\"/spec/list/-\",\"value\":{\"name\":\"y\"}},{\"op\":\"replace\",\"path\":\"/spec/a\",\"value\":\"z\"}]",
    b"4{\"spec\":{\"list\":[{\"name\":\"z\"}],\"n\":2}}",
];

/// Applied configurations to begin from; the first byte chooses the object.
pub(crate) const CONFIGURATIONS: &[&[u8]] = &[
    b"0apiVersion: demo.dev/v1\nkind: Thing\nmetadata: {name: thing}\nspec: {a: y, list: [{name: x, v: 2}, {name: w}], set: [a, b]}\n",
    b"1{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"deployment\"},\"spec\":{\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"A\",\"value\":\"b\"}]}]}}}}",
];

/// Schemas to begin from, each with a rule.
pub(crate) const SCHEMAS: &[&[u8]] = &[
    b"{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"default\":\"x\"},\"l\":{\"type\":\"array\",\"maxItems\":3,\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"type\":\"string\"}}}}},\"x-kubernetes-validations\":[{\"rule\":\"self.a.size() < 3 && (!has(self.l) || self.l.all(i, i.k != ''))\",\"message\":\"m\"}]}}}",
    b"{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{\"spec\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-kubernetes-int-or-string\":true}}}",
];

/// A server with some objects.
pub(crate) struct Harness {
    runtime: tokio::runtime::Runtime,
    service: InProcess,
}

impl Harness {
    /// Makes the server.
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let clock = runtime.block_on(async { Clock::new(jiff::Timestamp::UNIX_EPOCH, 1) });
        let server = ApiServer::builder().token("t").history(10).clock(clock).build();
        let harness = Self {
            runtime,
            service: server.service(),
        };
        let thing = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "a": { "type": "string", "maxLength": 20 },
            "n": { "type": "number", "minimum": 0 },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "list": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string" }, "v": { "type": "integer" },
                } },
            },
        } } } });
        harness.made(DEFINITIONS, &definition("things", "Thing", &thing));
        harness.made(
            THINGS,
            &json!({
                "apiVersion": "demo.dev/v1", "kind": "Thing", "metadata": { "name": "thing" },
                "spec": { "a": "x", "list": [{ "name": "x", "v": 1 }] },
            }),
        );
        harness.made(
            "/api/v1/namespaces/default/configmaps",
            &json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "map" }, "data": { "k": "v" },
            }),
        );
        harness.made("/apis/apps/v1/namespaces/default/deployments", &json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "deployment" },
            "spec": {
                "selector": { "matchLabels": { "a": "b" } },
                "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
            },
        }));
        harness
    }

    fn made(&self, path: &str, object: &Value) {
        let (code, text) = self.ask("POST", path, JSON, object.to_string().as_bytes());
        assert_eq!(code, 201, "{}", String::from_utf8_lossy(&text));
    }

    /// Sends a request; the answer must be one that the server meant to give.
    fn ask(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> (u16, Bytes) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", "Bearer t")
            .header("content-type", content_type)
            .body(Full::new(Bytes::copy_from_slice(body)))
            .unwrap();
        let (code, text) = self.runtime.block_on(async {
            let response = self.service.clone().oneshot(request).await.unwrap();
            (
                response.status().as_u16(),
                response.into_body().collect().await.unwrap().to_bytes(),
            )
        });
        let shown = || String::from_utf8_lossy(&text).into_owned();
        // A handler that panics is answered with these words.
        assert!(
            !shown().contains("the handler of the request failed"),
            "{method} {path}: {}",
            shown()
        );
        let value: Value =
            serde_json::from_slice(&text).unwrap_or_else(|why| panic!("{method} {path}: {why}: {}", shown()));
        assert!(value.is_object(), "{method} {path}: {}", shown());
        (code, text)
    }

    /// A write, tried and then done; what was stored reads as it was answered.
    fn write(&self, method: &str, path: &str, query: &str, content_type: &str, body: &[u8]) {
        let (tried, _) = self.ask(method, &format!("{path}?{query}&dryRun=All"), content_type, body);
        if tried >= 300 {
            return;
        }
        let (code, written) = self.ask(method, &format!("{path}?{query}"), content_type, body);
        assert!(
            code < 300,
            "a dry run succeeded with {tried}, the write failed with {code}: {}",
            String::from_utf8_lossy(&written)
        );
        let value: Value = serde_json::from_slice(&written).unwrap();
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        let place = if method == "POST" {
            format!("{path}/{name}")
        } else {
            path.to_owned()
        };
        let (_, read) = self.ask("GET", &place, JSON, b"");
        assert_eq!(read, written, "{place} was answered differently from how it is stored");
        if method == "POST" {
            self.ask("DELETE", &place, JSON, b"");
        }
    }
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

/// A body in JSON, YAML or protobuf, created.
pub(crate) fn body(harness: &Harness, data: &[u8]) {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let maps = "/api/v1/namespaces/default/configmaps";
    let (path, media) = match choice % 6 {
        0 => (maps, JSON),
        1 => (maps, "application/yaml"),
        2 => (maps, "application/vnd.kubernetes.protobuf"),
        3 => (THINGS, JSON),
        4 => ("/api/v1/namespaces/default/pods", JSON),
        _ => ("/apis/apps/v1/namespaces/default/deployments", "application/yaml"),
    };
    harness.write("POST", path, "fieldManager=fuzz", media, body);
}

/// A label selector and a field selector, listed by.
pub(crate) fn selector(harness: &Harness, data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let encoded = |part: Option<&[u8]>| {
        part.unwrap_or_default()
            .iter()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<String>()
    };
    let (labels, fields) = (encoded(parts.next()), encoded(parts.next()));
    harness.ask("GET", &format!("/api/v1/pods?labelSelector={labels}"), JSON, b"");
    harness.ask("GET", &format!("/api/v1/pods?fieldSelector={fields}"), JSON, b"");
}

/// A patch of each kind.
pub(crate) fn patch(harness: &Harness, data: &[u8]) {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let map = "/api/v1/namespaces/default/configmaps/map";
    let thing = format!("{THINGS}/thing");
    let (path, media) = match choice % 5 {
        0 => (map, "application/json-patch+json"),
        1 => (map, "application/merge-patch+json"),
        2 => (
            "/apis/apps/v1/namespaces/default/deployments/deployment",
            "application/strategic-merge-patch+json",
        ),
        3 => (thing.as_str(), "application/json-patch+json"),
        _ => (thing.as_str(), "application/merge-patch+json"),
    };
    harness.ask("PATCH", &format!("{path}?dryRun=All"), media, body);
}

/// An applied configuration.
pub(crate) fn apply(harness: &Harness, data: &[u8]) {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let thing = format!("{THINGS}/thing");
    let path = match choice % 2 {
        0 => thing.as_str(),
        _ => "/apis/apps/v1/namespaces/default/deployments/deployment",
    };
    harness.ask(
        "PATCH",
        &format!("{path}?fieldManager=fuzz&force=true&dryRun=All"),
        "application/apply-patch+yaml",
        body,
    );
}

/// A schema, and an object of its kind.
pub(crate) fn schema(harness: &Harness, data: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let (code, _) = harness.ask(
        "POST",
        DEFINITIONS,
        JSON,
        definition("others", "Other", &schema).to_string().as_bytes(),
    );
    if code >= 300 {
        return;
    }
    let others = "/apis/demo.dev/v1/namespaces/default/others";
    for spec in [
        json!({ "a": "x", "l": [{ "k": "v" }] }),
        json!(1),
        json!("x"),
        json!([]),
    ] {
        let object = json!({ "apiVersion": "demo.dev/v1", "kind": "Other", "metadata": { "name": "o" }, "spec": spec });
        harness.ask(
            "POST",
            &format!("{others}?dryRun=All"),
            JSON,
            object.to_string().as_bytes(),
        );
    }
    let place = format!("{DEFINITIONS}/others.demo.dev");
    harness.ask("DELETE", &place, JSON, b"");
    // Nobody cleans up here; the definition goes with its last finalizer.
    harness.ask(
        "PATCH",
        &place,
        "application/merge-patch+json",
        br#"{"metadata":{"finalizers":null}}"#,
    );
}

fn definition(plural: &str, kind: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.demo.dev") },
        "spec": {
            "group": "demo.dev", "scope": "Namespaced",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}
