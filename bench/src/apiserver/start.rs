//! The server as a process: time until it answers, resident memory, memory for each object, memory of a long list.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use tokio::time::{Instant, sleep};

use super::client::JSON;
use super::object::{self, WIDGETS, widget};
use super::tls::Connector;
use crate::Failure;
use crate::harness::{Case, Limit, Suite};
use crate::process::Process;

const TOKEN: &str = "bench";
const OBJECTS: u32 = 10_000;

const READY: Case = Case {
    name: "ready-x",
    what: "from the start of the process to its first answer; peer: a TLS server that says hello",
    unit: "ms",
    limit: Limit::Times(2.0),
    samples: 15,
};

const RSS_EMPTY: Case = Case {
    name: "rss-empty",
    what: "resident memory of the server once it answers",
    unit: "MB",
    limit: Limit::AtMost(30.0),
    samples: 3,
};

const RSS_PER_OBJECT: Case = Case {
    name: "rss-per-object-extra",
    what: "resident memory for each of 10 000 objects beyond its own JSON",
    unit: "bytes",
    limit: Limit::AtMost(2500.0),
    samples: 1,
};

const LIST_PEAK: Case = Case {
    name: "list-peak",
    what: "growth of resident memory while 10 000 objects are listed; peer: the size of the answer",
    unit: "MB",
    limit: Limit::Times(1.0),
    samples: 5,
};

/// Measures all four.
///
/// # Errors
/// When a process does not start or a request is refused.
pub(crate) async fn run(suite: &mut Suite) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let programs = Programs {
        own: std::env::current_exe()?,
        folder: folder.path().to_owned(),
        connector: Connector::new()?,
    };
    let ours = async || Ok(programs.server().await?.took.as_secs_f64() * 1e3);
    let peer = async || Ok(programs.hello().await?.took.as_secs_f64() * 1e3);
    suite.compare(READY, ours, peer).await?;
    let empty = async || Ok(programs.server().await?.process.resident_mb());
    suite.measure(RSS_EMPTY, empty).await?;
    if suite.wants(&RSS_PER_OBJECT) || suite.wants(&LIST_PEAK) {
        full(suite, &programs).await?;
    }
    Ok(())
}

/// A server with many objects.
async fn full(suite: &mut Suite, programs: &Programs) -> Result<(), Failure> {
    let mut server = programs.server().await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server
        .send("POST", definitions, &object::definition().to_string())
        .await?;
    let empty = server.process.resident_mb();
    for i in 0..OBJECTS {
        server
            .send("POST", WIDGETS, &widget(&format!("widget-{i:05}"), 0).to_string())
            .await?;
    }
    let grown = server.process.resident_mb() - empty;
    let one = server.send("GET", &format!("{WIDGETS}/widget-00000"), "").await?.len();
    #[allow(clippy::cast_precision_loss, reason = "the size of an object is exact")]
    let extra = grown * 1024.0 * 1024.0 / f64::from(OBJECTS) - one as f64;
    if suite.wants(&RSS_PER_OBJECT) {
        suite.record(&RSS_PER_OBJECT, &[extra], &[])?;
    }
    if suite.wants(&LIST_PEAK) {
        let (mut ours, mut peer) = (Vec::new(), Vec::new());
        for _ in 0..suite.samples(&LIST_PEAK) {
            server.process.forget_peak()?;
            let before = server.process.resident_mb();
            let size = server.send("GET", WIDGETS, "").await?.len();
            ours.push(server.process.peak_mb() - before);
            #[allow(clippy::cast_precision_loss, reason = "megabytes need no more")]
            peer.push(size as f64 / 1024.0 / 1024.0);
        }
        suite.record(&LIST_PEAK, &ours, &peer)?;
    }
    Ok(())
}

/// This binary as the servers that it can be.
struct Programs {
    own: PathBuf,
    folder: PathBuf,
    connector: Connector,
}

/// A process that answers.
struct Running {
    process: Process,
    took: Duration,
    connection: SendRequest<Full<Bytes>>,
}

impl Programs {
    async fn server(&self) -> Result<Running, Failure> {
        let kubeconfig = self.folder.join("kubeconfig").display().to_string();
        let args = ["api-server", "--token", TOKEN, "--kubeconfig", &kubeconfig, "--listen"];
        self.start(&args).await
    }

    async fn hello(&self) -> Result<Running, Failure> {
        self.start(&["hello", "--listen"]).await
    }

    /// Starts the program with a free port as its last argument and waits for its first answer.
    async fn start(&self, args: &[&str]) -> Result<Running, Failure> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let listen = address.to_string();
        let args: Vec<&str> = args.iter().copied().chain([listen.as_str()]).collect();
        let log = self.folder.join("log");
        let began = Instant::now();
        let mut process = Process::start(args[0], &self.own, &args, &log)?;
        loop {
            if let Ok(connection) = self.first_answer(address).await {
                return Ok(Running {
                    took: began.elapsed(),
                    process,
                    connection,
                });
            }
            process.must_run(&log)?;
            sleep(Duration::from_micros(200)).await;
        }
    }

    async fn first_answer(&self, address: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let mut connection = self.connector.http(address).await?;
        request(&mut connection, "GET", "/readyz", "").await?;
        Ok(connection)
    }
}

impl Running {
    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Bytes, Failure> {
        request(&mut self.connection, method, path, body).await
    }
}

async fn request(
    connection: &mut SendRequest<Full<Bytes>>,
    method: &str,
    path: &str,
    body: &str,
) -> Result<Bytes, Failure> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", JSON)
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?;
    let response = connection.send_request(request).await?;
    let status = response.status();
    let text = response.into_body().collect().await?.to_bytes();
    if status.is_success() {
        Ok(text)
    } else {
        Err(format!("{method} {path} answered {status}: {}", String::from_utf8_lossy(&text)).into())
    }
}
