//! `getrandom` and `clock_gettime`, defined in the test's own binary, where the linker prefers them to the C library's.
//!
//! This is the one place with unsafe code. Both functions are the C library's own interface, so they take raw pointers
//! from callers whom no Rust signature binds; nothing safe can stand in their place. What makes it sound:
//!
//! - Both signatures are the C library's, word for word (the `libc` crate's types). The unsafe code writes through the
//!   caller's pointer, exactly as many bytes as the caller says are there, and nothing else.
//! - Until a seeded run takes over, and for every other clock, both hand the call to the kernel unchanged, so that a
//!   binary that merely links this file behaves as before, errors included.
//! - Neither allocates, blocks on a lock that its callers may hold, nor calls what could call it again: it is atomics,
//!   one thread-local without a destructor, and tokio's clock, whose own lock is never held while the wall clock is read.

#![allow(
    unsafe_code,
    reason = "a definition of a C function takes the caller's raw pointers; see above"
)]

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use jiff::Timestamp;
use libc::{c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, timespec};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::random;

/// Whether randomness is the seed's, and how far it has been drawn.
static SEEDED: AtomicBool = AtomicBool::new(false);
static DRAWN: AtomicU64 = AtomicU64::new(0);

/// When the run began on its own clock and by the wall's, and the last wall-clock time that it looked at, in
/// nanoseconds since 1970; zero: the clock is the machine's.
static BEGAN: OnceLock<(Instant, i64)> = OnceLock::new();
static SEEN: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// Whether this is the run's own thread, the only one that can ask its clock.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// Makes the operating system's randomness follow from the seed, for the rest of the process.
pub(crate) fn randomness(seed: u64) {
    DRAWN.store(random::seed_of(seed, "the operating system"), Ordering::SeqCst);
    SEEDED.store(true, Ordering::SeqCst);
}

/// Makes the wall clock show the test's time, which is `base` now, for the rest of the process. This thread's runtime
/// is the test's.
pub(crate) fn wall_clock(base: Timestamp) {
    let base = i64::try_from(base.as_nanosecond()).unwrap_or(i64::MAX);
    if BEGAN.set((Instant::now(), base)).is_ok() {
        SEEN.store(base, Ordering::SeqCst);
        RUNS.set(true);
    }
}

/// Fills a buffer with random bytes, as `getrandom(2)`.
///
/// # Safety
///
/// `buffer` is valid for writes of `length` bytes, as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if !SEEDED.load(Ordering::SeqCst) {
        // SAFETY: the caller's arguments, handed on as they are.
        let filled: c_long = unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) };
        return filled as ssize_t;
    }
    let mut left = length;
    let mut at = buffer.cast::<u8>();
    while left > 0 {
        let bytes = random::mix(
            DRAWN
                .fetch_add(random::STEP, Ordering::SeqCst)
                .wrapping_add(random::STEP),
        )
        .to_le_bytes();
        let count = left.min(bytes.len());
        // SAFETY: `at` is `length - left` bytes into the caller's buffer, which has `left` more bytes from there, and
        // `count` is not more than that; an array of this function's does not overlap it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, count);
            at = at.add(count);
        }
        left -= count;
    }
    length as ssize_t
}

/// Tells the time, as `clock_gettime(2)`.
///
/// # Safety
///
/// `time` is valid for a write, as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let nanos = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => wall_nanos(),
        _ => None,
    };
    let Some(nanos) = nanos else {
        // SAFETY: the caller's arguments, handed on as they are.
        let answer: c_long = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
        return answer as c_int;
    };
    let now = timespec {
        tv_sec: nanos.div_euclid(1_000_000_000),
        tv_nsec: nanos.rem_euclid(1_000_000_000),
    };
    // SAFETY: the caller gives a pointer that it may be written through.
    unsafe { time.write(now) };
    0
}

/// The test's time. Another thread, and whoever asks before or after the test's runtime runs, is told the time that
/// the run looked at last.
fn wall_nanos() -> Option<i64> {
    let seen = SEEN.load(Ordering::SeqCst);
    if seen == 0 {
        return None;
    }
    let in_run = RUNS.try_with(Cell::get).unwrap_or(false) && Handle::try_current().is_ok();
    let Some((began, base)) = BEGAN.get().filter(|_| in_run) else {
        return Some(seen);
    };
    let passed = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
    let now = base.saturating_add(passed);
    SEEN.store(now, Ordering::SeqCst);
    Some(now)
}
