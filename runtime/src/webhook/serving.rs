//! How a deployment serves webhooks.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::certificates::{Certificates, Policy};
use super::configuration::{Reach, service_name};
use super::endpoint::Endpoint;

/// How webhooks are served in one process.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Serving {
    /// Called within the process: by the embedded API server, or by a test.
    InProcess(Endpoint),
    /// Over TLS.
    Tls(TlsOptions),
}

/// A webhook server on a socket.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Where it listens. Default: port 9443 of all addresses.
    pub address: SocketAddr,
    /// Where its certificates come from. Default: issued by the operator.
    pub certificates: Certificates,
    /// Namespace of the operator, where its Secret and its Service are.
    pub namespace: String,
    /// Where the API server finds it. Default: behind the Service.
    pub reach: Reach,
    /// How long new requests are still taken after a request to stop, while the API server's view of the Service's
    /// endpoints may be old. Default: 10 s.
    pub drain: Duration,
}

impl TlsOptions {
    /// The defaults, for an operator in that namespace.
    #[must_use]
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            address: (Ipv6Addr::UNSPECIFIED, super::PORT).into(),
            certificates: Certificates::Issued(Policy::default()),
            namespace: namespace.into(),
            reach: Reach::Service,
            drain: Duration::from_secs(10),
        }
    }

    /// The names by which the API server calls `operator`.
    pub(crate) fn names(&self, operator: &str) -> Vec<String> {
        match &self.reach {
            Reach::Service | Reach::InProcess => {
                let service = format!("{}.{}", service_name(operator), self.namespace);
                vec![
                    format!("{service}.svc"),
                    format!("{service}.svc.cluster.local"),
                    service,
                ]
            }
            Reach::Url(url) => {
                let authority: Option<http::Uri> = url.parse().ok();
                let host = authority.as_ref().and_then(http::Uri::host).unwrap_or("localhost");
                vec![host.trim_matches(['[', ']']).to_owned()]
            }
        }
    }
}
