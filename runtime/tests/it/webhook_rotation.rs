//! Certificates that are replaced while webhooks are called: TLS over pipes in memory, so that time can stand still.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use kubewright::Env;
use kubewright::manager::{Manager, Shutdown};
use kubewright::prelude::*;
use kubewright::webhook::certificates::{Issuer, Policy, Targets};
use kubewright::webhook::{Handler, Identity, Request, Server, Validate, Verdict};
use kubewright_testkit::TestCluster;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::support::App;

const HOST: &str = "hooked-webhook.default.svc";
const PATH: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooked";

#[webhooks(for = App, validate)]
struct AppHooks;

impl Validate<App> for AppHooks {
    async fn create(&self, _: &App, _: &Request) -> Result<Verdict> {
        Ok(Verdict::allowed())
    }
}

/// Authorities live for 30 s and are replaced after 20.
fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.authority = Duration::from_secs(30);
    policy.certificate = Duration::from_secs(12);
    policy.overlap = Duration::from_secs(3);
    policy.check = Duration::from_millis(500);
    policy.skew = Duration::from_secs(1);
    policy
}

/// One replica's server and its issuer.
struct Replica {
    server: Server,
    identity: Identity,
    stop: Shutdown,
    issuing: JoinHandle<()>,
}

impl Replica {
    fn start(cluster: &TestCluster, name: &str) -> Self {
        let env: Env = cluster.env().clone();
        let identity = Identity::new();
        let handler = Handler::of("hooked", AppHooks);
        let server = Server::new(handler, identity.clone(), env.clone()).expect("a server");
        let client = cluster.client_named(name);
        let issuer = Issuer::new(client, "hooked", "default", vec![HOST.to_owned()], policy());
        let targets = Targets {
            validating: Some("hooked".to_owned()),
            ..Targets::default()
        };
        let shown = identity.clone();
        let issuing = tokio::spawn(async move { issuer.run(targets, shown, env).await });
        Self {
            server,
            identity,
            stop: Shutdown::new(),
            issuing,
        }
    }

    fn end(self) {
        self.issuing.abort();
        self.stop.trigger();
    }

    /// A connection as the API server makes it: trusting the bundle of the configuration, and nothing else.
    async fn connect(&self, cluster: &TestCluster, bundle: &str) -> SendRequest<Full<Bytes>> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (server, stop) = (self.server.clone(), self.stop.clone());
        tokio::spawn(async move { server.connection(far, stop).await });
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.expect("PEM")).expect("an authority");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clock = Arc::new(ClusterClock(cluster.env().clone()));
        let config = ClientConfig::builder_with_details(provider, clock)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(HOST).expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, near).await;
        let stream = stream.unwrap_or_else(|error| panic!("at {}: {error}", cluster.now()));
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP");
        tokio::spawn(connection);
        sender
    }
}

/// The cluster's time, for the checks of certificates.
#[derive(Debug)]
struct ClusterClock(Env);

impl TimeProvider for ClusterClock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// The bundle in the configuration.
async fn bundle(client: &kubewright::kube::Client) -> String {
    let request = http::Request::get(PATH).body(Vec::new()).expect("a request");
    let configuration: Value = client.request(request).await.expect("the configuration");
    let text = configuration["webhooks"][0]["clientConfig"]["caBundle"]
        .as_str()
        .unwrap_or_default();
    let pem = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
    String::from_utf8(pem).expect("PEM")
}

async fn review(sender: &mut SendRequest<Full<Bytes>>) -> Value {
    let body = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "name": "a",
            "kind": { "group": "it.kubewright.dev", "version": "v1", "kind": "App" },
            "object": { "apiVersion": "it.kubewright.dev/v1", "kind": "App", "metadata": { "name": "a" }, "spec": {} },
        },
    });
    let request = http::Request::post("/validate/apps.it.kubewright.dev/v1?timeout=10s")
        .header("host", HOST)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request");
    sender.ready().await.expect("the connection lives");
    let answer = sender.send_request(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&body).expect("a review")
}

#[kubewright_testkit::test]
async fn no_review_fails_while_authorities_are_replaced_three_times_and_a_replica_restarts() {
    let cluster = TestCluster::start();
    for object in Manager::new("hooked").webhook(AppHooks).manifests("default").objects() {
        cluster.apply(&object).await;
    }
    let client = cluster.client_named("api-server");
    let first = Replica::start(&cluster, "one");
    let mut second = Some(Replica::start(&cluster, "two"));
    first.identity.shown().await;
    second.as_ref().expect("started").identity.shown().await;
    let mut authorities = BTreeSet::new();
    let (mut reviews, mut restarted) = (0, false);
    // A second's reviews, 100 of them, go over one connection to each replica.
    for second_of_load in 0..75 {
        let trusted = bundle(&client).await;
        let signing = trusted
            .split_inclusive("-----END CERTIFICATE-----")
            .next()
            .unwrap_or_default();
        authorities.insert(signing.to_owned());
        if second_of_load == 30 {
            second.take().expect("it runs").end();
        }
        if second_of_load == 33 {
            let again = Replica::start(&cluster, "two-again");
            again.identity.shown().await;
            second = Some(again);
            restarted = true;
        }
        let mut connections = vec![first.connect(&cluster, &trusted).await];
        if let Some(second) = &second {
            connections.push(second.connect(&cluster, &trusted).await);
        }
        for turn in 0..100 {
            let count = connections.len();
            let answer = review(&mut connections[turn % count]).await;
            assert_eq!(answer["response"]["allowed"], true, "{answer}");
            reviews += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!((reviews, restarted), (7500, true));
    assert!(authorities.len() >= 4, "{} authorities signed", authorities.len());
    first.end();
    second.expect("it runs").end();
}
