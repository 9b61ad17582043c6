//! The objects that both sides cache: as an API server writes them, no two alike, all from one seed.

mod chance;
mod custom;
mod pods;
mod secrets;

pub(crate) use chance::Chance;
pub(crate) use custom::{DatabaseSpec, DatabaseStatus, GROUP, PLURAL, custom};
pub(crate) use pods::{pod, pod_at};
pub(crate) use secrets::secret;

/// How many objects have one owner.
pub(crate) const SIBLINGS: usize = 10;
