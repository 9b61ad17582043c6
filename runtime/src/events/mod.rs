//! Events (events.k8s.io/v1): what a controller tells the people who look at an object.
//!
//! Recording never waits and never fails a reconcile: an event is handed to a bounded queue, and what cannot be sent
//! is dropped and counted. Repeated events become series, as with client-go.

mod event;
mod recorder;

pub use event::{Event, EventType, Regarding};
pub use recorder::{Publisher, Recorder};
