//! Requests that mean harm: each gets a refusal, and the next honest request its answer.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{APPLY, Answer, CONFIG_MAPS, Client, MERGE, config_map};

const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn raw(client: &Client, method: &str, path: &str, content_type: &str, body: impl Into<Bytes>) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Authorization", "Bearer t")
        .header("Content-Type", content_type)
        .body(Full::new(body.into()))
        .unwrap();
    client.send(request).await
}

/// The server still does what it is for.
async fn still_serves(client: &Client) {
    assert_eq!(client.get("/api/v1/namespaces/default").await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_cannot_be_read_are_refused() {
    let client = Client::new();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("application/json", b"{\"apiVersion\":\"v1\",\"kind\":\"Conf".to_vec()),
        ("application/json", b"{\"metadata\":{\"name\":\"a\"}".to_vec()),
        ("application/json", b"{\"metadata\":{\"name\":\"\xff\xfe\"}}".to_vec()),
        ("application/json", b"{\"data\":{\"a\":\"\\ud800\"}".to_vec()),
        ("application/json", deep("[", "]").into_bytes()),
        ("application/json", deep("{\"a\":", "}").into_bytes()),
        ("application/json", vec![b'['; 3_000_000]),
        (
            "application/json",
            b"{\"metadata\":{\"name\":\"a\",\"generation\":1e400}}".to_vec(),
        ),
        (
            "application/json",
            format!("{{\"data\":{}}}", "9".repeat(100_000)).into_bytes(),
        ),
        ("application/yaml", deep("[", "]").into_bytes()),
        ("application/yaml", b"a: &a [*a, *a]\n".to_vec()),
        ("application/yaml", b"\xff\xfe: 1\n".to_vec()),
        ("application/yaml", b"? {a: b}\n: c\n".to_vec()),
        (
            "application/vnd.kubernetes.protobuf",
            b"k8s\0\x0a\xff\xff\xff\xff\x0f".to_vec(),
        ),
        ("application/vnd.kubernetes.protobuf", vec![0x0a; 100_000]),
        ("text/html", b"<html>".to_vec()),
    ];
    for (content_type, body) in bodies {
        let answer = raw(&client, "POST", CONFIG_MAPS, content_type, body.clone()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert!(
            answer.code.is_client_error(),
            "{content_type} {shown}: {} {}",
            answer.code,
            answer.text
        );
        assert_eq!(answer.body["kind"], "Status", "{shown}");
    }
    still_serves(&client).await;
}

#[tokio::test(start_paused = true)]
async fn an_alias_bomb_in_yaml_is_refused() {
    let client = Client::new();
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..30 {
        let item = format!("*a{}, ", i - 1);
        text += &format!("a{i}: &a{i} [{}]\n", item.repeat(9).trim_end_matches(", "));
    }
    let answer = raw(&client, "POST", CONFIG_MAPS, "application/yaml", text).await;
    assert!(answer.code.is_client_error(), "{} {}", answer.code, answer.text);
    still_serves(&client).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_the_limit_is_refused_whether_it_says_so_or_not() {
    let client = Client::new();
    let answer = raw(&client, "POST", CONFIG_MAPS, "application/json", vec![b' '; 4_000_000]).await;
    assert_eq!(
        (answer.code.as_u16(), &answer.body["reason"]),
        (413, &json!("RequestEntityTooLarge"))
    );
    // Without a length, in pieces that never end.
    let pieces = futures::stream::repeat_with(|| {
        Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from_static(&[b' '; 65_536])))
    });
    let request = Request::post(CONFIG_MAPS)
        .header("Authorization", "Bearer t")
        .body(StreamBody::new(pieces))
        .unwrap();
    let response = client.server.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 413);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up_after_a_minute() {
    let client = Client::new();
    let began = tokio::time::Instant::now();
    let first = futures::stream::iter([Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from_static(
        b"{",
    )))]);
    let pieces = futures::StreamExt::chain(first, futures::stream::pending());
    let request = Request::post(CONFIG_MAPS)
        .header("Authorization", "Bearer t")
        .body(StreamBody::new(pieces))
        .unwrap();
    let response = client.server.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 408);
    assert!(began.elapsed() < Duration::from_secs(61));
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(status["message"], "the body did not come within 60 s; send it at once");
}

