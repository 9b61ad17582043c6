use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kubewright_apiserver::ApiError;
use kubewright_apiserver::http::intercept::{Delivery, Interceptor, Verdict, Verdicts, WatchInterceptor};
use kubewright_apiserver::http::log::{EventRecord, RequestRecord};
use kubewright_apiserver::storage::Horizon;
use serde_json::json;

use crate::client::{CONFIG_MAPS, Client, config_map};
use crate::watches::Watch;

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

/// Gives creates a verdict: before they take effect, or after.
struct Judge {
    before: bool,
    verdict: fn() -> Verdict,
}

impl Interceptor for Judge {
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let hit = self.before && request.verb == "create" && request.name == "a";
        Box::pin(std::future::ready(if hit { (self.verdict)() } else { Verdict::Pass }))
    }

    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let hit = !self.before && request.verb == "create";
        Box::pin(std::future::ready(if hit { (self.verdict)() } else { Verdict::Pass }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_can_break_be_refused_or_fall_silent_before_or_after_the_effect() {
    let cut: fn() -> Verdict = || Verdict::Cut;
    let cases = [
        (true, cut, Some(ErrorKind::ConnectionReset), 404),
        (false, cut, Some(ErrorKind::ConnectionReset), 200),
        (true, || Verdict::Refuse, Some(ErrorKind::ConnectionRefused), 404),
        (true, || Verdict::Lose, None, 404),
        (false, || Verdict::Lose, None, 200),
    ];
    for (before, verdict, error, found) in cases {
        let client = Client::new();
        let mut log = client.server.request_log();
        client.server.intercept(Some(Arc::new(Judge { before, verdict })));
        let object = json!({ "metadata": { "name": "a" } });
        let request = Client::request("POST", CONFIG_MAPS, "application/json", &object);
        let answer = tokio::time::timeout(Duration::from_secs(3600), client.try_open(request)).await;
        let kind = answer
            .ok()
            .map(|answer| answer.map(|answer| answer.status()).unwrap_err().kind());
        assert_eq!(kind, error);
        let logged = log.try_next().map(|record| record.code);
        assert_eq!(logged, (found == 200).then_some(0), "the log has what took effect");
        client.server.intercept(None);
        assert_eq!(client.get(&config_map("a")).await.code, found);
    }
}

/// Has a say in the first event about `b`.
struct Meddler(Arc<Meddling>);

struct Meddling {
    delivery: Delivery,
    horizon: Horizon,
    done: AtomicBool,
}

impl Meddler {
    fn new(delivery: Delivery, horizon: Horizon) -> Arc<Self> {
        Arc::new(Self(Arc::new(Meddling {
            delivery,
            horizon,
            done: AtomicBool::new(false),
        })))
    }
}

impl Interceptor for Meddler {
    fn watch(&self, _: &RequestRecord) -> Option<Arc<dyn WatchInterceptor>> {
        Some(Arc::<Meddling>::clone(&self.0))
    }
}

impl WatchInterceptor for Meddling {
    fn horizon(&self) -> Horizon {
        self.horizon.clone()
    }

    fn event(&self, event: &EventRecord<'_>) -> Delivery {
        if event.key.is_none_or(|key| &*key.name != "b") || self.done.swap(true, Ordering::SeqCst) {
            return Delivery::Pass;
        }
        self.delivery.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_can_come_twice_be_the_last_or_be_lost_with_its_connection() {
    let gone = || Delivery::Fail(Box::new(ApiError::new(410, "Expired", "too old")));
    let cases: [(Delivery, &[&str]); 5] = [
        (Delivery::Pass, &["a", "b", "c"]),
        (Delivery::Twice, &["a", "b", "b", "c"]),
        (Delivery::CutBefore, &["a", "ConnectionReset"]),
        (Delivery::CutAfter, &["a", "b", "ConnectionReset"]),
        (gone(), &["a", "410"]),
    ];
    for (delivery, expected) in cases {
        let client = Client::new();
        client.server.intercept(Some(Meddler::new(delivery, Horizon::open())));
        let mut watch = Watch::open(&client, "timeoutSeconds=30").await;
        for name in ["a", "b", "c"] {
            client.config_map(name, json!({})).await;
        }
        let mut seen = Vec::new();
        while let Some(next) = watch.try_next().await {
            seen.push(match next {
                Ok((kind, status)) if kind == "ERROR" => status["code"].to_string(),
                Ok((_, object)) => object["metadata"]["name"].as_str().unwrap().to_owned(),
                Err(error) => format!("{:?}", error.kind()),
            });
        }
        assert_eq!(seen, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_be_cut_while_it_has_nothing_to_say() {
    let client = Client::new();
    let horizon = Horizon::open();
    client
        .server
        .intercept(Some(Meddler::new(Delivery::Pass, horizon.clone())));
    let mut watch = Watch::open(&client, "timeoutSeconds=300").await;
    assert_eq!(watch.soon().await, None);
    horizon.cut();
    let error = watch.try_next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(watch.try_next().await.is_none());
}
