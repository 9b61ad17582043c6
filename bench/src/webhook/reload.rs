//! Reviews over TLS, with and without another certificate every few requests.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use kubewright::Env;
use kubewright::manager::Shutdown;
use kubewright::webhook::{Handler, Identity, Pem, Server};
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::object;
use crate::Failure;
use crate::apiserver::tls::Connector;
use crate::harness::{Case, Limit, Suite};

const RELOAD: Case = Case {
    name: "reload-p99",
    what: "how much later the slowest hundredth of reviews is answered when certificates change",
    unit: "ms",
    limit: Limit::AtMost(1.0),
    samples: 5,
};

/// Reviews of one turn.
const ROUNDS: usize = 2_000;
/// After how many reviews the certificate changes, where it does.
const EACH: usize = 20;

/// Measures the difference between the two.
///
/// # Errors
/// When a review is not answered.
pub(super) async fn run(suite: &mut Suite, handler: &Handler) -> Result<(), Failure> {
    if !suite.wants(&RELOAD) {
        return Ok(());
    }
    let certificates = [certificate()?, certificate()?];
    let identity = Identity::new();
    identity.set(&certificates[0])?;
    let server = Server::new(handler.clone(), identity.clone(), Env::system())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = Shutdown::new();
    let serving = tokio::spawn({
        let stop = stop.clone();
        async move { server.run(listener, stop).await }
    });
    let mut connection = Connector::new()?.http(address).await?;
    let body = Bytes::from(object::review().to_string());
    let mut turn = async |reload: bool| -> Result<f64, Failure> {
        let mut took = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let began = Instant::now();
            if reload && round % EACH == 0 {
                identity.set(&certificates[round / EACH % 2])?;
            }
            let request = Request::post("/validate/deployments.apps/v1?timeout=10s")
                .header("host", "localhost")
                .header("content-type", "application/json")
                .body(Full::new(body.clone()))?;
            connection.ready().await?;
            let answer = connection.send_request(request).await?;
            if answer.status() != 200 {
                return Err(format!("a review got {}", answer.status()).into());
            }
            answer.into_body().collect().await?;
            took.push(began.elapsed().as_secs_f64() * 1e3);
        }
        took.sort_by(f64::total_cmp);
        Ok(took[ROUNDS * 99 / 100])
    };
    turn(false).await?;
    let mut later = Vec::new();
    for _ in 0..suite.samples(&RELOAD) {
        let with = turn(true).await?;
        later.push(with - turn(false).await?);
    }
    suite.record(&RELOAD, &later, &[])?;
    stop.trigger();
    serving.await?;
    Ok(())
}

fn certificate() -> Result<Pem, Failure> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
    Ok(Pem {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}
