//! Owns and starts everything in order, and stops it in reverse.

mod builder;
mod error;
mod options;
mod run;
mod runnable;
mod shutdown;

pub use builder::Manager;
pub use error::ManagerError;
pub use options::{LeaderElection, Options};
pub use runnable::{RunContext, Runnable};
pub use shutdown::Shutdown;
