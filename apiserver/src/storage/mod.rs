//! Objects by revision, with a bounded history kept as an undo log, and the watches that follow it.
//!
//! An object is kept as the JSON that goes over the wire ([`Stored`]), so a read costs no serialisation. Every write
//! takes the next revision and leaves a record (revision, key, old, new) in the log; a view of the past is the present
//! with the records after it undone, so older views cost nothing until somebody asks for one.

mod editions;
mod encode;
mod history;
mod horizon;
mod hub;
mod key;
mod past;
mod recent;
mod state;
mod stored;

pub use self::editions::Editions;
pub use self::encode::{Layout, text};
pub use self::history::Expired;
pub use self::horizon::Horizon;
pub use self::hub::{Change, Interest, Overflow, Subscription};
pub use self::key::Key;
pub use self::state::{Store, View};
pub use self::stored::{Draft, Stored};
