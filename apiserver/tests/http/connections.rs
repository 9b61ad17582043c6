//! Clients that open connections and do not use them. The transport is the subject, so these tests use sockets, or pipes
//! where time is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

struct Served {
    address: SocketAddr,
    connector: TlsConnector,
}

/// A server at the end of pipes.
struct Piped {
    server: ApiServer,
    tls: Tls,
    connector: TlsConnector,
}

impl Piped {
    fn start() -> Self {
        let tls = Tls::self_signed(&[]).unwrap();
        Self {
            server: ApiServer::builder().token("t").build(),
            connector: trusting(&tls),
            tls,
        }
    }

    /// The client's end of a new connection, and the server's task for it.
    fn open(&self) -> (DuplexStream, JoinHandle<()>) {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (server, tls) = (self.server.clone(), self.tls.clone());
        let task = tokio::spawn(async move { server.serve_connection(theirs, &tls).await });
        (ours, task)
    }

    async fn connect(&self) -> (TlsStream<DuplexStream>, JoinHandle<()>) {
        let (ours, task) = self.open();
        let name = ServerName::try_from("localhost").unwrap();
        (self.connector.connect(name, ours).await.unwrap(), task)
    }

    async fn asks_once(&self) -> u16 {
        asks_once(self.connect().await.0).await
    }
}

/// A connector that trusts the server's certificate.
fn trusting(tls: &Tls) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(tls.certificate().as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn asks_once(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> u16 {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::get("/api/v1/namespaces/default")
        .header("host", "localhost")
        .header("authorization", "Bearer t")
        .body(Full::<Bytes>::default())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    let code = response.status().as_u16();
    response.into_body().collect().await.unwrap();
    code
}

impl Served {
    async fn start() -> Self {
        let server = ApiServer::builder().token("t").build();
        let tls = Tls::self_signed(&[]).unwrap();
        let connector = trusting(&tls);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { server.serve(listener, tls, std::future::pending()).await });
        Self { address, connector }
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await.unwrap()
    }

    async fn asks_once(&self) -> u16 {
        asks_once(self.connect().await).await
    }
}

#[tokio::test]
async fn idle_connections_hold_nobody_up() {
    let served = Served::start().await;
    // As many as the system lets one process open; both ends of each are here.
    let wanted = std::env::var("KUBEWRIGHT_IDLE_CONNECTIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(400);
    let mut idle = Vec::new();
    for index in 0..wanted {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        // Some say nothing, some begin a handshake.
        if index % 2 == 0 {
            stream.write_all(b"\x16\x03\x01").await.unwrap();
        }
        idle.push(stream);
    }
    assert_eq!(served.asks_once().await, 200);
    drop(idle);
    assert_eq!(served.asks_once().await, 200);
}

#[tokio::test]
async fn nonsense_and_half_a_request_end_only_their_own_connection() {
    let served = Served::start().await;
    let mut nonsense = TcpStream::connect(served.address).await.unwrap();
    nonsense.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    // The server answers with a TLS alert, or not at all, and closes.
    let _ = nonsense.read_to_end(&mut rest).await;
    let mut half = served.connect().await;
    half.write_all(b"GET /api HTTP/1.1\r\nhost: x\r\nx-slow: ")
        .await
        .unwrap();
    half.flush().await.unwrap();
    assert_eq!(served.asks_once().await, 200);
    let mut huge = served.connect().await;
    // The head of a request has a limit, too.
    let line = [b'a'; 65_536];
    huge.write_all(b"GET /api HTTP/1.1\r\nx: ").await.unwrap();
    for _ in 0..64 {
        if huge.write_all(&line).await.is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = huge.read_to_end(&mut answer).await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert_eq!(served.asks_once().await, 200);
}

/// How long the server waits for a handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_its_request_slowly_is_given_up_after_ten_seconds() {
    let piped = Piped::start();
    // Nothing, the beginning of HTTP/2 that was not agreed on, half a head, and a byte every three seconds for ever.
    for begun in ["", "PRI * HT", "GET /api HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        for drips in [false, true] {
            let (mut slow, task) = piped.connect().await;
            slow.write_all(begun.as_bytes()).await.unwrap();
            slow.flush().await.unwrap();
            let began = Instant::now();
            let (mut reads, mut writes) = tokio::io::split(slow);
            let dripping = tokio::spawn(async move {
                while drips && writes.write_all(b"x").await.is_ok() && writes.flush().await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                }
            });
            let mut rest = Vec::new();
            // It ends in good order or not; what counts is that it ends.
            let _ = reads.read_to_end(&mut rest).await;
            task.await.unwrap();
            assert!(began.elapsed() <= PATIENCE, "{begun:?} {drips}: {:?}", began.elapsed());
            dripping.abort();
        }
    }
    assert_eq!(piped.asks_once().await, 200);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_idle_connections_hold_nobody_up_and_are_ended() {
    let piped = Piped::start();
    let began = Instant::now();
    let mut idle = Vec::new();
    for index in 0..10_000 {
        let (mut stream, task) = piped.open();
        // Some say nothing, some begin a handshake.
        if index % 2 == 0 {
            stream.write_all(b"\x16\x03\x01").await.unwrap();
        }
        idle.push((stream, task));
    }
    assert_eq!(piped.asks_once().await, 200);
    for (mut stream, task) in idle {
        task.await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    }
    assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
    assert_eq!(piped.asks_once().await, 200);
}
