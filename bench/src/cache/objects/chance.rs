//! Randomness from a seed (splitmix64), in the forms that objects are made of.

use std::fmt::Write;

/// A stream of random numbers that follows from its seed alone.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The stream of one object: number `index` of a kind, under a seed.
    pub(crate) fn of(seed: u64, kind: &str, index: usize) -> Self {
        let mut state = seed ^ 0x6b75_6265;
        for byte in kind.bytes() {
            state = Self(state ^ u64::from(byte)).number();
        }
        Self(Self(state ^ index as u64).number())
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    #[allow(clippy::cast_possible_truncation, reason = "the rest is below `limit`")]
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit as u64) as usize
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// `digits` random hexadecimal digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        self.letters_of(b"0123456789abcdef", digits)
    }

    /// A suffix of a generated name: the alphabet is Kubernetes' (`k8s.io/apimachinery/pkg/util/rand`).
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        self.letters_of(b"bcdfghjklmnpqrstvwxz2456789", length)
    }

    pub(crate) fn uid(&mut self) -> String {
        let (a, b) = (self.number(), self.number());
        let a = (a & !0xf000) | 0x4000;
        let b = (b & !(0xc << 60)) | (0x8 << 60);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xffff,
            b >> 48,
            b & 0xffff_ffff_ffff
        )
    }

    pub(crate) fn address(&mut self) -> String {
        format!("10.{}.{}.{}", self.below(64), self.below(256), 1 + self.below(254))
    }

    /// A moment within a year, as the server writes it.
    pub(crate) fn time(&mut self) -> String {
        let (month, day) = (1 + self.below(12), 1 + self.below(28));
        let (hour, minute, second) = (self.below(24), self.below(60), self.below(60));
        format!("2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Random bytes in base64, without padding where `bytes` is a multiple of three.
    pub(crate) fn base64(&mut self, bytes: usize) -> String {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        self.letters_of(ALPHABET, bytes.div_ceil(3) * 4)
    }

    fn letters_of(&mut self, alphabet: &[u8], length: usize) -> String {
        let mut text = String::with_capacity(length);
        for _ in 0..length {
            // Writing to a String cannot fail.
            let _ = text.write_char(char::from(alphabet[self.below(alphabet.len())]));
        }
        text
    }
}
