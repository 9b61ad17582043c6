//! List and watch over raw bytes: what the server says of a collection, kept up for as long as it is wanted.
//!
//! One task and one backoff per watch. The first list is consistent (streamed where the server can, else in pages),
//! the watch goes on from its version, and every way for the server to say that a version is gone leads to a list
//! that is taken in as a difference. Errors are in the status and in the log and never end the watch.

mod backoff;
mod event;
mod frames;
mod keep_up;
mod status;
mod trouble;
mod watcher;

pub use frames::Frames;
pub use status::WatchStatus;

pub(crate) use keep_up::keep_up;
