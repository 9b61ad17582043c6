//! The server's one door to the wall clock and to randomness.
//!
//! Wall time is a base taken once plus the time that tokio's clock has run since, so a paused test moves it with
//! `tokio::time::advance`. Everything random (uids, generated names, tokens) is drawn from one seeded generator,
//! so the same seed gives the same answers in the same order.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The alphabet of generated name suffixes: no vowels and no look-alikes, as Kubernetes' `rand.String`.
const NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Wall-clock time and seeded randomness. Clones share their state.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: Timestamp,
    started: Instant,
    random: Mutex<u64>,
}

impl Clock {
    /// A clock that shows the machine's time and draws from the operating system's randomness.
    #[must_use]
    pub fn system() -> Self {
        use std::hash::{BuildHasher, Hasher};
        // Each RandomState is keyed by the operating system, so an empty hash is a random number.
        #[expect(clippy::disallowed_types, reason = "this is where the machine's randomness comes in")]
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self::new(Timestamp::now(), seed)
    }

    /// A clock that starts at `base` and whose randomness follows from `seed` alone.
    #[must_use]
    pub fn new(base: Timestamp, seed: u64) -> Self {
        Self(Arc::new(Inner {
            base,
            started: Instant::now(),
            random: Mutex::new(seed),
        }))
    }

    /// The wall-clock time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let elapsed = self.0.started.elapsed().min(Duration::from_secs(u64::from(u32::MAX)));
        self.0.base.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// The time now as `metav1.Time` writes it: UTC, whole seconds.
    #[must_use]
    pub fn now_rfc3339(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The time now as `metav1.MicroTime` writes it: UTC, exactly six decimals.
    #[must_use]
    pub fn now_micro(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// The next random number (splitmix64).
    pub fn next_u64(&self) -> u64 {
        let mut state = self.0.random.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A random (version 4) UUID.
    pub fn uid(&self) -> String {
        let bits = (u128::from(self.next_u64()) << 64) | u128::from(self.next_u64());
        let bits = (bits & !(0xF << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// `length` random characters that may end a name, as the server appends to `generateName`.
    pub fn name_suffix(&self, length: usize) -> String {
        (0..length)
            .map(|_| {
                let index = usize::try_from(self.next_u64() % 27).unwrap_or(0);
                char::from(NAME_ALPHABET[index])
            })
            .collect()
    }
}