#[tokio::test(start_paused = true)]
async fn an_object_as_deep_as_may_be_is_stored_whole() {
    let client = Client::new();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "deeps.demo.dev" },
        "spec": {
            "group": "demo.dev", "scope": "Namespaced",
            "names": { "plural": "deeps", "singular": "deep", "kind": "Deep", "listKind": "DeepList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    assert_eq!(client.post(DEFINITIONS, &definition).await.code, 201);
    let nested = |levels: usize| {
        let text = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        format!("{{\"apiVersion\":\"demo.dev/v1\",\"kind\":\"Deep\",\"metadata\":{{\"name\":\"d\"}},\"spec\":{text}}}")
    };
    let deeps = "/apis/demo.dev/v1/namespaces/default/deeps";
    let created = raw(&client, "POST", deeps, "application/json", nested(99)).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let refused = raw(&client, "POST", deeps, "application/json", nested(100)).await;
    assert_eq!(refused.code, 400, "{}", refused.text);
    // What is stored can be read again: a change finds the object as it was.
    let changed = client
        .patch(
            &format!("{deeps}/d"),
            MERGE,
            &json!({ "metadata": { "labels": { "a": "b" } } }),
        )
        .await;
    assert_eq!(changed.code, 200, "{}", changed.text);
    assert!(changed.text.contains(&"\"a\":{".repeat(90)));
}

#[tokio::test(start_paused = true)]
async fn keys_given_twice_are_told_and_under_strict_refused() {
    let client = Client::new();
    let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1"},"data":{"a":"2","a":"3"}}"#;
    let strict = raw(
        &client,
        "POST",
        &format!("{CONFIG_MAPS}?fieldValidation=Strict"),
        "application/json",
        text,
    )
    .await;
    assert_eq!(strict.code, 400, "{}", strict.text);
    let told = raw(&client, "POST", CONFIG_MAPS, "application/json", text).await;
    assert_eq!((told.code.as_u16(), told.warnings.len()), (201, 2), "{}", told.text);
}

#[tokio::test(start_paused = true)]
async fn hostile_queries_and_paths_are_refused() {
    let client = Client::new();
    let long = "a".repeat(10_000);
    for query in [
        "labelSelector=%3D%3D%3D".to_owned(),
        "labelSelector=a%20in%20(".to_owned(),
        format!("labelSelector={}", "(".repeat(10_000)),
        format!("labelSelector={long}%20in%20({long})"),
        "fieldSelector=a%3D%5C".to_owned(),
        "fieldSelector=nothing%3D1".to_owned(),
        "limit=99999999999999999999".to_owned(),
        "continue=%00".to_owned(),
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTl9".to_owned(),
        "resourceVersion=-1".to_owned(),
        "watch=1&timeoutSeconds=abc".to_owned(),
    ] {
        let answer = client.get(&format!("/api/v1/pods?{query}")).await;
        let refused = answer.code.is_client_error()
            || answer.body["message"]
                .as_str()
                .is_some_and(|m| m.contains("Invalid value"));
        assert!(
            refused,
            "{}: {} {}",
            &query[..query.len().min(60)],
            answer.code,
            answer.text
        );
    }
    for path in [
        "/api/v1/namespaces/%zz/pods",
        "/api/v1/namespaces/default/pods/%ff",
        "/%",
        "/api/v1/pods/%00/../..",
    ] {
        let answer = client.get(path).await;
        assert!(answer.code.is_client_error(), "{path}: {}", answer.code);
    }
    still_serves(&client).await;
}

#[tokio::test(start_paused = true)]
async fn patches_that_grow_without_end_are_refused() {
    let client = Client::new();
    client.config_map("a", json!({ "k": "0123456789" })).await;
    let path = config_map("a");
    // Each copy doubles what is there.
    let double: Vec<Value> = (0..200)
        .map(|i| json!({ "op": "copy", "from": "/data", "path": format!("/data/k{i}") }))
        .collect();
    assert_eq!(client.patch(&path, JSON_PATCH, &json!(double)).await.code, 422);
    // Three operations wrap a value in one more level.
    let wrap: Vec<Value> = (0..3000)
        .flat_map(|_| {
            [
                json!({ "op": "add", "path": "/y", "value": {} }),
                json!({ "op": "move", "from": "/data", "path": "/y/data" }),
                json!({ "op": "move", "from": "/y", "path": "/data" }),
            ]
        })
        .collect();
    assert_eq!(client.patch(&path, JSON_PATCH, &json!(wrap)).await.code, 422);
    let many = json!(vec![json!({ "op": "test", "path": "/data/k", "value": "x" }); 10_001]);
    assert_eq!(client.patch(&path, JSON_PATCH, &many).await.code, 413);
    let long: Vec<Value> = (0..5000)
        .map(|i| json!({ "name": format!("c{i}"), "image": "x" }))
        .collect();
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "x" }] } });
    assert_eq!(client.post("/api/v1/namespaces/default/pods", &pod).await.code, 201);
    let answer = client
        .patch(
            "/api/v1/namespaces/default/pods/p",
            STRATEGIC,
            &json!({ "spec": { "containers": long } }),
        )
        .await;
    assert!(answer.code.is_client_error(), "{} {}", answer.code, answer.text);
    for (kind, body) in [
        (JSON_PATCH, "[{\"op\":\"add\",\"path\":\"/data/~2\",\"value\":"),
        (MERGE, "{\"data\":"),
        (APPLY, "{{{{"),
        (APPLY, "- a\n- b\n"),
    ] {
        let answer = raw(&client, "PATCH", &format!("{path}?fieldManager=m"), kind, body).await;
        assert!(answer.code.is_client_error(), "{kind}: {} {}", answer.code, answer.text);
    }
    still_serves(&client).await;
}

