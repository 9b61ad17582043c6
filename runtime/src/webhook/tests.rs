//! The handler, called as a server would call it: with recorded reviews, and with hostile ones.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request as HttpRequest, StatusCode};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;
use crate::error::Result;
use crate::metrics::Metrics;
use crate::object::Object;

/// Reviews that a real API server (1.36.3) sent, one a line.
const ADMISSION: &str = include_str!("recorded/admission.jsonl");
const CONVERSION: &str = include_str!("recorded/conversion.jsonl");

mod v1 {
    use super::*;

    #[derive(kube::CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
    #[kube(
        group = "demo.dev",
        version = "v1",
        kind = "Thing",
        namespaced,
        status = "ThingStatus",
        derive = "PartialEq"
    )]
    pub(super) struct ThingSpec {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) size: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) note: Option<String>,
    }
}

mod v2 {
    use super::*;

    #[derive(kube::CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
    #[kube(
        group = "demo.dev",
        version = "v2",
        kind = "Thing",
        namespaced,
        status = "ThingStatus",
        derive = "PartialEq"
    )]
    pub(super) struct ThingSpec {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) count: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) note: Option<String>,
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct ThingStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl From<v2::Thing> for v1::Thing {
    fn from(thing: v2::Thing) -> Self {
        let v2::ThingSpec { count, note } = thing.spec;
        let spec = v1::ThingSpec { size: count, note };
        Self {
            metadata: thing.metadata,
            spec,
            status: thing.status,
        }
    }
}

impl From<v1::Thing> for v2::Thing {
    fn from(thing: v1::Thing) -> Self {
        let v1::ThingSpec { size, note } = thing.spec;
        let spec = v2::ThingSpec { count: size, note };
        Self {
            metadata: thing.metadata,
            spec,
            status: thing.status,
        }
    }
}

/// Judges any kind; what it does is in the object's name.
struct Hooks<K>(std::marker::PhantomData<fn() -> K>);

impl<K: Object> Hooks<K> {
    fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<K: Object> Webhooks for Hooks<K> {
    type Kind = K;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let all = [
            Operation::Create,
            Operation::Update,
            Operation::Delete,
            Operation::Connect,
        ];
        d.for_::<K>().validate().mutate().operations(all)
    }
}

impl<K: Object> Validate<K> for Hooks<K> {
    async fn create(&self, object: &K, _: &Request) -> Result<Verdict> {
        match object.meta().name.as_deref() {
            Some("it-panics") => panic!("oh"),
            Some("it-slow") => tokio::time::sleep(Duration::from_secs(3600)).await,
            Some("it-fails") => return Err("no database".into()),
            Some("it-denied") => return Err(Denied::new("not on a Friday").into()),
            Some("it-invalid") => return Ok(FieldError::forbidden("metadata.name", "not this one").into()),
            _ => {}
        }
        Ok(Verdict::allowed())
    }
}

impl<K: Object> Mutate<K> for Hooks<K> {
    async fn mutate(&self, mut object: K, _: &Request) -> Result<K> {
        let labels = object.meta_mut().labels.get_or_insert_default();
        labels.insert("seen".to_owned(), "true".to_owned());
        Ok(object)
    }
}

struct Versions;

impl Webhooks for Versions {
    type Kind = v1::Thing;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<v1::Thing>().convert::<v2::Thing>().validate().mutate()
    }
}

impl Validate<v1::Thing> for Versions {
    async fn create(&self, _: &v1::Thing, _: &Request) -> Result<Verdict> {
        Ok(Verdict::allowed())
    }
}

impl Mutate<v1::Thing> for Versions {
    async fn mutate(&self, mut thing: v1::Thing, _: &Request) -> Result<v1::Thing> {
        thing.spec.note.get_or_insert_with(|| "filled in".to_owned());
        Ok(thing)
    }
}

fn handler() -> (Handler, Metrics) {
    fn of<K: Object>() -> Registered {
        Declaration::<Hooks<K>>::of().erase(Hooks::new())
    }
    let metrics = Metrics::new();
    let registered = [
        of::<ConfigMap>(),
        of::<Secret>(),
        of::<Namespace>(),
        of::<Pod>(),
        of::<Deployment>(),
        of::<CustomResourceDefinition>(),
        Declaration::of().erase(Versions),
    ];
    (Handler::new("op", &registered, &metrics), metrics)
}

async fn post(handler: &Handler, path: &str, body: impl Into<Bytes>) -> (StatusCode, String) {
    let request = HttpRequest::post(path)
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap();
    let response = handler.call(request).await;
    (response.status(), String::from_utf8_lossy(response.body()).into_owned())
}

