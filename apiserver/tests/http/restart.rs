use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::http::intercept::{Interceptor, Verdict, Verdicts};
use kubewright_apiserver::http::log::RequestRecord;
use serde_json::json;

use crate::client::{CONFIG_MAPS, Client, config_map};
use crate::watches::Watch;

/// Holds creates up for ten seconds: before they take effect, or after.
struct Slow {
    before: bool,
}

impl Slow {
    async fn wait(&self, before: bool, request: &RequestRecord) -> Verdict {
        if request.verb == "create" && self.before == before {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        Verdict::Pass
    }
}

impl Interceptor for Slow {
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(self.wait(true, request))
    }

    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(self.wait(false, request))
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_breaks_requests_where_they_stand_carried_out_or_not_and_keeps_what_is_stored() {
    for (before, found) in [(true, 404), (false, 200)] {
        let client = Client::new();
        client.config_map("kept", json!({})).await;
        client.server.intercept(Some(Arc::new(Slow { before })));
        let other = client.clone();
        let request = tokio::spawn(async move {
            let object = json!({ "metadata": { "name": "a" } });
            let request = Client::request("POST", CONFIG_MAPS, "application/json", &object);
            other.try_open(request).await.map(|answer| answer.status())
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.server.restart();
        assert_eq!(request.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(client.get(&config_map("a")).await.code, found);
        assert_eq!(client.get(&config_map("kept")).await.code, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_watches_break_and_cannot_go_on_from_before_while_lists_of_the_past_can() {
    let client = Client::new();
    let a = client.config_map("a", json!({})).await.body;
    let from = a["metadata"]["resourceVersion"].as_str().unwrap();
    client.config_map("b", json!({})).await;
    let mut watch = Watch::open(&client, &format!("resourceVersion={from}&timeoutSeconds=60")).await;
    assert_eq!(watch.soon().await.as_deref(), Some("ADDED b"));
    client.server.restart();
    let error = watch.try_next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(watch.try_next().await.is_none());

    let mut again = Watch::open(&client, &format!("resourceVersion={from}&timeoutSeconds=60")).await;
    let (kind, status) = again.next().await.unwrap();
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(410)));
    let page = client
        .get(&format!(
            "{CONFIG_MAPS}?resourceVersion={from}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(page.body["items"].as_array().unwrap().len(), 1, "{}", page.text);
    let now = client.get(CONFIG_MAPS).await.body;
    let now = now["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let mut fresh = Watch::open(&client, &format!("resourceVersion={now}&timeoutSeconds=60")).await;
    client.config_map("c", json!({})).await;
    assert_eq!(fresh.soon().await.as_deref(), Some("ADDED c"));
}
