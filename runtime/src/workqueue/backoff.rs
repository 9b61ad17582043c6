//! How long a failed key waits.

use std::time::Duration;

/// As good as never; what is longer cannot be spread without leaving the range of durations.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// The delay after the `failures`th failure in a row: `min` doubled each time, at most `max`, spread by a quarter to
/// both sides so that keys that failed together do not come back together.
pub(super) fn delay(failures: u32, min: Duration, max: Duration, fraction: f64) -> Duration {
    let doublings = failures.saturating_sub(1).min(62);
    let factor = 1_u32.checked_shl(doublings).filter(|_| doublings < 32);
    let plain = factor.and_then(|f| min.checked_mul(f)).unwrap_or(max).min(max);
    let plain = plain.min(LONGEST);
    plain.mul_f64(0.75 + fraction.clamp(0.0, 1.0) / 2.0).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_stay_there() {
        let at = |n| delay(n, Duration::from_millis(5), Duration::from_secs(1000), 0.5);
        assert_eq!(at(1), Duration::from_millis(5));
        assert_eq!(at(2), Duration::from_millis(10));
        assert_eq!(at(10), Duration::from_millis(2560));
        assert_eq!(at(19), Duration::from_secs(1000));
        for failures in [33, 64, 65, u32::MAX] {
            assert_eq!(at(failures), Duration::from_secs(1000));
        }
    }

    #[test]
    fn jitter_spreads_by_a_quarter_and_never_beyond_the_maximum() {
        let at = |n, f| delay(n, Duration::from_secs(4), Duration::from_secs(100), f);
        assert_eq!(at(1, 0.0), Duration::from_secs(3));
        assert_eq!(at(1, 1.0), Duration::from_secs(5));
        assert_eq!(at(30, 1.0), Duration::from_secs(100));
        assert!(delay(90, Duration::MAX, Duration::MAX, 1.0) >= LONGEST);
    }
}