async fn review(handler: &Handler, path: &str, body: &str) -> Value {
    let (status, answer) = post(handler, path, body.to_owned()).await;
    assert_eq!(status, 200, "{body}\n{answer}");
    serde_json::from_str(&answer).unwrap()
}

fn paths(kind: &Value) -> [String; 2] {
    let text = |field: &str| kind[field].as_str().unwrap().to_owned();
    let plural = format!("{}s", text("kind").to_lowercase());
    let full = if text("group").is_empty() {
        plural
    } else {
        format!("{plural}.{}", text("group"))
    };
    ["validate", "mutate"].map(|purpose| format!("/{purpose}/{full}/{}?timeout=10s", text("version")))
}

#[tokio::test(start_paused = true)]
async fn every_recorded_admission_review_gets_an_answer_that_the_api_server_takes() {
    let (handler, _) = handler();
    let mut answered = 0;
    for line in ADMISSION.lines() {
        let asked: Value = serde_json::from_str(line).unwrap();
        let request = &asked["request"];
        let own = json!({ "group": request["resource"]["group"], "version": request["kind"]["version"], "kind": request["kind"]["kind"] });
        // Subresources have kinds of their own; the webhook is that of their resource.
        let kind = match request["kind"]["kind"].as_str().unwrap() {
            "PodAttachOptions" | "PodExecOptions" | "PodProxyOptions" => {
                json!({ "group": "", "version": "v1", "kind": "Pod" })
            }
            "Scale" => json!({ "group": "apps", "version": "v1", "kind": "Deployment" }),
            "Globe" => continue,
            _ => own.clone(),
        };
        for path in paths(&kind) {
            let (status, text) = post(&handler, &path, line.to_owned()).await;
            if asked["apiVersion"] != "admission.k8s.io/v1" {
                assert_eq!(status, 400, "{text}");
                assert!(
                    text.contains("expected a AdmissionReview of admission.k8s.io/v1"),
                    "{text}"
                );
                continue;
            }
            assert_eq!(status, 200, "{text}");
            let answer: Value = serde_json::from_str(&text).unwrap();
            let response = &answer["response"];
            assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
            assert_eq!(answer["kind"], "AdmissionReview");
            assert_eq!(response["uid"], request["uid"], "{text}");
            let spec = &request["object"]["spec"];
            let misfit = kind["kind"] == "Thing"
                && request["operation"] != "DELETE"
                && (spec.is_null() || spec["size"].is_string());
            let writes = ["CREATE", "UPDATE"].contains(&request["operation"].as_str().unwrap());
            let complete = kind["kind"] == "Thing" && spec["note"].is_string();
            let deleting = !request["object"]["metadata"]["deletionTimestamp"].is_null();
            if kind == own && !deleting {
                let changes = path.starts_with("/mutate") && writes && !complete && !misfit;
                assert_eq!(response["allowed"], !misfit, "{line}\n{text}");
                assert_eq!(response["patch"].is_string(), changes, "{line}\n{text}");
            }
            // The server refuses a type without a patch, and both of a validating webhook.
            assert_eq!(response["patch"].is_string(), response["patchType"] == "JSONPatch");
            assert!(!path.starts_with("/validate") || response["patch"].is_null());
            answered += 1;
        }
    }
    assert!(answered > 150, "{answered}");
}

#[tokio::test(start_paused = true)]
async fn every_recorded_conversion_review_gets_its_objects_with_nothing_but_the_version_changed() {
    let (handler, _) = handler();
    let mut answered = 0;
    for line in CONVERSION.lines() {
        let asked: Value = serde_json::from_str(line).unwrap();
        let (status, text) = post(&handler, "/convert/things.demo.dev?timeout=30s", line.to_owned()).await;
        if asked["apiVersion"] != "apiextensions.k8s.io/v1" {
            assert_eq!(status, 400, "{text}");
            continue;
        }
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let response = &answer["response"];
        assert_eq!(response["uid"], asked["request"]["uid"]);
        assert_eq!(response["result"]["status"], "Success", "{text}");
        let before = asked["request"]["objects"].as_array().unwrap();
        let after = response["convertedObjects"].as_array().unwrap();
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(after) {
            assert_eq!(after["apiVersion"], asked["request"]["desiredAPIVersion"]);
            assert_eq!(after["kind"], before["kind"]);
            assert_eq!(after["metadata"], before["metadata"]);
            assert_eq!(after["status"], before["status"]);
            let (old, new) = (&before["spec"], &after["spec"]);
            assert_eq!(
                old.get("size").or(old.get("count")),
                new.get("size").or(new.get("count")),
                "{text}"
            );
        }
        answered += 1;
    }
    assert!(answered >= 30, "{answered}");
}

