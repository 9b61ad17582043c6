use std::io;
use std::time::Duration;

use http_body_util::BodyExt;
use kubewright_apiserver::http::body::Body;
use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, MERGE, config_map};

/// A watch that was answered; its events come one by one.
pub(crate) struct Watch(Body);

impl Watch {
    pub(crate) async fn open(client: &Client, query: &str) -> Self {
        let path = format!("{CONFIG_MAPS}?watch=1&{query}");
        let answer = client.open(Client::request("GET", &path, "", &Value::Null)).await;
        assert_eq!(answer.status(), 200);
        Self(answer.into_body())
    }

    /// The next event: its type, and its object.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        self.try_next().await.map(Result::unwrap)
    }

    /// As [`Watch::next`], or the error of the connection.
    pub(crate) async fn try_next(&mut self) -> Option<io::Result<(String, Value)>> {
        let frame = match self.0.frame().await? {
            Ok(frame) => frame.into_data().unwrap(),
            Err(error) => return Some(Err(error)),
        };
        let mut event: Value = serde_json::from_slice(&frame).unwrap();
        Some(Ok((event["type"].as_str().unwrap().to_owned(), event["object"].take())))
    }

    /// The next event as `TYPE name`, or nothing if none comes within ten seconds.
    pub(crate) async fn soon(&mut self) -> Option<String> {
        let next = tokio::time::timeout(Duration::from_secs(10), self.next()).await.ok()?;
        let (kind, object) = next?;
        let metadata = &object["metadata"];
        let named = metadata["name"].as_str().or(metadata["resourceVersion"].as_str());
        Some(format!("{kind} {}", named.unwrap_or("?")))
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_after_its_revision_and_ends_at_its_deadline() {
    let client = Client::new();
    let a = client.config_map("a", json!({})).await.body;
    let from = a["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = Watch::open(&client, &format!("resourceVersion={from}&timeoutSeconds=30")).await;
    client.config_map("b", json!({})).await;
    client.delete(&config_map("b")).await;
    let (added, deleted) = (watch.next().await.unwrap(), watch.next().await.unwrap());
    assert_eq!((&*added.0, &*deleted.0), ("ADDED", "DELETED"));
    assert_eq!(added.1["kind"], "ConfigMap");
    assert_ne!(
        added.1["metadata"]["resourceVersion"],
        deleted.1["metadata"]["resourceVersion"]
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_selector_turns_changes_into_coming_and_going() {
    let client = Client::new();
    let a = client.config_map("a", json!({ "k": "1" })).await.body;
    let from = a["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = Watch::open(&client, &format!("resourceVersion={from}&labelSelector=on%3Dyes")).await;
    let patch = |labels: Value, k: &str| json!({ "metadata": { "labels": labels }, "data": { "k": k } });
    client
        .patch(&config_map("a"), MERGE, &patch(json!({ "on": "yes" }), "2"))
        .await;
    let gone = client
        .patch(&config_map("a"), MERGE, &patch(json!({ "on": null }), "3"))
        .await
        .body;
    let (added, deleted) = (watch.next().await.unwrap(), watch.next().await.unwrap());
    assert_eq!((&*added.0, &*deleted.0), ("ADDED", "DELETED"));
    assert_eq!(deleted.1["data"]["k"], "2");
    assert_eq!(
        deleted.1["metadata"]["resourceVersion"],
        gone["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_state_ends_with_an_annotated_bookmark_and_bookmarks_come_every_minute() {
    let client = Client::new();
    client.config_map("a", json!({})).await;
    let mut watch = Watch::open(&client, "allowWatchBookmarks=true").await;
    assert_eq!(watch.next().await.unwrap().0, "ADDED");
    let (kind, end) = watch.next().await.unwrap();
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(end["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let started = tokio::time::Instant::now();
    assert_eq!(watch.next().await.unwrap().0, "BOOKMARK");
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_history_forgot_is_an_error_event() {
    let client = Client::new();
    client.config_map("a", json!({})).await;
    client.server.compact();
    let mut watch = Watch::open(&client, "resourceVersion=1").await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_does_not_read_is_ended_and_holds_nobody_up() {
    let client = Client::new();
    client.config_map("a", json!({ "k": "0" })).await;
    let mut slow = Watch::open(&client, "resourceVersion=0").await;
    let mut quick = Watch::open(&client, "resourceVersion=0").await;
    quick.next().await.unwrap();
    for index in 1..=5000 {
        client
            .patch(&config_map("a"), MERGE, &json!({ "data": { "k": index.to_string() } }))
            .await;
        assert_eq!(quick.next().await.unwrap().0, "MODIFIED");
    }
    assert_eq!(slow.next().await.unwrap().0, "ADDED");
    assert_eq!(slow.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_compaction_from_outside_forgets_views_but_lets_watches_go_on() {
    let client = Client::new();
    let first = client.config_map("a", json!({})).await.body;
    client.config_map("b", json!({})).await;
    assert_eq!(client.post("/kubewright/compact", &Value::Null).await.code, 200);
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(client.get(&exact).await.code, 410);
    let mut watch = Watch::open(&client, &format!("resourceVersion={revision}")).await;
    assert_eq!(watch.next().await.unwrap().1["metadata"]["name"], "b");
    let mut from_the_start = Watch::open(&client, "resourceVersion=1").await;
    assert_eq!(from_the_start.next().await.unwrap().0, "ERROR");
}
