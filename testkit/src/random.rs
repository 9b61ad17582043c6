//! Random numbers that follow from a seed and from what they are for.
//!
//! Each purpose has a sequence of its own, so that one draw more in one place moves nothing elsewhere.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The step of splitmix64: a sequence is the mixes of its seed's multiples of it.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// One sequence (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence for a purpose.
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self(seed_of(seed, purpose))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A duration of the range, by microseconds.
    pub(crate) fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let (least, most) = (range.start().as_micros(), range.end().as_micros());
        let width = u64::try_from(most.saturating_sub(least)).unwrap_or(u64::MAX);
        let more = match width.checked_add(1) {
            Some(count) => self.next_u64() % count,
            None => self.next_u64(),
        };
        *range.start() + Duration::from_micros(more)
    }
}

/// The seed of a purpose's sequence (FNV-1a over its name, then mixed with the run's seed).
pub(crate) fn seed_of(seed: u64, purpose: &str) -> u64 {
    let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(mix(seed.wrapping_add(STEP)) ^ name)
}

/// One number from one number: splitmix64's finish.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_follows_from_its_seed_and_its_purpose() {
        let draw = |seed, purpose| {
            let mut random = Random::new(seed, purpose);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    #[test]
    fn durations_stay_in_their_range() {
        let range = Duration::from_micros(10)..=Duration::from_micros(12);
        let mut random = Random::new(1, "a");
        let mut seen: Vec<_> = (0..100).map(|_| random.duration(&range).as_micros()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [10, 11, 12]);
        let exact = Duration::from_secs(5)..=Duration::from_secs(5);
        assert_eq!(random.duration(&exact), Duration::from_secs(5));
    }
}