fn asking(name: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "operation": "CREATE",
            "name": name,
            "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "unknown": { "kept": [1] } },
        },
    })
}

const VALIDATE: &str = "/validate/configmaps/v1";

#[tokio::test(start_paused = true)]
async fn hostile_reviews_get_the_right_refusal_and_nothing_panics() {
    let (handler, metrics) = handler();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut review = asking("a");
        change(&mut review);
        review.to_string()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (body, code, says) in [
        (String::new(), 400, "cannot be read"),
        ("{".to_owned(), 400, "cannot be read"),
        ("[]".to_owned(), 400, "got a \"\" of \"\""),
        (deep, 400, "cannot be read"),
        ("\u{0}\u{1}".to_owned(), 400, "cannot be read"),
        ("{}".to_owned(), 400, "got a \"\" of \"\""),
        (
            with(&|r| r["apiVersion"] = "admission.k8s.io/v1beta1".into()),
            400,
            "v1beta1",
        ),
        (
            with(&|r| r["apiVersion"] = "admission.k8s.io/v2".into()),
            400,
            "admission.k8s.io/v2",
        ),
        (
            with(&|r| {
                r["apiVersion"] = "admission.k8s.io/v2".into();
                r["request"] = json!(["another", "form"]);
            }),
            400,
            "expected a AdmissionReview of admission.k8s.io/v1",
        ),
        (
            with(&|r| r["kind"] = "ConversionReview".into()),
            400,
            "ConversionReview",
        ),
        (with(&|r| r["request"] = Value::Null), 400, "has no request"),
        (with(&|r| r["request"]["uid"] = "".into()), 400, "no uid"),
        (with(&|r| r["request"]["uid"] = 7.into()), 400, "cannot be read"),
        (with(&|r| r["request"]["operation"] = "EXPLODE".into()), 400, "EXPLODE"),
    ] {
        let (status, text) = post(&handler, VALIDATE, body.clone()).await;
        assert_eq!(status.as_u16(), code, "{text}");
        assert!(text.contains(says), "{text}");
    }
    // What can be read and makes no sense is refused in a review.
    for (body, says) in [
        (
            with(&|r| r["request"]["kind"]["kind"] = "Pod".into()),
            "was asked about Pod of /v1",
        ),
        (with(&|r| r["request"]["object"] = Value::Null), "no object"),
        (
            with(&|r| r["request"]["object"] = 7.into()),
            "cannot be read as the operator knows the kind",
        ),
        (
            with(&|r| r["request"]["object"]["data"] = json!([1])),
            "cannot be read as the operator knows the kind",
        ),
    ] {
        let answer = review(&handler, VALIDATE, &body).await;
        assert_eq!(answer["response"]["allowed"], false);
        assert_eq!(answer["response"]["uid"], "u");
        let message = answer["response"]["status"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(says), "{message}");
    }
    let (status, text) = post(&handler, "/validate/pods/v2", asking("a").to_string()).await;
    assert_eq!(status, 404);
    assert!(
        text.contains("op has no webhook at /validate/pods/v2, but at /convert/things.demo.dev"),
        "{text}"
    );
    let get = HttpRequest::builder()
        .method(Method::GET)
        .uri(VALIDATE)
        .body(Bytes::new())
        .unwrap();
    let response = handler.call(get).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["allow"]),
        (405, &"POST".parse().unwrap())
    );
    let form = HttpRequest::post(VALIDATE)
        .header("content-type", "text/html")
        .body(Bytes::new())
        .unwrap();
    assert_eq!(handler.call(form).await.status(), 415);
    let text = metrics.encode(false);
    for line in [
        "controller_runtime_webhook_requests_total{webhook=\"/validate/configmaps/v1\",code=\"400\"} 14",
        "controller_runtime_webhook_requests_total{webhook=\"/validate/configmaps/v1\",code=\"200\"} 4",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/validate/configmaps/v1\"} 0",
        "controller_runtime_webhook_latency_seconds_count{webhook=\"/validate/configmaps/v1\"} 20",
    ] {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_a_delay_and_an_error_are_failures_and_no_refusals() {
    let (handler, metrics) = handler();
    let ask = |name: &'static str, timeout: &'static str| {
        let handler = handler.clone();
        async move {
            post(
                &handler,
                &format!("{VALIDATE}?timeout={timeout}"),
                asking(name).to_string(),
            )
            .await
        }
    };
    let (status, text) = ask("it-panics", "10s").await;
    assert_eq!(status, 500);
    assert!(text.contains("op panicked in its webhook for configmaps: oh"), "{text}");
    let began = tokio::time::Instant::now();
    let (status, text) = ask("it-slow", "5s").await;
    assert_eq!(status, 504);
    assert!(text.contains("op did not answer for configmaps within 4.5 s"), "{text}");
    assert_eq!(
        began.elapsed(),
        Duration::from_millis(4500),
        "a little less than the server waits"
    );
    let (status, text) = ask("it-fails", "10s").await;
    assert_eq!(status, 500);
    assert!(text.contains("no database"), "{text}");
    assert!(
        metrics
            .encode(false)
            .contains("requests_in_flight{webhook=\"/validate/configmaps/v1\"} 0")
    );
    for (name, code, says) in [
        ("it-denied", 403, "not on a Friday"),
        (
            "it-invalid",
            422,
            "ConfigMap \"it-invalid\" is invalid: metadata.name: Forbidden: not this one",
        ),
    ] {
        let (_, text) = ask(name, "10s").await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        let response = &answer["response"];
        assert_eq!(response["allowed"], false);
        assert_eq!(
            (&response["status"]["code"], &response["status"]["message"]),
            (&json!(code), &json!(says))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_a_patch_of_what_was_sent_and_of_nothing_else() {
    let (handler, _) = handler();
    let answer = review(&handler, "/mutate/configmaps/v1", &asking("a").to_string()).await;
    use base64::Engine as _;
    let patch = base64::engine::general_purpose::STANDARD
        .decode(answer["response"]["patch"].as_str().unwrap())
        .unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    assert_eq!(
        patch,
        json!([{ "op": "add", "path": "/metadata/labels", "value": { "seen": "true" } }])
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_lets_go_of_an_object_that_is_being_deleted_is_not_held_up() {
    let (handler, _) = handler();
    let mut asked = asking("it-invalid");
    asked["request"]["operation"] = "UPDATE".into();
    let mut old = asked["request"]["object"].clone();
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    old["metadata"]["finalizers"] = json!(["demo.dev/x"]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    asked["request"]["oldObject"] = old;
    asked["request"]["object"] = new;
    assert_eq!(
        review(&handler, VALIDATE, &asked.to_string()).await["response"]["allowed"],
        true
    );
    asked["request"]["object"]["data"] = json!({ "a": "b" });
    assert_eq!(
        review(&handler, VALIDATE, &asked.to_string()).await["response"]["allowed"],
        false
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_converted_fail_the_review_with_the_reason() {
    let (handler, _) = handler();
    let asked = |to: &str, object: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": { "uid": "u", "desiredAPIVersion": to, "objects": [
                { "apiVersion": "demo.dev/v1", "kind": "Thing", "metadata": { "name": "fine" }, "spec": {} }, object,
            ]},
        })
        .to_string()
    };
    let thing = |spec: Value| json!({ "apiVersion": "demo.dev/v1", "kind": "Thing", "metadata": { "name": "t" }, "spec": spec });
    for (body, says) in [
        (
            asked("demo.dev/v2", thing(json!({ "size": "big" }))),
            "Thing \"t\": cannot be read as demo.dev/v1",
        ),
        (
            asked("demo.dev/v3", thing(json!({}))),
            "demo.dev/v3 Thing is not converted here, which knows demo.dev/v1, demo.dev/v2",
        ),
        (asked("demo.dev/v2", json!(7)), "an object is no JSON"),
    ] {
        let answer = review(&handler, "/convert/things.demo.dev", &body).await;
        let response = &answer["response"];
        assert_eq!(
            (&response["result"]["status"], &response["convertedObjects"]),
            (&json!("Failure"), &json!([]))
        );
        let message = response["result"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn a_conversion_that_loses_a_field_is_refused_unless_the_loss_is_declared() {
    mod poor {
        use super::*;

        #[derive(kube::CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
        #[kube(
            group = "demo.dev",
            version = "v1alpha1",
            kind = "Thing",
            namespaced,
            status = "ThingStatus"
        )]
        pub(super) struct ThingSpec {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub(super) size: Option<i64>,
        }
    }
    impl From<poor::Thing> for v1::Thing {
        fn from(thing: poor::Thing) -> Self {
            let spec = v1::ThingSpec {
                size: thing.spec.size,
                note: None,
            };
            Self {
                metadata: thing.metadata,
                spec,
                status: thing.status,
            }
        }
    }
    impl From<v1::Thing> for poor::Thing {
        fn from(thing: v1::Thing) -> Self {
            let spec = poor::ThingSpec { size: thing.spec.size };
            Self {
                metadata: thing.metadata,
                spec,
                status: thing.status,
            }
        }
    }
    struct Careless;
    impl Webhooks for Careless {
        type Kind = v1::Thing;
        fn declare(d: Declaration<Self>) -> Declaration<Self> {
            d.for_::<v1::Thing>().convert::<poor::Thing>()
        }
    }
    let refused = Declaration::<Careless>::of()
        .declared()
        .check()
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "the webhooks for things.demo.dev cannot be: v1 → v1alpha1 → v1 loses spec.note: keep it, for example in an \
         annotation (see `webhook::keep`), or declare the loss: `.loses::<v1alpha1::Thing>(\"spec.note\")`"
    );
    let declared = Declaration::<Careless>::of().loses::<poor::Thing>("spec.note");
    assert_eq!(declared.declared().check(), Ok(()));
    assert_eq!(Declaration::<Versions>::of().declared().check(), Ok(()));
}

#[test]
fn declarations_that_make_no_sense_say_what_to_change() {
    struct Leases;
    impl Webhooks for Leases {
        type Kind = k8s_openapi::api::coordination::v1::Lease;
        fn declare(d: Declaration<Self>) -> Declaration<Self> {
            d.for_::<k8s_openapi::api::coordination::v1::Lease>().validate()
        }
    }
    impl Validate<k8s_openapi::api::coordination::v1::Lease> for Leases {
        async fn create(&self, _: &k8s_openapi::api::coordination::v1::Lease, _: &Request) -> Result<Verdict> {
            Ok(Verdict::allowed())
        }
    }
    let said = Declaration::<Leases>::of().declared().check().unwrap_err().to_string();
    assert!(said.contains("keep the operator from leading"), "{said}");
    let said = Declaration::<Hooks<Pod>>::of()
        .object_selector("a in b")
        .timeout(Duration::from_millis(1500))
        .operations([])
        .declared()
        .check()
        .unwrap_err();
    assert_eq!(said.problems.len(), 3, "{said}");
}

#[test]
fn configurations_name_one_kind_and_leave_the_operators_own_namespace_out_where_it_needs_the_kind() {
    let (reach, trust) = (Reach::Service, Trust::Injected);
    let configuration = Configuration {
        operator: "op",
        namespace: "ops",
        reach: &reach,
        trust: &trust,
    };
    let of_pods = Declaration::<Hooks<Pod>>::of()
        .object_selector("app=web,!old")
        .declared()
        .clone();
    let of_things = Declaration::<Versions>::of().declared().clone();
    let objects = configuration.objects(&[of_pods, of_things.clone()]);
    assert_eq!(objects[0]["kind"], "MutatingWebhookConfiguration");
    let pods = &objects[1]["webhooks"][0];
    assert_eq!(
        pods["rules"][0]["operations"],
        json!(["CREATE", "UPDATE", "DELETE", "CONNECT"])
    );
    assert_eq!(
        objects[0]["webhooks"][0]["rules"][0]["operations"],
        json!(["CREATE", "UPDATE", "CONNECT"])
    );
    assert_eq!(pods["name"], "validate.pods.core");
    assert_eq!(
        pods["namespaceSelector"]["matchExpressions"][0]["values"],
        json!(["ops"])
    );
    assert_eq!(
        pods["objectSelector"],
        json!({ "matchExpressions": [
            { "key": "app", "operator": "In", "values": ["web"] },
            { "key": "old", "operator": "DoesNotExist" },
        ]})
    );
    let things = &objects[1]["webhooks"][1];
    assert!(things.get("namespaceSelector").is_none());
    assert_eq!(things["rules"][0]["apiVersions"], json!(["v1"]));
    let path = things["clientConfig"]["service"]["path"].as_str().unwrap();
    assert_eq!(
        path,
        "/validate/things.demo.dev/v1/when-this-fails/see-whether-pods-run-of/op"
    );
    let definitions = configuration.definitions(&[of_things]).unwrap();
    let definition = &definitions["things.demo.dev"];
    assert_eq!(definition["spec"]["conversion"]["strategy"], "Webhook");
    let versions: Vec<(&Value, &Value)> = definition["spec"]["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| (&version["name"], &version["storage"]))
        .collect();
    assert_eq!(versions, [(&json!("v1"), &json!(true)), (&json!("v2"), &json!(false))]);
}
