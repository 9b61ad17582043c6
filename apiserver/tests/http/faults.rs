use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::ApiError;
use kubewright_apiserver::http::intercept::{Interceptor, Verdict, Verdicts};
use kubewright_apiserver::http::log::RequestRecord;
use serde_json::json;

use crate::client::{CONFIG_MAPS, Client, config_map};

/// Fails creates: before they take effect, or after.
struct Faulty {
    before: bool,
}

fn failed() -> Verdict {
    Verdict::Answer(Box::new(ApiError::new(504, "Timeout", "lost")))
}

impl Interceptor for Faulty {
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(7)).await;
            if self.before && request.verb == "create" {
                failed()
            } else {
                Verdict::Pass
            }
        })
    }

    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(async move {
            if !self.before && request.verb == "create" {
                failed()
            } else {
                Verdict::Pass
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_can_fail_before_or_after_it_took_effect_and_come_late() {
    for (before, found) in [(true, 404), (false, 200)] {
        let client = Client::new();
        client.server.intercept(Some(Arc::new(Faulty { before })));
        let started = tokio::time::Instant::now();
        let answer = client.post(CONFIG_MAPS, &json!({ "metadata": { "name": "a" } })).await;
        assert_eq!((answer.code.as_u16(), started.elapsed().as_secs()), (504, 7));
        client.server.intercept(None);
        assert_eq!(client.get(&config_map("a")).await.code, found);
    }
}
