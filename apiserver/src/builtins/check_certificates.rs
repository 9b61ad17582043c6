//! What certificate signing requests must be.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, Below, With};
use super::names;
use crate::error::Cause;

/// The shortest time, in seconds, that a certificate may be asked for.
const SHORTEST: i64 = 600;
/// What a certificate may be used for.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("CertificateSigningRequest", &[Below("spec")]),
    (
        "CertificateSigningRequestSpec",
        &[With(request), With(usages), With(signer), With(expiration)],
    ),
];

/// The request is a PEM block around a request for a certificate.
fn request(at: &At<'_>, causes: &mut Vec<Cause>) {
    let decoded = STANDARD.decode(at.text("request")).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    let block = text
        .split_once("-----BEGIN CERTIFICATE REQUEST-----")
        .and_then(|(_, rest)| rest.split_once("-----END CERTIFICATE REQUEST-----"))
        .map(|(body, _)| body.split_whitespace().collect::<String>())
        .and_then(|body| STANDARD.decode(body).ok());
    let why = match block {
        None => "PEM block type must be CERTIFICATE REQUEST",
        Some(der) if !is_sequence(&der) => "asn1: syntax error: data truncated",
        Some(_) => return,
    };
    // Bytes are shown as Go prints them.
    let bytes: Vec<String> = decoded.iter().map(|byte| format!("0x{byte:x}")).collect();
    causes.push(Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: []byte{{{}}}: {why}", bytes.join(", ")),
        field: at.field("request"),
    });
}

/// Whether the bytes are one sequence of ASN.1, as long as it says.
fn is_sequence(der: &[u8]) -> bool {
    let [0x30, length, rest @ ..] = der else { return false };
    let count = usize::from(length & 0x7f);
    if length & 0x80 == 0 {
        return rest.len() == count;
    }
    let Some((length, body)) = rest.split_at_checked(count) else {
        return false;
    };
    let length = length.iter().try_fold(0_usize, |sum, byte| {
        sum.checked_mul(256)?.checked_add(usize::from(*byte))
    });
    length == Some(body.len())
}

fn usages(at: &At<'_>, causes: &mut Vec<Cause>) {
    let usages = at.list("usages");
    if usages.is_empty() {
        causes.push(Cause::required(at.field("usages"), ""));
    }
    let place = |index: usize| format!("{}[{index}]", at.field("usages"));
    let named = |usage: &Value| usage.as_str().unwrap_or_default().to_owned();
    for (index, usage) in usages.iter().enumerate() {
        if USAGES.binary_search(&named(usage).as_str()).is_err() {
            causes.push(Cause::unsupported(place(index), usage, USAGES));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in usages.iter().enumerate() {
        if !seen.insert(named(usage)) {
            causes.push(Cause::duplicate(place(index), usage));
        }
    }
}

fn signer(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (name, field) = (at.text("signerName"), at.field("signerName"));
    if name.is_empty() {
        causes.push(Cause::required(field, ""));
        return;
    }
    let mut invalid = |value: &str, why: String| causes.push(Cause::invalid(&*field, &value.into(), why));
    if name == "kubernetes.io/legacy-unknown" {
        return invalid(
            name,
            "the legacy signerName is not allowed via this API version".to_owned(),
        );
    }
    let [domain, path] = name.split('/').collect::<Vec<_>>()[..] else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return invalid(name, why.to_owned());
    };
    let first_fault = |parts: &str, rule: fn(&str) -> Vec<String>| {
        let faults = parts.split('.').map(|label| (label.to_owned(), rule(label)));
        faults.into_iter().find(|(_, faults)| !faults.is_empty())
    };
    for why in first_fault(domain, names::label).into_iter().flat_map(told) {
        invalid(domain, why);
    }
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        invalid(domain, why.to_owned());
    }
    for why in first_fault(path, names::subdomain).into_iter().flat_map(told) {
        invalid(path, why);
    }
}

fn told((label, faults): (String, Vec<String>)) -> impl Iterator<Item = String> {
    faults
        .into_iter()
        .map(move |fault| format!("validating label {label:?}: {fault}"))
}

fn expiration(at: &At<'_>, causes: &mut Vec<Cause>) {
    let seconds = at.get("expirationSeconds");
    if seconds.as_i64().is_some_and(|seconds| seconds < SHORTEST) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        causes.push(Cause::invalid(at.field("expirationSeconds"), seconds, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_are_found_by_binary_search() {
        assert!(USAGES.is_sorted());
    }

    #[test]
    fn a_sequence_is_as_long_as_it_says() {
        assert!(is_sequence(&[0x30, 2, 5, 0]));
        assert!(is_sequence(&[0x30, 0x81, 1, 0]));
        assert!(!is_sequence(&[0x30, 3, 5, 0]));
        assert!(!is_sequence(b""));
    }
}
