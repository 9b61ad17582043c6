//! Clients that open connections and do not use them. The transport is the subject, so these tests use sockets.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

struct Served {
    address: SocketAddr,
    connector: TlsConnector,
}

impl Served {
    async fn start() -> Self {
        let server = ApiServer::builder().token("t").build();
        let tls = Tls::self_signed(&[]).unwrap();
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(tls.certificate().as_bytes()).unwrap())
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { server.serve(listener, tls, std::future::pending()).await });
        Self {
            address,
            connector: TlsConnector::from(Arc::new(config)),
        }
    }

    async fn connect(&self) -> tokio_rustls::client::TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await.unwrap()
    }

    async fn asks_once(&self) -> u16 {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(self.connect().await))
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
