//! Tests whose order of everything follows from one number.
//!
//! ```text
//! libtest → Test::run ─┬─ parent: which seeds, how often (plan) → a process for each run (process) → verdict
//!                      └─ child: paused time, one thread, seeded machine → the body → report
//! ```
//!
//! The parent starts the test's own binary again, asking libtest for exactly this test. A process of its own gives each
//! run fresh statics, fresh thread-locals and fresh hashers, which no reset in one process could.

mod child;
mod context;
mod difference;
mod outcome;
mod plan;
mod process;
mod report;
mod test;
mod verdict;

pub use outcome::Outcome;
pub use test::{Test, TestKeys};

pub(crate) use context::{current, start};
pub(crate) use plan::{DEFAULT_SEED, seed_of_environment};
