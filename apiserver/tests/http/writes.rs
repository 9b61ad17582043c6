use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{APPLY, CONFIG_MAPS, Client, MERGE, config_map};

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_keeps_the_resource_version() {
    let client = Client::new();
    let created = client.config_map("a", json!({ "k": "v" })).await.body;
    tokio::time::advance(Duration::from_secs(5)).await;
    let put = client.put(&config_map("a"), &created).await;
    assert_eq!(version(&put.body), version(&created));
    let patch = client
        .patch(&config_map("a"), MERGE, &json!({ "data": { "k": "v" } }))
        .await;
    assert_eq!(version(&patch.body), version(&created));
}

#[tokio::test(start_paused = true)]
async fn a_stale_resource_version_is_a_conflict_and_none_overwrites() {
    let client = Client::new();
    let mut old = client.config_map("a", json!({ "k": "1" })).await.body;
    client
        .patch(&config_map("a"), MERGE, &json!({ "data": { "k": "2" } }))
        .await;
    old["data"]["k"] = "3".into();
    assert_eq!(client.put(&config_map("a"), &old).await.code, 409);
    old["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let written = client.put(&config_map("a"), &old).await;
    assert_eq!((written.code.as_u16(), &written.body["data"]["k"]), (200, &json!("3")));
}

#[tokio::test(start_paused = true)]
async fn generated_names_are_unique_and_follow_from_the_seed() {
    let object = json!({ "metadata": { "generateName": "g-" } });
    let mut names = Vec::new();
    for _ in 0..2 {
        let client = Client::new();
        let first = client.post(CONFIG_MAPS, &object).await.body["metadata"]["name"].clone();
        let second = client.post(CONFIG_MAPS, &object).await.body["metadata"]["name"].clone();
        assert_ne!(first, second);
        names.push((first, second));
    }
    assert_eq!(names[0], names[1]);
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_one_goes() {
    let client = Client::new();
    client.config_map("a", json!({})).await;
    client
        .patch(
            &config_map("a"),
            MERGE,
            &json!({ "metadata": { "finalizers": ["x.example/f"] } }),
        )
        .await;
    let marked = client.delete(&config_map("a")).await;
    assert_eq!(marked.body["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(client.get(&config_map("a")).await.code, 200);
    let more = json!({ "metadata": { "finalizers": ["x.example/f", "x.example/g"] } });
    assert_eq!(client.patch(&config_map("a"), MERGE, &more).await.code, 422);
    let last = client
        .patch(&config_map("a"), MERGE, &json!({ "metadata": { "finalizers": null } }))
        .await;
    assert_eq!(last.code, 200);
    assert_eq!(client.get(&config_map("a")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_like_the_write_and_stores_nothing() {
    let client = Client::new();
    let before = client.server.store().revision();
    let object = json!({ "metadata": { "name": "a" }, "data": { "k": "v" } });
    let answer = client.post(&format!("{CONFIG_MAPS}?dryRun=All"), &object).await;
    assert_eq!(answer.code, 201);
    assert!(answer.body["metadata"]["uid"].is_string());
    assert!(answer.body["metadata"]["resourceVersion"].is_null());
    assert_eq!(client.server.store().revision(), before);
}

#[tokio::test(start_paused = true)]
async fn unknown_and_doubled_fields_warn_or_are_refused() {
    let client = Client::new();
    let body = r#"{"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"zz":1,"aa":2}"#;
    let send = |path: &str| {
        let mut request = Client::request("POST", path, "application/json", &Value::Null);
        *request.body_mut() = Full::new(Bytes::from(body));
        request
    };
    let strict = client
        .send(send(&format!("{CONFIG_MAPS}?fieldValidation=Strict")))
        .await;
    assert_eq!(strict.code, 400);
    let warned = client.send(send(CONFIG_MAPS)).await;
    assert_eq!(warned.code, 201);
    let texts = [
        "duplicate field \\\"data.k\\\"",
        "unknown field \\\"zz\\\"",
        "unknown field \\\"aa\\\"",
    ];
    let expected: Vec<String> = texts.iter().map(|text| format!("299 - \"{text}\"")).collect();
    assert_eq!(warned.warnings, expected);
    assert_eq!(warned.body["data"], json!({ "k": "2" }));
}

#[tokio::test(start_paused = true)]
async fn apply_creates_owns_and_takes_away_what_it_leaves_out() {
    let client = Client::new();
    let path = format!("{}?fieldManager=m", config_map("a"));
    let config =
        |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    let created = client.patch(&path, APPLY, &config(json!({ "x": "1", "y": "2" }))).await;
    assert_eq!(created.code, 201);
    assert_eq!(created.body["metadata"]["managedFields"][0]["operation"], "Apply");
    let applied = client.patch(&path, APPLY, &config(json!({ "x": "1" }))).await;
    assert_eq!(
        (applied.code.as_u16(), &applied.body["data"]),
        (200, &json!({ "x": "1" }))
    );
    let other = format!("{}?fieldManager=n", config_map("a"));
    assert_eq!(
        client.patch(&other, APPLY, &config(json!({ "x": "3" }))).await.code,
        409
    );
}

#[tokio::test(start_paused = true)]
async fn hostile_bodies_are_refused() {
    let client = Client::new();
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let bodies = [
        (deep.into_bytes(), 400),
        (b"{\"metadata\":{\"name\":\"\xff\"}}".to_vec(), 400),
        (b"{\"metadata\":".to_vec(), 400),
        (vec![b' '; 3 * 1024 * 1024 + 1], 413),
    ];
    for (body, code) in bodies {
        for (method, path, kind) in [
            ("POST", CONFIG_MAPS.to_owned(), "application/json"),
            ("POST", CONFIG_MAPS.to_owned(), "application/yaml"),
            ("PATCH", format!("{}?fieldManager=m", config_map("a")), APPLY),
        ] {
            let mut request = Client::request(method, &path, kind, &Value::Null);
            *request.body_mut() = Full::new(Bytes::from(body.clone()));
            assert_eq!(client.send(request).await.code, code, "{method} {kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_takes_effect_though_its_client_went_away() {
    let client = Client::new();
    let object = json!({ "metadata": { "name": "a" } });
    let request = Client::request("POST", CONFIG_MAPS, "application/json", &object);
    let sent = tokio::time::timeout(Duration::ZERO, client.send(request)).await;
    assert!(sent.is_err());
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get(&config_map("a")).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn every_request_is_logged_with_its_user_and_code() {
    let client = Client::new();
    let mut log = client.server.request_log();
    let token = client.server.user_token("ann", &[]);
    let mut request = Client::request("GET", &config_map("a"), "", &Value::Null);
    request
        .headers_mut()
        .insert("Authorization", format!("Bearer {token}").parse().unwrap());
    assert_eq!(client.send(request).await.code, 403);
    let record = log.try_next().unwrap();
    assert_eq!(
        (&*record.user, record.code, &*record.verb, &*record.name),
        ("ann", 403, "get", "a")
    );
}
