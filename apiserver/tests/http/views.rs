//! What a connection is shown by a server whose watch cache lags behind.

use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::http::intercept::{Interceptor, WatchInterceptor};
use kubewright_apiserver::http::log::RequestRecord;
use kubewright_apiserver::storage::Horizon;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{CONFIG_MAPS, Client, config_map};
use crate::watches::Watch;

/// Every list and watch looks through one horizon.
struct Lagging(Horizon);

impl Interceptor for Lagging {
    fn list(&self, _: &RequestRecord) -> Option<Horizon> {
        Some(self.0.clone())
    }

    fn watch(&self, _: &RequestRecord) -> Option<Arc<dyn WatchInterceptor>> {
        Some(Arc::new(Self(self.0.clone())))
    }
}

impl WatchInterceptor for Lagging {
    fn horizon(&self) -> Horizon {
        self.0.clone()
    }
}

/// A server with `old`, whose lists and watches are frozen before `new` came and `old` went.
async fn frozen() -> (Client, Horizon, u64) {
    let client = Client::new();
    client.config_map("old", json!({})).await;
    let revision = client.server.store().revision();
    let horizon = Horizon::at(revision);
    client.server.store().keep_for(&horizon);
    client.server.intercept(Some(Arc::new(Lagging(horizon.clone()))));
    client.config_map("new", json!({})).await;
    client.delete(&config_map("old")).await;
    (client, horizon, revision)
}

async fn names(client: &Client, query: &str) -> Vec<String> {
    let list = client.get(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(list.code, 200, "{}", list.text);
    let items = list.body["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn lists_of_any_state_are_old_while_gets_and_consistent_lists_are_current() {
    let (client, horizon, revision) = frozen().await;
    assert_eq!(names(&client, "resourceVersion=0").await, ["old"]);
    assert_eq!(
        names(
            &client,
            &format!("resourceVersion={revision}&resourceVersionMatch=NotOlderThan")
        )
        .await,
        ["old"]
    );
    let list = client.get(&format!("{CONFIG_MAPS}?resourceVersion=0")).await;
    assert_eq!(list.body["metadata"]["resourceVersion"], revision.to_string());
    assert_eq!(names(&client, "").await, ["new"]);
    assert_eq!(client.get(&config_map("new")).await.code, 200);
    assert_eq!(client.get(&config_map("old")).await.code, 404);
    horizon.lift();
    assert_eq!(names(&client, "resourceVersion=0").await, ["new"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_not_older_than_what_is_not_shown_yet_waits_and_is_refused_with_504() {
    let (client, horizon, revision) = frozen().await;
    let path = format!(
        "{CONFIG_MAPS}?resourceVersion={}&resourceVersionMatch=NotOlderThan",
        revision + 1
    );
    let began = Instant::now();
    let refused = client.get(&path).await;
    assert_eq!((refused.code.as_u16(), began.elapsed()), (504, Duration::from_secs(3)));
    assert_eq!(
        refused.body["message"],
        format!(
            "Timeout: Too large resource version: {}, current: {revision}",
            revision + 1
        )
    );
    let waiting = tokio::spawn(async move { client.get(&path).await.body });
    sleep(Duration::from_secs(1)).await;
    horizon.set(revision + 1);
    let list = waiting.await.unwrap();
    let items: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["metadata"]["name"])
        .collect();
    assert_eq!(items, ["new", "old"], "as it was in between");
}

#[tokio::test(start_paused = true)]
async fn a_watch_stops_at_its_horizon_and_goes_on_with_it_event_by_event() {
    let (client, horizon, revision) = frozen().await;
    let mut watch = Watch::open(&client, &format!("resourceVersion={revision}")).await;
    assert_eq!(watch.soon().await, None);
    horizon.set(revision + 1);
    assert_eq!(watch.soon().await.as_deref(), Some("ADDED new"));
    assert_eq!(watch.soon().await, None);
    horizon.lift();
    assert_eq!(watch.soon().await.as_deref(), Some("DELETED old"));
    client.config_map("later", json!({})).await;
    assert_eq!(watch.soon().await.as_deref(), Some("ADDED later"));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_name_no_more_than_what_is_shown() {
    let (client, horizon, revision) = frozen().await;
    let query = format!("resourceVersion={revision}&allowWatchBookmarks=true");
    let mut watch = Watch::open(&client, &query).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(watch.soon().await, Some(format!("BOOKMARK {revision}")));
    horizon.set(revision + 1);
    assert_eq!(watch.soon().await.as_deref(), Some("ADDED new"));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(watch.soon().await, Some(format!("BOOKMARK {}", revision + 1)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_beyond_the_horizon_is_silent_until_the_horizon_has_come_there() {
    let (client, horizon, revision) = frozen().await;
    let query = format!("resourceVersion={}&allowWatchBookmarks=true", revision + 1);
    let mut watch = Watch::open(&client, &query).await;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(watch.soon().await, None);
    horizon.lift();
    assert_eq!(watch.soon().await.as_deref(), Some("DELETED old"));
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_of_any_state_is_old_and_one_of_the_newest_ends_only_once_that_is_shown() {
    let (client, horizon, revision) = frozen().await;
    let streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut any = Watch::open(&client, &format!("{streamed}&resourceVersion=0")).await;
    assert_eq!(any.soon().await.as_deref(), Some("ADDED old"));
    assert_eq!(any.soon().await, Some(format!("BOOKMARK {revision}")));

    let mut newest = Watch::open(&client, streamed).await;
    assert_eq!(newest.soon().await.as_deref(), Some("ADDED old"));
    assert_eq!(newest.soon().await, None);
    horizon.set(revision + 1);
    assert_eq!(newest.soon().await.as_deref(), Some("ADDED new"));
    assert_eq!(newest.soon().await, None);
    horizon.set(revision + 2);
    assert_eq!(newest.soon().await.as_deref(), Some("DELETED old"));
    let (kind, bookmark) = newest.next().await.unwrap();
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test(start_paused = true)]
async fn what_lies_behind_a_horizon_outlives_compaction_for_those_who_look_through_it() {
    let (client, horizon, revision) = frozen().await;
    client.server.compact();
    assert_eq!(names(&client, "resourceVersion=0").await, ["old"]);
    let mut watch = Watch::open(&client, &format!("resourceVersion={revision}")).await;
    horizon.set(revision + 1);
    assert_eq!(watch.soon().await.as_deref(), Some("ADDED new"));

    client.server.intercept(None);
    let mut plain = Watch::open(&client, &format!("resourceVersion={revision}")).await;
    let (kind, status) = plain.next().await.unwrap();
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(410)));
    let exact = format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(client.get(&exact).await.code, 410);
}
