//! The two doors by which every program gets what no seed decides: randomness of the operating system, and its clock.
//!
//! With the feature `pinned`, on Linux, the process of a seeded run answers both itself: `getrandom` from the seed,
//! the wall clock from the test's time. This reaches what no interface of ours could: the hashers of the standard
//! library and with them the random numbers of tokio, `rand`, `uuid`, `SystemTime::now`, chrono's and jiff's clocks.
//! Elsewhere, and without the feature, these functions do nothing, and the comparison of two runs finds what shows.
//!
//! Not pinned: `std::time::Instant` and what else reads the monotonic clock (locks and condition variables wait by
//! it, so a test's time there would make them spin), addresses in memory (`ahash`, in kube-runtime's store, mixes one
//! into its keys), other threads, `RDRAND`, and programs that enter the kernel by themselves.

#[cfg(all(feature = "pinned", target_os = "linux", target_pointer_width = "64"))]
mod symbols;

#[cfg(all(feature = "pinned", target_os = "linux", target_pointer_width = "64"))]
pub(crate) use symbols::{randomness, wall_clock};

#[cfg(not(all(feature = "pinned", target_os = "linux", target_pointer_width = "64")))]
mod nothing {
    /// Makes the operating system's randomness follow from the seed, for the rest of the process.
    pub(crate) fn randomness(_seed: u64) {}

    /// Makes the wall clock show the test's time, which is `base` now, for the rest of the process.
    pub(crate) fn wall_clock(_base: jiff::Timestamp) {}
}

#[cfg(not(all(feature = "pinned", target_os = "linux", target_pointer_width = "64")))]
pub(crate) use nothing::{randomness, wall_clock};
