//! CPU time of a server on real sockets: writes over eight connections, and an event to a hundred watchers.

use std::net::SocketAddr;

use bytes::Bytes;
use futures::future::try_join_all;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use kubewright::dev::apiserver::server::Tls;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::client::{Client, JSON, MERGE};
use super::hello;
use super::object::{WIDGETS, widget};
use super::thread::ServerThread;
use super::tls::Connector;
use crate::Failure;
use crate::harness::{Case, Limit, Suite};

const CONNECTIONS: usize = 8;
/// Writes of one turn, over all connections.
const WRITES: usize = 800;
const WATCHERS: usize = 100;
/// Events of one turn.
const EVENTS: usize = 100;

const TLS_WRITE: Case = Case {
    name: "tls-write-cpu",
    what: "server CPU of a create of 1.5 KB over TLS, 8 connections; a kube-apiserver takes 4 ms",
    unit: "ms",
    limit: Limit::AtMost(0.2),
    samples: 9,
};

const FANOUT: Case = Case {
    name: "fanout-x",
    what: "server CPU of an update with its event to 100 watchers over TLS; peer: serialise once, write 100 times",
    unit: "us",
    limit: Limit::Times(3.0),
    samples: 9,
};

/// Measures both.
///
/// # Errors
/// When a request is refused or a connection fails.
pub(crate) async fn run(suite: &mut Suite) -> Result<(), Failure> {
    if !suite.wants(&TLS_WRITE) && !suite.wants(&FANOUT) {
        return Ok(());
    }
    let server = Server::start().await?;
    writes(suite, &server).await?;
    fanout(suite, &server).await
}

/// The API server on a thread and a socket of its own.
struct Server {
    thread: ServerThread,
    address: SocketAddr,
    connector: Connector,
    client: Client,
}

impl Server {
    async fn start() -> Result<Self, Failure> {
        let client = Client::start().await?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let tls = Tls::self_signed(&["127.0.0.1"])?;
        let server = client.server.clone();
        let thread = ServerThread::start(move || async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                server.serve(listener, tls, std::future::pending()).await;
            }
        })?;
        Ok(Self {
            thread,
            address,
            connector: Connector::new()?,
            client,
        })
    }

    async fn connections(&self, count: usize) -> Result<Vec<SendRequest<Full<Bytes>>>, Failure> {
        try_join_all((0..count).map(|_| self.connector.http(self.address))).await
    }

    fn request(&self, method: &str, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        Ok(Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", self.client.authorization())
            .header("content-type", if method == "PATCH" { MERGE } else { JSON })
            .body(Full::new(body))?)
    }
}

async fn writes(suite: &mut Suite, server: &Server) -> Result<(), Failure> {
    let mut connections = server.connections(CONNECTIONS).await?;
    let mut next = 0;
    suite
        .measure(TLS_WRITE, async || {
            let before = server.thread.cpu().await?;
            let each = connections.iter_mut().enumerate().map(|(lane, connection)| async move {
                for i in 0..WRITES / CONNECTIONS {
                    let body = widget(&format!("tls-{next}-{lane}-{i}"), i).to_string();
                    let request = server.request("POST", WIDGETS, body.into())?;
                    let response = connection.send_request(request).await?;
                    let status = response.status();
                    response.into_body().collect().await?;
                    if status != 201 {
                        return Err(format!("a create over TLS answered {status}").into());
                    }
                }
                Ok::<(), Failure>(())
            });
            try_join_all(each).await?;
            next += 1;
            #[allow(clippy::cast_precision_loss, reason = "a small constant")]
            let writes = WRITES as f64;
            Ok((server.thread.cpu().await? - before) / writes / 1e3)
        })
        .await
}

async fn fanout(suite: &mut Suite, server: &Server) -> Result<(), Failure> {
    if !suite.wants(&FANOUT) {
        return Ok(());
    }
    let path = format!("{WIDGETS}/watched?fieldManager=bench");
    let stored = server.client.send("POST", WIDGETS, JSON, &widget("watched", 0)).await?;
    let version = stored["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let watch = format!("{WIDGETS}?watch=1&resourceVersion={version}&timeoutSeconds=3000");
    let mut watchers = Vec::new();
    for mut connection in server.connections(WATCHERS).await? {
        let response = connection
            .send_request(server.request("GET", &watch, Bytes::new())?)
            .await?;
        if response.status() != 200 {
            return Err(format!("a watch answered {}", response.status()).into());
        }
        watchers.push((connection, response.into_body()));
    }
    let mut writer = server.connector.http(server.address).await?;
    let mut peer = Writers::start(&server.connector, &stored).await?;
    let mut change = 0;
    let ours = async || {
        let before = server.thread.cpu().await?;
        for _ in 0..EVENTS {
            change += 1;
            let body = widget("watched", change).to_string();
            let request = server.request("PATCH", &path, body.into())?;
            let sent = async {
                let response = writer.send_request(request).await?;
                response.into_body().collect().await?;
                Ok::<(), Failure>(())
            };
            let seen = try_join_all(watchers.iter_mut().map(|(_, body)| line(body)));
            tokio::try_join!(sent, seen)?;
        }
        per_event(server.thread.cpu().await? - before)
    };
    suite.compare(FANOUT, ours, async || peer.turn().await).await
}

/// Reads up to the end of a line.
async fn line(body: &mut Incoming) -> Result<(), Failure> {
    loop {
        let frame = body.frame().await.ok_or("a watch ended early")??;
        if frame.data_ref().is_some_and(|data| data.ends_with(b"\n")) {
            return Ok(());
        }
    }
}

fn per_event(microseconds: f64) -> Result<f64, Failure> {
    #[allow(clippy::cast_precision_loss, reason = "a small constant")]
    let events = EVENTS as f64;
    Ok(microseconds / events)
}

/// The peer: a thread that serialises an event once and writes it to a hundred TLS connections.
struct Writers {
    thread: ServerThread,
    ask: mpsc::UnboundedSender<()>,
    readers: Vec<tokio_rustls::client::TlsStream<tokio::net::TcpStream>>,
    length: usize,
}

impl Writers {
    async fn start(connector: &Connector, object: &Value) -> Result<Self, Failure> {
        let event = json!({ "type": "MODIFIED", "object": object });
        let length = serde_json::to_vec(&event)?.len();
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let acceptor = hello::acceptor()?;
        let (ask, mut asked) = mpsc::unbounded_channel();
        let thread = ServerThread::start(move || async move {
            let Ok(listener) = TcpListener::from_std(listener) else {
                return;
            };
            let mut streams = Vec::new();
            while streams.len() < WATCHERS {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let _ = stream.set_nodelay(true);
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                streams.push(stream);
            }
            while asked.recv().await.is_some() {
                let text = serde_json::to_vec(&event).unwrap_or_default();
                for stream in &mut streams {
                    if stream.write_all(&text).await.is_err() || stream.flush().await.is_err() {
                        return;
                    }
                }
            }
        })?;
        let mut readers = Vec::new();
        for _ in 0..WATCHERS {
            readers.push(connector.connect(address).await?);
        }
        Ok(Self {
            thread,
            ask,
            readers,
            length,
        })
    }

    async fn turn(&mut self) -> Result<f64, Failure> {
        let before = self.thread.cpu().await?;
        for _ in 0..EVENTS {
            self.ask.send(())?;
            let length = self.length;
            try_join_all(self.readers.iter_mut().map(|reader| async move {
                let mut text = vec![0; length];
                reader.read_exact(&mut text).await?;
                Ok::<(), Failure>(())
            }))
            .await?;
        }
        per_event(self.thread.cpu().await? - before)
    }
}
