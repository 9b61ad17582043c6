//! The server over pipes in memory, on paused time: TLS and HTTP are real, the socket is not there.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request as HttpRequest;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::ConfigMap;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Server, Tasks};
use crate::env::Env;
use crate::error::Result;
use crate::shutdown::Shutdown;
use crate::webhook::{Declaration, Handler, Identity, Pem, Request, Validate, Verdict, Webhooks};

type Body = BoxBody<Bytes, Infallible>;

/// Takes three seconds for each object named `slow`.
struct Hooks;

impl Webhooks for Hooks {
    type Kind = ConfigMap;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<ConfigMap>().validate()
    }
}

impl Validate<ConfigMap> for Hooks {
    async fn create(&self, map: &ConfigMap, _: &Request) -> Result<Verdict> {
        if map.metadata.name.as_deref() == Some("slow") {
            sleep(Duration::from_secs(3)).await;
        }
        Ok(Verdict::allowed())
    }
}

fn certificate() -> Pem {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["webhook.test".to_owned()]).expect("a name");
    Pem {
        certificate: params.self_signed(&key).expect("a certificate").pem(),
        key: key.serialize_pem(),
    }
}

struct Rig {
    server: Server,
    identity: Identity,
    env: Env,
    stop: Shutdown,
}

impl Rig {
    fn new(pem: &Pem) -> Self {
        let env = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1);
        let identity = Identity::new();
        identity.set(pem).expect("a certificate");
        let server = Server::new(Handler::of("op", Hooks), identity.clone(), env.clone()).expect("a server");
        Self {
            server,
            identity,
            env,
            stop: Shutdown::new(),
        }
    }

    /// A connection that trusts `pem` and speaks `protocol`; an error where the server shows another certificate.
    async fn connect(&self, pem: &Pem, protocol: &str) -> std::io::Result<TlsStream<DuplexStream>> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (server, stop) = (self.server.clone(), self.stop.clone());
        self.env
            .spawn("test", async move { server.connection(far, stop).await });
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(pem.certificate.as_bytes()).expect("PEM");
        roots.add(certificate).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("webhook.test").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, near).await
    }

    async fn http1(&self, pem: &Pem) -> http1::SendRequest<Body> {
        let stream = self.connect(pem, "http/1.1").await.expect("TLS");
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
        self.env.spawn("test", connection);
        sender
    }
}

fn review(name: &str) -> Body {
    let text = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "name": name,
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } },
        },
    });
    Full::new(Bytes::from(text.to_string())).boxed()
}

fn post(body: Body) -> HttpRequest<Body> {
    HttpRequest::post("https://webhook.test/validate/configmaps/v1?timeout=10s")
        .header("host", "webhook.test")
        .header("content-type", "application/json")
        .body(body)
        .expect("a request")
}

async fn sent(sender: &mut http1::SendRequest<Body>, body: Body) -> (u16, String) {
    sender.ready().await.expect("the connection lives");
    let answer = sender.send_request(post(body)).await.expect("an answer");
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (code, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test(start_paused = true)]
async fn both_versions_of_http_are_spoken() {
    let pem = certificate();
    let rig = Rig::new(&pem);
    let mut sender = rig.http1(&pem).await;
    for _ in 0..3 {
        assert_eq!(sent(&mut sender, review("a")).await.0, 200);
    }
    let stream = rig.connect(&pem, "h2").await.expect("TLS");
    let (mut sender, connection) = http2::handshake(Tasks(rig.env.clone()), TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    rig.env.spawn("test", connection);
    let began = Instant::now();
    let slow = sender.send_request(post(review("slow")));
    let quick = sender.send_request(post(review("a")));
    assert_eq!(quick.await.expect("an answer").status(), 200);
    assert_eq!(began.elapsed(), Duration::ZERO, "one does not wait for the other");
    assert_eq!(slow.await.expect("an answer").status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_review_that_is_too_large_or_does_not_come_is_refused() {
    let pem = certificate();
    let rig = Rig::new(&pem);
    let huge = Full::new(Bytes::from(vec![b' '; 8 * 1024 * 1024])).boxed();
    let mut sender = rig.http1(&pem).await;
    let (code, text) = sent(&mut sender, huge).await;
    assert_eq!(code, 413, "{text}");
    assert!(text.contains("larger than"), "{text}");
    let stalled = futures::StreamExt::chain(
        futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"{")))]),
        futures::stream::pending(),
    );
    let mut sender = rig.http1(&pem).await;
    let began = Instant::now();
    let (code, text) = sent(&mut sender, StreamBody::new(stalled).boxed()).await;
    assert_eq!(code, 408, "{text}");
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    // Others were not held up.
    let mut sender = rig.http1(&pem).await;
    assert_eq!(sent(&mut sender, review("a")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_handshake_ends() {
    let pem = certificate();
    let rig = Rig::new(&pem);
    let (near, far) = tokio::io::duplex(1024);
    let ends = rig.server.connection(far, rig.stop.clone());
    timeout(Duration::from_secs(11), ends)
        .await
        .expect("it does not wait for ever");
    drop(near);
}

#[tokio::test(start_paused = true)]
async fn another_certificate_is_for_new_connections_and_open_ones_go_on() {
    let (first, second) = (certificate(), certificate());
    let rig = Rig::new(&first);
    let mut open = rig.http1(&first).await;
    assert_eq!(sent(&mut open, review("a")).await.0, 200);
    assert_eq!(rig.identity.set(&second), Ok(true));
    assert_eq!(sent(&mut open, review("a")).await.0, 200);
    assert!(rig.connect(&first, "http/1.1").await.is_err());
    let mut new = rig.http1(&second).await;
    assert_eq!(sent(&mut new, review("a")).await.0, 200);
    assert_eq!(sent(&mut open, review("a")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_before_the_end_is_answered() {
    let pem = certificate();
    let rig = Rig::new(&pem);
    let mut busy = rig.http1(&pem).await;
    let mut idle = rig.http1(&pem).await;
    assert_eq!(sent(&mut idle, review("a")).await.0, 200);
    let stop = rig.stop.clone();
    rig.env.spawn("test", async move {
        sleep(Duration::from_secs(1)).await;
        stop.trigger();
    });
    assert_eq!(sent(&mut busy, review("slow")).await.0, 200);
    let closed = async {
        while idle.ready().await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(1), closed)
        .await
        .expect("idle connections are closed");
}
