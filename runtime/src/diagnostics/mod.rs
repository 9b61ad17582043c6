//! What is going on and why: one [`Report`] per reconcile, handed to [`Observer`]s and kept for the last runs of
//! each key.

mod fields;
mod history;
mod observer;
mod reason;
mod report;

pub use fields::Fields;
pub use history::History;
pub use observer::{Leadership, Observer};
pub use reason::{Reason, Reasons};
pub use report::{Base, Outcome, Phase, Report, WriteOutcome, WriteRecord};
