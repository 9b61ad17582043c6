//! Events (events.k8s.io/v1): what a controller tells the people who look at an object.
//!
//! Recording never waits and never fails a reconcile: an event is handed to a bounded queue, and what cannot be sent
//! is dropped and counted. The same event again within six minutes becomes a series, as with client-go; an object
//! that gets more than a burst of 25 different events of one controller is limited to one in five minutes; events that
//! differ in their notes only are combined from the eleventh within ten minutes on.

mod aggregate;
mod event;
mod publisher;
mod recorder;
mod similar;
mod wire;

pub use event::{Event, EventType, Regarding};
pub use publisher::Publisher;
pub use recorder::Recorder;