#[tokio::test(start_paused = true)]
async fn schemas_made_to_cost_are_taken_or_refused_in_bounded_memory() {
    let client = Client::new();
    let definition = |schema: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "bombs.demo.dev" },
            "spec": {
                "group": "demo.dev", "scope": "Namespaced",
                "names": { "plural": "bombs", "singular": "bomb", "kind": "Bomb", "listKind": "BombList" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": schema },
                } } }],
            },
        })
    };
    let text = json!({ "type": "string" });
    let nested = |levels: usize| {
        (0..levels).fold(
            text.clone(),
            |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
        )
    };
    let patterns: serde_json::Map<String, Value> = (0..300)
        .map(|i| {
            (
                format!("p{i}"),
                json!({ "type": "string", "pattern": format!("^[\\p{{L}}]{{{}}}$", 300 + i) }),
            )
        })
        .collect();
    let rule = |rule: String| json!({ "type": "string", "x-kubernetes-validations": [{ "rule": rule }] });
    let schemas = [
        nested(40),
        nested(60),
        json!({ "type": "object", "properties": patterns }),
        json!({ "type": "string", "pattern": "((((a{100}){100}){100}){100}" }),
        rule("(".repeat(60_000)),
        rule("!".repeat(60_000) + "true"),
        rule("self".to_owned() + &".a".repeat(30_000)),
        rule("1".to_owned() + &"+1".repeat(30_000) + " > 0"),
        rule("[".repeat(20_000) + &"]".repeat(20_000) + " == []"),
        json!({ "type": "string", "allOf": vec![json!({ "maxLength": 1 }); 20_000] }),
    ];
    for schema in schemas {
        let answer = client.post(DEFINITIONS, &definition(schema)).await;
        assert!(
            answer.code.is_success() || answer.code.is_client_error(),
            "{} {}",
            answer.code,
            answer.text
        );
        if answer.code.is_success() {
            let bomb = json!({ "apiVersion": "demo.dev/v1", "kind": "Bomb", "metadata": { "name": "b" }, "spec": { "p0": "x" } });
            let answer = client.post("/apis/demo.dev/v1/namespaces/default/bombs", &bomb).await;
            assert!(
                answer.code.is_success() || answer.code.is_client_error(),
                "{} {}",
                answer.code,
                answer.text
            );
            client.delete("/apis/demo.dev/v1/namespaces/default/bombs/b").await;
            client.delete(&format!("{DEFINITIONS}/bombs.demo.dev")).await;
            client
                .patch(
                    &format!("{DEFINITIONS}/bombs.demo.dev"),
                    MERGE,
                    &json!({ "metadata": { "finalizers": null } }),
                )
                .await;
        }
        still_serves(&client).await;
    }
}
