//! A certificate authority, and the certificates that it signs.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use serde::{Deserialize, Serialize};

/// A certificate with its key and the time in which it is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Issued {
    /// PEM.
    pub(super) certificate: String,
    /// PEM.
    pub(super) key: String,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// The common name, which an authority's certificates refer to.
    pub(super) name: String,
}

impl Issued {
    /// An authority of its own.
    pub(super) fn authority(name: String, from: Timestamp, until: Timestamp) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = authority_params(&name, from, until).self_signed(&key)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            from,
            until,
            name,
        })
    }

    /// A server's certificate, signed by this authority.
    pub(super) fn sign(&self, names: &[String], from: Timestamp, until: Timestamp) -> Result<Self, rcgen::Error> {
        let issuer = rcgen::Issuer::new(
            authority_params(&self.name, self.from, self.until),
            KeyPair::from_pem(&self.key)?,
        );
        let name = names.first().cloned().unwrap_or_default();
        let mut params = params(&name, from, until.min(self.until));
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into()?),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            from,
            until: until.min(self.until),
            name,
        })
    }

    /// When it should be replaced: after two thirds of its time, so that clocks may differ and an outage may last.
    pub(super) fn renewal(&self) -> Timestamp {
        let seconds = self.until.as_second().saturating_sub(self.from.as_second());
        Timestamp::from_second(self.from.as_second().saturating_add(seconds / 3 * 2)).unwrap_or(self.until)
    }
}

fn authority_params(name: &str, from: Timestamp, until: Timestamp) -> CertificateParams {
    let mut params = params(name, from, until);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn params(name: &str, from: Timestamp, until: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let since_epoch = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(from);
    params.not_after = epoch + since_epoch(until);
    params
}
