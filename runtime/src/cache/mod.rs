//! What the operator knows of the cluster: informers over compact stores, and the overlay of own writes above them.

mod cached;
mod index;
mod informer;
mod informers;
mod json;
mod memory;
mod overlay;
mod page;
mod proof;
mod reader;
mod scanner;
mod selector;
mod spec;
mod store;

pub use cached::{Cached, DecodeError};
pub use index::IndexFn;
pub use informer::{Informer, Sink};
pub use informers::Informers;
pub use json::JsonError;
pub use memory::{ApplyMemory, Slot};
pub use overlay::{Entry, Gone, Overlay};
pub use reader::{Lookup, Reader, Unknown};
pub use scanner::{KeepManagers, ScanError};
pub use selector::{Selector, SelectorError};
pub use spec::{Covers, InformerSpec};

pub(crate) use cached::decode_cause;
pub(crate) use index::typed as typed_index;
pub(crate) use informer::{ListRun, Listed};
pub(crate) use json::Cursor;
pub(crate) use page::split_list;
