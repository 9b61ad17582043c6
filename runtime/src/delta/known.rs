//! Keys of labels that most clusters are full of, in one byte.

/// Keys by the byte that stands for them, from 1. A byte stands for its key in what a running process holds, and nowhere
/// else.
const KNOWN: [&str; 24] = [
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "controller-uid",
    "endpointslice.kubernetes.io/managed-by",
    "helm.sh/chart",
    "job-name",
    "k8s-app",
    "kubernetes.io/metadata.name",
    "kubernetes.io/service-name",
    "pod-template-generation",
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// The bytes of the known keys.
const BYTES: [&str; 24] = [
    "\u{1}", "\u{2}", "\u{3}", "\u{4}", "\u{5}", "\u{6}", "\u{7}", "\u{8}", "\u{9}", "\u{a}", "\u{b}", "\u{c}",
    "\u{d}", "\u{e}", "\u{f}", "\u{10}", "\u{11}", "\u{12}", "\u{13}", "\u{14}", "\u{15}", "\u{16}", "\u{17}",
    "\u{18}",
];

/// The key as it is held.
pub(super) fn short(key: &str) -> &str {
    match KNOWN.iter().position(|known| *known == key) {
        Some(at) => BYTES[at],
        None => key,
    }
}

/// The key that is held so.
pub(super) fn long(held: &str) -> &str {
    match held.as_bytes() {
        [byte @ 1..=24] => KNOWN[usize::from(*byte) - 1],
        _ => held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_it_was_however_it_is_held() {
        for (key, byte) in KNOWN.iter().zip(BYTES) {
            assert_eq!((short(key), long(byte)), (byte, *key));
        }
        for key in ["", "a", "tier", "app.kubernetes.io/nam"] {
            assert_eq!((short(key), long(key)), (key, key));
        }
    }
}
