//! What the operator knows of the cluster: informers over compact stores, and the overlay of own writes above them.

mod cached;
mod interner;
mod json;
mod overlay;
mod scanner;
mod selector;

pub use cached::{Cached, DecodeError};
pub use json::JsonError;
pub use overlay::{Entry, Overlay};
pub use scanner::{KeepManagers, ScanError};
pub use selector::{Selector, SelectorError};

pub(crate) use scanner::split_list;
