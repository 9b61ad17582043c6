//! Tests whose order of everything follows from one number.
//!
//! ```text
//! libtest → Test::run ─┬─ parent: which seeds, how often (plan) → a process for each run (process) → verdict
//!                      └─ child: paused time, one thread, seeded machine → the body → report
//! ```
//!
//! The parent starts the test's own binary again, asking libtest for exactly this test. A process of its own gives each
//! run fresh statics, fresh thread-locals and fresh hashers, which no reset in one process could. In the child, libtest's
//! thread watches the run's (watchdog): a test on paused time cannot time out while something in it spins.

mod child;
mod context;
mod difference;
mod plan;
mod process;
mod pulse;
mod report;
mod signature;
mod test;
mod verdict;
mod watchdog;

pub use signature::{Outcome, Parameter};
pub use test::{Test, TestKeys};

pub(crate) use context::{current, start};
pub(crate) use plan::{DEFAULT_SEED, seed_of_environment};
pub(crate) use pulse::line;
