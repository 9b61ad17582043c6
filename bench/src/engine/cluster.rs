//! The embedded server with notes in it, on a socket; it counts what each client writes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use kubewright::dev::apiserver::http::log::{Observer, RequestRecord};
use kubewright::dev::apiserver::server::{ApiServer, InProcess, Tls};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::{Instant, interval};
use tower::ServiceExt as _;

use super::object::{self, NOTES, SENT};
use crate::Failure;

/// Who the benchmark is.
const OWN: &str = "bench";

/// A server of its own for one measurement; gone when dropped.
pub(crate) struct Cluster {
    service: InProcess,
    authorization: String,
    written: Arc<Written>,
    folder: TempDir,
    count: usize,
    next: usize,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// Writes by the part of the User-Agent before the slash, Leases and Events apart.
#[derive(Default)]
struct Written(Mutex<BTreeMap<String, u64>>);

impl Observer for Written {
    fn answered(&self, request: &RequestRecord) {
        let reads = matches!(&*request.verb, "get" | "list" | "watch");
        if reads || request.resource == "leases" || request.resource == "events" || request.resource.is_empty() {
            return;
        }
        let agent = request.user_agent.split('/').next().unwrap_or_default();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(agent.to_owned()).or_default() += 1;
    }
}

impl Cluster {
    /// Starts a server of so many notes, none of them reconciled.
    ///
    /// # Errors
    /// When no port can be had or a note is refused.
    pub(crate) async fn start(count: usize) -> Result<Self, Failure> {
        let server = ApiServer::builder().history(100_000).build();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let tls = Tls::self_signed(&["127.0.0.1"])?;
        let folder = tempfile::tempdir()?;
        let authority = folder.path().join("ca.pem");
        std::fs::write(&authority, tls.certificate())?;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{ "name": "bench", "cluster": { "server": url, "certificate-authority": authority } }],
            "users": [{ "name": "bench", "user": { "token": server.admin_token() } }],
            "contexts": [{ "name": "bench", "context": { "cluster": "bench", "user": "bench", "namespace": "default" } }],
        });
        std::fs::write(folder.path().join("kubeconfig"), config.to_string())?;
        let written = Arc::new(Written::default());
        server.observe(Arc::clone(&written) as Arc<dyn Observer>);
        let controllers = server.clone();
        let serving = server.clone();
        let tasks = vec![
            tokio::spawn(async move { controllers.run_controllers().await }),
            tokio::spawn(async move { serving.serve(listener, tls, std::future::pending()).await }),
        ];
        let cluster = Self {
            service: server.service(),
            authorization: format!("Bearer {}", server.admin_token()),
            written,
            folder,
            count,
            next: 0,
            tasks,
        };
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        cluster.send("POST", definitions, &object::definition()).await?;
        for number in 0..count {
            cluster.send("POST", NOTES, &object::note(number)).await?;
        }
        Ok(cluster)
    }

    /// What a controller is started with.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// How many notes there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How often others than the benchmark wrote.
    pub(crate) fn writes(&self) -> u64 {
        let counts = self.written.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .iter()
            .filter(|(agent, _)| *agent != OWN)
            .map(|(_, count)| count)
            .sum()
    }

    /// Changes so many notes, each once, as fast as the server takes it: events that ask for nothing.
    ///
    /// # Errors
    /// When a change is refused.
    pub(crate) async fn touch(&mut self, events: usize) -> Result<(), Failure> {
        for _ in 0..events {
            self.touch_next().await?;
        }
        Ok(())
    }

    /// Changes so many notes, one each `period`.
    ///
    /// # Errors
    /// When a change is refused.
    pub(crate) async fn touch_slowly(&mut self, events: usize, period: Duration) -> Result<(), Failure> {
        let mut ticks = interval(period);
        for _ in 0..events {
            ticks.tick().await;
            self.touch_next().await?;
        }
        Ok(())
    }

    async fn touch_next(&mut self) -> Result<(), Failure> {
        let name = object::name(self.next % self.count);
        self.next += 1;
        let patch = json!({ "metadata": { "annotations": { SENT: wall_nanoseconds().to_string() } } });
        self.send("PATCH", &format!("{NOTES}/{name}"), &patch).await
    }

    /// Waits until nobody has written for `quiet`.
    pub(crate) async fn until_silent(&self, quiet: Duration) {
        let (mut seen, mut since) = (self.writes(), Instant::now());
        while since.elapsed() < quiet {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if self.writes() != seen {
                (seen, since) = (self.writes(), Instant::now());
            }
        }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<(), Failure> {
        let content_type = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", &self.authorization)
            .header("user-agent", format!("{OWN}/1"))
            .header("content-type", content_type)
            .body(Full::new(Bytes::from(body.to_string())))?;
        let response = self.service.clone().oneshot(request).await?;
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("{method} {path} answered {status}: {}", String::from_utf8_lossy(&text)).into())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// The wall clock, which all processes of a machine share.
pub(crate) fn wall_nanoseconds() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
