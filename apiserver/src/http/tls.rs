//! The server's certificate: self-signed, made anew at each start.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// No certificate could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a TLS certificate for {names}: {reason}")]
pub struct TlsError {
    names: String,
    reason: String,
}

/// What the server needs to speak TLS, and what its clients need to trust it.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    certificate: String,
}

impl Tls {
    /// A self-signed certificate for `localhost`, the loopback addresses and these hosts (names or IP addresses).
    ///
    /// # Errors
    /// When a host is not a DNS name or address that a certificate can carry.
    pub fn self_signed(hosts: &[&str]) -> Result<Self, TlsError> {
        let failed = |reason: &dyn fmt::Display| TlsError {
            names: hosts.join(", "),
            reason: reason.to_string(),
        };
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "kubewright-apiserver");
        for host in ["localhost", "127.0.0.1", "::1"].iter().chain(hosts) {
            let name = match host.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*host).try_into().map_err(|e| failed(&e))?),
            };
            if !params.subject_alt_names.contains(&name) {
                params.subject_alt_names.push(name);
            }
        }
        let key = KeyPair::generate().map_err(|e| failed(&e))?;
        let certificate = params.self_signed(&key).map_err(|e| failed(&e))?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|e| failed(&e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| failed(&e))?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .map_err(|e| failed(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            certificate: certificate.pem(),
        })
    }

    /// The certificate in PEM, which is its own authority: what goes into a kubeconfig.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
