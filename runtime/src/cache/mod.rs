//! What the operator knows of the cluster: informers over compact stores, and the overlay of own writes above them.

mod cached;
mod facts;
mod fold;
mod index;
mod informer;
mod informers;
mod json;
mod memory;
mod overlay;
mod page;
mod plan;
mod proof;
mod reader;
mod scanner;
mod selector;
mod spec;
mod store;
mod strip;

pub use cached::{Cached, DecodeError};
pub use facts::{KeepManagers, ScanError};
pub use index::IndexFn;
pub use informer::{Informer, Sink, WeakInformer};
pub use informers::Informers;
pub use json::JsonError;
pub use memory::{ApplyMemory, Slot};
pub use overlay::{Entry, Gone, Overlay};
pub use reader::{Lookup, Reader, Unknown};

pub use selector::{Selector, SelectorError};
pub use spec::{Covers, InformerSpec};
pub use strip::{StripError, StripPath};

pub(crate) use cached::decode_cause;
pub(crate) use index::typed as typed_index;
pub(crate) use informer::Listed;
pub(crate) use json::Cursor;
pub(crate) use page::split_list;
