//! The certificate that the server shows, exchanged while it serves.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

use super::validity::Validity;

/// A certificate with its key: PEM, the server's own first, then those between it and the root.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The chain of certificates.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pem")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// What the server shows to who connects now. Clones share it: new connections get what was set last, open ones go on.
#[derive(Clone, Default)]
pub struct Identity(Arc<Inner>);

#[derive(Default)]
struct Inner {
    shown: RwLock<Shown>,
    first: Notify,
}

#[derive(Default)]
struct Shown {
    key: Option<Arc<CertifiedKey>>,
    pem: Option<Pem>,
    validity: Option<Validity>,
}

impl Identity {
    /// No certificate yet: connections are refused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows another certificate from now on; true if it is another one.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the one before stays.
    pub fn set(&self, pem: &Pem) -> Result<bool, String> {
        if self.0.shown.read().unwrap_or_else(PoisonError::into_inner).pem.as_ref() == Some(pem) {
            return Ok(false);
        }
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem.certificate.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| format!("the certificate is no PEM: {error}"))?;
        let first = chain.first().ok_or("the certificate's file holds none")?;
        let validity = Validity::of(first).ok_or("the certificate cannot be read")?;
        let key =
            PrivateKeyDer::from_pem_slice(pem.key.as_bytes()).map_err(|error| format!("the key is no PEM: {error}"))?;
        let key = rustls::crypto::ring::sign::any_supported_type(&key)
            .map_err(|error| format!("the key cannot be used: {error}"))?;
        let certified = CertifiedKey::new(chain, key);
        certified
            .keys_match()
            .map_err(|error| format!("certificate and key do not belong together: {error}"))?;
        *self.0.shown.write().unwrap_or_else(PoisonError::into_inner) = Shown {
            key: Some(Arc::new(certified)),
            pem: Some(pem.clone()),
            validity: Some(validity),
        };
        self.0.first.notify_waiters();
        Ok(true)
    }

    /// Returns once there is a certificate.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn shown(&self) {
        loop {
            let first = self.0.first.notified();
            if self.validity().is_some() {
                return;
            }
            first.await;
        }
    }

    /// When the certificate that is shown begins and ends to be valid.
    #[must_use]
    pub fn validity(&self) -> Option<Validity> {
        self.0.shown.read().unwrap_or_else(PoisonError::into_inner).validity
    }
}

impl ResolvesServerCert for Identity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.shown.read().unwrap_or_else(PoisonError::into_inner).key.clone()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("validity", &self.validity())
            .finish_non_exhaustive()
    }
}
