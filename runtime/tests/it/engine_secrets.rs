//! What a Secret holds never gets into logs, reasons, reports, events, metrics or `/statusz`.

use std::io::Write;
use std::sync::{Arc as StdArc, Mutex};
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::events::v1::Event;
use kubewright::prelude::*;
use kubewright_testkit::{Fault, TestCluster, Verb};
use serde_json::json;
use tokio::time::sleep;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{App, put};

/// Planted where secrets are; in the second spelling as the API writes it.
const MARKERS: [&str; 2] = ["planted-4711", "cGxhbnRlZC00NzEx"];

/// Copies a password into a Secret of its own, in all ways that may fail.
#[controller(
    for = App,
    owns = Secret,
    watches(Secret, map = always_a),
    backoff(min = "1s", max = "5s"),
    timeout = "5s"
)]
struct Copies;

impl Reconciler for Copies {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let password = cx.get::<Secret>("source").await?.ok_or("there is no source")?;
        let mut copy = Secret::default();
        copy.metadata.name = Some("copy".to_owned());
        copy.data = password.data.clone();
        match &*app.spec.value {
            "mismatch" => copy.type_ = Some("kubernetes.io/tls".to_owned()),
            "invalid" => {
                let marked = ByteString(MARKERS[0].into());
                copy.data
                    .get_or_insert_default()
                    .insert("not a key!".to_owned(), marked);
            }
            _ => {}
        }
        cx.apply(copy).await?;
        Ok(Action::await_change())
    }
}

fn always_a(_: &Secret) -> [&'static str; 1] {
    ["a"]
}

#[derive(Clone, Default)]
struct Log(StdArc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[kubewright_testkit::test]
async fn nothing_that_is_told_quotes_a_secret() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_env_filter("kubewright=trace")
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let cluster = TestCluster::start();
    let manager = Manager::new("copies").controller(Copies);
    let (health, metrics) = (manager.health().clone(), manager.metrics().clone());
    let operator = cluster.run(manager).await;
    for round in ["1", "mismatch", "invalid", "2"] {
        cluster
            .apply(&json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "source", "namespace": "default", "annotations": { "round": round } },
                "stringData": { "password": MARKERS[0], "round": format!("{round}-{}", MARKERS[0]) },
            }))
            .await;
        drop(cluster.inject(Fault::status(500).on(Verb::Patch).of("secrets").times(2)));
        drop(cluster.inject(Fault::cut().after_effect().on(Verb::Patch).of("secrets").nth(3)));
        put(&cluster, "a", round).await;
        sleep(Duration::from_secs(20)).await;
    }
    let copy = cluster.get::<Secret>("default/copy").await.expect("it was copied");
    let copied = copy
        .data
        .and_then(|data| data.get("password").cloned())
        .expect("a password");
    assert_eq!(copied.0, MARKERS[0].as_bytes(), "the marker is there to be told");

    let runs = cluster.story().reconciles("default/a");
    assert!(runs.iter().any(|run| !run.outcome.is_success()), "some runs failed");
    let told = [
        ("the log", log.text()),
        ("reports", format!("{runs:?}")),
        (
            "reasons",
            runs.iter().map(|run| format!("{:#}\n", run.reasons)).collect(),
        ),
        (
            "outcomes",
            runs.iter().map(|run| format!("{}\n", run.outcome)).collect(),
        ),
        ("/statusz", health.status().to_string()),
        ("metrics", metrics.encode(true)),
        ("events", format!("{:?}", cluster.list::<Event>().await)),
    ];
    for (place, text) in told {
        assert!(!text.is_empty(), "{place}");
        for marker in MARKERS {
            let found = text.find(marker).map(|at| &text[at.saturating_sub(200)..]);
            assert!(found.is_none(), "{place} quotes a Secret: {found:?}");
        }
    }
    assert!(log.text().contains("data.round"), "which field changed is told");
    operator.stop().await;
}
