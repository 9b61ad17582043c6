//! One controller: which changes wake which keys, and the workers that reconcile them.

mod any;

pub(crate) use any::AnyController;
pub use any::Controller;
