//! The one door to time and randomness.
//!
//! A test gives an [`Env`] with a fixed start and seed; production uses [`Env::system`]. Nothing else in the
//! framework asks the machine for either, so that one seed gives one order of everything.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::Instant;

mod gate;

pub use gate::{Gate, Held, Run};

/// Wall-clock time. Monotonic time is tokio's `Instant`, which tests pause.
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time now.
    fn now(&self) -> Timestamp;

    /// Time that runs on while the machine sleeps (`CLOCK_BOOTTIME`), counted from any fixed point.
    ///
    /// Leases are judged by it. The default is tokio's clock, which tests control.
    fn boot_time(&self) -> Duration;
}

/// Time and randomness of one replica. Clones share their state.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    random: Arc<Mutex<u64>>,
    gate: Option<Gate>,
}

impl Env {
    /// The machine's clock, and randomness seeded by the operating system.
    #[must_use]
    pub fn system() -> Self {
        use std::hash::{BuildHasher, Hasher};
        // Each RandomState is keyed by the operating system, so an empty hash is a random number.
        #[expect(clippy::disallowed_types, reason = "this is where the machine's randomness comes in")]
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self::new(
            SystemClock {
                started: Instant::now(),
            },
            seed,
        )
    }

    /// A clock that starts at `base` and runs with tokio's, and randomness that follows from `seed` alone.
    #[must_use]
    pub fn seeded(base: Timestamp, seed: u64) -> Self {
        Self::new(
            TokioClock {
                base,
                started: Instant::now(),
            },
            seed,
        )
    }

    /// Any clock, and randomness that follows from `seed` alone.
    pub fn new(clock: impl Clock, seed: u64) -> Self {
        Self {
            clock: Arc::new(clock),
            random: Arc::new(Mutex::new(seed)),
            gate: None,
        }
    }

    /// The same, for a replica whose tasks run only while `gate` lets them. Default: there is no gate.
    #[must_use]
    pub fn gated(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The wall-clock time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// See [`Clock::boot_time`].
    #[must_use]
    pub fn boot_time(&self) -> Duration {
        self.clock.boot_time()
    }

    /// Starts a task of this replica. The one door to `tokio::spawn`, so that a test can hold or stop all of a replica
    /// through its [`Gate`].
    ///
    /// `name` says in traces what the task is for.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        use tracing::Instrument;
        let future = future.instrument(tracing::trace_span!("task", name));
        match &self.gate {
            Some(gate) => tokio::spawn(gate.hold(future)),
            None => tokio::spawn(future),
        }
    }

    /// The next random number (splitmix64).
    #[must_use]
    pub fn next_u64(&self) -> u64 {
        let mut state = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A random fraction in `0.0..1.0`, for jitter.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub fn fraction(&self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("now", &self.now()).finish_non_exhaustive()
    }
}

struct SystemClock {
    started: Instant,
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn boot_time(&self) -> Duration {
        boot_time().unwrap_or_else(|| self.started.elapsed())
    }
}

/// The clock that runs on while the machine sleeps, where there is one.
#[cfg(unix)]
fn boot_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::Boottime;
    // Apple's monotonic clock counts sleep, unlike the one behind std's Instant.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    let nanos = u32::try_from(now.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanos))
}

#[cfg(not(unix))]
fn boot_time() -> Option<Duration> {
    None
}

struct TokioClock {
    base: Timestamp,
    started: Instant,
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        self.base.checked_add(self.started.elapsed()).unwrap_or(Timestamp::MAX)
    }

    fn boot_time(&self) -> Duration {
        self.started.elapsed()
    }
}
