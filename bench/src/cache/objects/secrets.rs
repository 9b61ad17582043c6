//! Secrets of random data: the worst that a cache can be asked to keep.

use std::fmt::Write;

use super::Chance;

/// Random bytes in one Secret, before base64.
pub(crate) const RANDOM: usize = 3072;

/// Secret number `index`.
pub(crate) fn secret(seed: u64, index: usize) -> String {
    let mut chance = Chance::of(seed, "secret", index);
    let created = chance.time();
    let mut text = String::with_capacity(6 << 10);
    let _ = write!(
        text,
        "{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{{\"name\":\"{}-{}\",\"namespace\":\"vault-{}\",\"uid\":\"{}\",\"resourceVersion\":\"{}\",\"creationTimestamp\":\"{created}\"}},\"data\":{{",
        chance.one(&["tls", "token", "password", "license"]),
        chance.suffix(10),
        chance.below(50),
        chance.uid(),
        1000 + index,
    );
    for (part, share) in [("ca.crt", 3), ("tls.crt", 3), ("tls.key", 2)] {
        let comma = if part == "ca.crt" { "" } else { "," };
        let _ = write!(text, "{comma}\"{part}\":\"{}\"", chance.base64(RANDOM * share / 8));
    }
    text.push_str("},\"type\":\"Opaque\"}");
    text
}
