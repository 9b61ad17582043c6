//! Medians, and the clock.

use rustix::time::{ClockId, clock_gettime};

/// CPU time that this thread has used, in microseconds.
pub(crate) fn thread_cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss, reason = "seconds of CPU time are few")]
    let seconds = now.tv_sec as f64;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds within a second are exact")]
    let nanoseconds = now.tv_nsec as f64;
    seconds * 1e6 + nanoseconds / 1e3
}

/// The median; NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).total_cmp(&2.0), std::cmp::Ordering::Equal);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).total_cmp(&2.5), std::cmp::Ordering::Equal);
        assert!(median(&[]).is_nan());
    }
}
