//! What befalls watches, as a client sees it.

use std::time::Duration;

use futures::{AsyncBufReadExt, TryStreamExt};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube;
use kubewright::kube::api::Api;
use kubewright_testkit::{Events, Fault, TestCluster};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{cluster, create};

/// A watch of ConfigMaps in `default`, as raw lines.
struct Watch(Box<dyn futures::Stream<Item = std::io::Result<String>> + Unpin>);

impl Watch {
    async fn open(cluster: &TestCluster, query: &str) -> Self {
        let path = format!("/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=3000{query}");
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let lines = cluster
            .client()
            .request_stream(request)
            .await
            .expect("it opens")
            .lines();
        Self(Box::new(Box::pin(lines)))
    }

    /// What comes within ten seconds, as `TYPE name`; `410` for such an ERROR, `broken`, `end` or `-` for nothing.
    async fn next(&mut self) -> String {
        match timeout(Duration::from_secs(10), self.0.try_next()).await {
            Err(_) => "-".to_owned(),
            Ok(Ok(None)) => "end".to_owned(),
            Ok(Err(_)) => "broken".to_owned(),
            Ok(Ok(Some(line))) => {
                let event: Value = serde_json::from_str(&line).expect("an event");
                let (kind, object) = (event["type"].as_str().expect("a type"), &event["object"]);
                match (kind, object["metadata"]["name"].as_str()) {
                    ("ERROR", _) => object["code"].to_string(),
                    (kind, Some(name)) => format!("{kind} {name}"),
                    (kind, None) => kind.to_owned(),
                }
            }
        }
    }

    async fn all(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.next().await);
        }
        all
    }
}

fn now(cluster: &TestCluster) -> String {
    format!("&resourceVersion={}", cluster.server().store().revision())
}

async fn names(maps: &Api<ConfigMap>, params: &kube::api::ListParams) -> Vec<String> {
    let list = maps.list(params).await.expect("a list");
    let names = list.items.into_iter().filter_map(|map| map.metadata.name);
    names.filter(|name| name.len() == 1).collect()
}

#[kubewright_testkit::test]
async fn a_watch_breaks_before_or_after_an_event_or_gets_it_twice_or_410_instead() {
    let faults = [
        (Fault::watch_cut_before_event(), ["ADDED a", "broken", "end"]),
        (Fault::watch_cut_after_event(), ["ADDED a", "ADDED b", "broken"]),
        (Fault::watch_duplicated(), ["ADDED a", "ADDED b", "ADDED b"]),
        (Fault::watch_expired(), ["ADDED a", "410", "end"]),
    ];
    for (fault, expected) in faults {
        let (cluster, maps) = cluster();
        let from = now(&cluster);
        let mut watch = Watch::open(&cluster, &from).await;
        let fault = cluster.inject(fault.of("configmaps").named("b").times(1));
        for name in ["a", "b", "c"] {
            create(&maps, name).await.expect("created");
        }
        assert_eq!(watch.all(3).await, expected, "{fault}");
        fault.assert_fired();
        let mut again = Watch::open(&cluster, &from).await;
        assert_eq!(
            again.all(3).await,
            ["ADDED a", "ADDED b", "ADDED c"],
            "{fault} came once"
        );
    }
}

#[kubewright_testkit::test]
async fn one_type_of_events_can_be_hit_alone() {
    let (cluster, maps) = cluster();
    let mut watch = Watch::open(&cluster, &now(&cluster)).await;
    cluster.inject(Fault::watch_cut_before_event().event("DELETED").of("configmaps"));
    create(&maps, "a").await.expect("created");
    maps.delete("a", &kube::api::DeleteParams::default())
        .await
        .expect("deleted");
    assert_eq!(watch.all(2).await, ["ADDED a", "broken"]);
}

