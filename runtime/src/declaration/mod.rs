//! A controller's declaration as data, and the builder that makes it.
//!
//! Every key of `#[controller(…)]` is a method of [`Declaration`] with the same name and meaning; the attribute
//! expands to calls of them. What they collect is [`Declared`]: plain data that the manager, the cache, the manifests
//! and the context read.

mod builder;
mod by_index;
mod check;
mod declared;
mod mapper;
mod name;
mod own_events;
mod rates;
mod watch;

pub(crate) use builder::StartFn;
pub use builder::{CleanupFn, Declaration};
pub use by_index::{ByIndex, PrimaryIndex, by_index};
pub use check::InvalidDeclaration;
pub use declared::Declared;
pub use mapper::{MapFn, MapInput, MapKey, Mapper};
pub use own_events::OwnEvents;
pub use rates::{Backoff, RateLimit};
pub use watch::{Adopt, Children, Index, Others, Role, TRACKED_BY, Watch, WatchDecl};

pub use crate::rbac::PolicyRule;
