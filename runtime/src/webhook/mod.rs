//! Webhooks: validate, fill in and convert what users write, served by the manager.
//!
//! A type with `#[webhooks(for = App, validate, mutate)]` implements [`Validate`] and [`Mutate`] for its kind, and
//! [`Manager::webhook`](crate::Manager::webhook) registers it. `manifests` prints the configurations; `dev` and the
//! testkit call the webhooks within the process, without certificates or ports; `run` serves them over TLS. Versions of a
//! kind are converted through one of them, the hub: [`Convert`] follows from `From` in both directions.
//!
//! ```text
//! API server → Server (TLS, limits) → Handler (route, review, time, panics) → Validate, Mutate, Convert
//! dev, tests → Endpoint ──────────────↗
//! ```
//!
//! Webhooks run on every replica and wait for nothing: neither for the Lease nor for caches. A webhook that is down
//! blocks what it judges and nothing else: its rules name one kind, and where that is a kind of Kubernetes itself, the
//! operator's own namespace is left out, so that the operator can always start.

mod admit;
pub mod certificates;
mod configuration;
mod convert;
mod declaration;
mod endpoint;
mod handler;
mod identity;
mod keep;
mod metrics;
mod migration;
mod patch;
mod path;
mod request;
mod review;
mod roundtrip;
mod samples;
mod serve;
mod serving;
mod traits;
mod validity;
mod verdict;

pub use configuration::{Reach, Trust, service_name};
pub use convert::{Conversion, Convert};
pub use declaration::{Declaration, Declared, FailurePolicy, InvalidWebhooks, SideEffects};
pub use endpoint::Endpoint;
pub use handler::Handler;
pub use identity::{Identity, Pem};
pub use keep::{keep, take_kept};
pub use request::{Operation, Request};
pub use review::User;
pub use serve::Server;
pub use serving::{Serving, TlsOptions};
pub use traits::{Mutate, Validate, Webhooks};
pub use validity::Validity;
pub use verdict::{Denied, FieldError, Verdict};

pub(crate) use certificates::{Surroundings, Targets};
pub(crate) use configuration::Configuration;
pub(crate) use declaration::Registered;
pub(crate) use migration::{Migration, progress_name};
pub(crate) use serve::listen;

/// What readiness waits for where webhooks are served over TLS.
pub(crate) const CERTIFICATES: &str = "webhook certificates";

/// The port on which webhooks are served unless a deployment says otherwise.
pub const PORT: u16 = 9443;

#[cfg(test)]
mod tests;