#[kubewright_testkit::test]
async fn a_frozen_watch_shows_nothing_new_while_gets_and_consistent_lists_do() {
    let (cluster, maps) = cluster();
    let mut open = Watch::open(&cluster, &now(&cluster)).await;
    create(&maps, "a").await.expect("created");
    assert_eq!(open.next().await, "ADDED a");
    let from = now(&cluster);
    let fault = cluster.inject(Fault::watch_frozen().of("configmaps"));
    create(&maps, "b").await.expect("created");
    let mut later = Watch::open(&cluster, &from).await;
    assert_eq!([open.next().await, later.next().await], ["-", "-"]);
    assert!(maps.get_opt("b").await.expect("an answer").is_some());
    assert_eq!(names(&maps, &kube::api::ListParams::default()).await, ["a", "b"]);
    let any = kube::api::ListParams::default().match_any();
    assert_eq!(names(&maps, &any).await, ["a"]);
    assert_eq!(fault.fired(), 1);
    fault.heal();
    assert_eq!([open.next().await, later.next().await], ["ADDED b", "ADDED b"]);
    assert_eq!(names(&maps, &any).await, ["a", "b"]);
}

#[kubewright_testkit::test]
async fn a_watch_of_another_resource_is_not_frozen_nor_one_that_the_rule_does_not_name() {
    let (cluster, maps) = cluster();
    let mut watch = Watch::open(&cluster, &now(&cluster)).await;
    let secrets = cluster.inject(Fault::watch_frozen().of("secrets"));
    let others = cluster.inject(Fault::watch_frozen().by("somebody"));
    create(&maps, "a").await.expect("created");
    assert_eq!(watch.next().await, "ADDED a");
    assert_eq!((secrets.fired(), others.fired()), (0, 0));
}

#[kubewright_testkit::test]
async fn a_watch_lags_by_events() {
    let (cluster, maps) = cluster();
    let mut watch = Watch::open(&cluster, &now(&cluster)).await;
    let fault = cluster.inject(Fault::watch_delayed(Events(2)).of("configmaps"));
    for name in ["a", "b"] {
        create(&maps, name).await.expect("created");
    }
    assert_eq!(watch.next().await, "-");
    // Changes of other resources do not count.
    cluster
        .apply_yaml("{apiVersion: v1, kind: Secret, metadata: {name: s}}")
        .await;
    assert_eq!(watch.next().await, "-");
    create(&maps, "c").await.expect("created");
    assert_eq!(watch.all(2).await, ["ADDED a", "-"]);
    assert_eq!(fault.fired(), 3);
    fault.heal();
    assert_eq!(watch.all(3).await, ["ADDED b", "ADDED c", "-"]);
}

#[kubewright_testkit::test]
async fn a_watch_lags_by_time_and_its_bookmarks_with_it() {
    let (cluster, maps) = cluster();
    let mut watch = Watch::open(&cluster, &format!("{}&allowWatchBookmarks=true", now(&cluster))).await;
    cluster.inject(Fault::watch_delayed(Duration::from_secs(30)).of("configmaps"));
    create(&maps, "a").await.expect("created");
    sleep(Duration::from_secs(15)).await;
    create(&maps, "b").await.expect("created");
    assert_eq!(watch.next().await, "-");
    sleep(Duration::from_secs(4)).await;
    assert_eq!(watch.all(2).await, ["ADDED a", "-"]);
    assert_eq!(watch.all(2).await, ["ADDED b", "-"]);
    assert_eq!(watch.next().await, "BOOKMARK");
}

#[kubewright_testkit::test]
async fn one_watch_of_several_can_lag() {
    let (cluster, maps) = cluster();
    let fault = cluster.inject(Fault::watch_frozen().of("configmaps").nth(2));
    let from = now(&cluster);
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(Watch::open(&cluster, &from).await);
    }
    create(&maps, "a").await.expect("created");
    let mut seen = Vec::new();
    for watch in &mut watches {
        seen.push(watch.next().await);
    }
    assert_eq!(seen, ["ADDED a", "-", "ADDED a"]);
    assert_eq!(fault.fired(), 1);
}

#[kubewright_testkit::test]
async fn what_a_frozen_view_shows_outlives_compaction() {
    let (cluster, maps) = cluster();
    create(&maps, "a").await.expect("created");
    cluster.inject(Fault::watch_frozen().of("configmaps"));
    create(&maps, "b").await.expect("created");
    cluster.compact();
    let any = kube::api::ListParams::default().match_any();
    assert_eq!(names(&maps, &any).await, ["a"]);
}
