//! Ends a run that hangs. On paused time a test has no timeout that could save it: while something can run, no time
//! passes.

use std::env;
use std::time::Duration;

use super::pulse::Pulse;

/// How often it looks, in real time.
pub(super) const LOOK: Duration = Duration::from_millis(500);

/// How many seconds a run may compute while its time stands still and its story does not grow. Twice as long, in real
/// time, it may do nothing at all.
const PATIENCE: &str = "KUBEWRIGHT_PATIENCE";

/// Far more than any step of a test takes on a slow machine, and less than people wait.
const DEFAULT: Duration = Duration::from_secs(60);

/// Looks at a run from another thread.
#[derive(Debug)]
pub(super) struct Watchdog {
    patience: Duration,
    pulse: Pulse,
    /// Looks at which nothing had moved.
    looks: u32,
    cpu: Option<Duration>,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        let told = env::var(PATIENCE).ok().and_then(|text| text.trim().parse().ok());
        Self::with(told.map_or(DEFAULT, Duration::from_secs))
    }

    fn with(patience: Duration) -> Self {
        Self {
            patience,
            pulse: Pulse::now(),
            looks: 0,
            cpu: cpu_time(),
        }
    }

    /// What is wrong, once it is clear that the run will not go on. To be called each [`LOOK`].
    pub(super) fn look(&mut self) -> Option<String> {
        if Pulse::now() != self.pulse {
            *self = Self::with(self.patience);
            return None;
        }
        self.looks += 1;
        let computed = cpu_time().zip(self.cpu).map(|(now, then)| now.saturating_sub(then));
        if computed.is_some_and(|computed| computed >= self.patience) {
            return Some(format!(
                "the test hangs: something in it has computed for {} s without ever waiting, while no time of the test's \
                 passed and nothing was sent. Paused time stands still while anything can run: look for a loop that only \
                 yields, or sleeps for no time ({PATIENCE}=600 lets a run compute for longer)",
                self.patience.as_secs()
            ));
        }
        let idle = computed.is_none_or(|computed| computed * 100 < self.patience);
        (idle && LOOK * self.looks >= self.patience * 2).then(|| {
            format!(
                "the test hangs: nothing in it has moved for {} s of real time. Look for a lock that is taken twice, a \
                 thread that never answers, or `spawn_blocking`, for which paused time waits ({PATIENCE}=600 lets a run \
                 stand still for longer)",
                (self.patience * 2).as_secs()
            )
        })
    }
}

/// What this process has computed, in all its threads.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(
        u64::try_from(now.tv_sec).ok()?,
        u32::try_from(now.tv_nsec).ok()?,
    ))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}
