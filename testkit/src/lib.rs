//! Tests of Kubernetes operators against an API server in the process.
//!
//! ```no_run
//! # use kubewright::Manager;
//! # use kubewright::k8s_openapi::api::apps::v1::Deployment;
//! # fn manager() -> Manager { Manager::new("app-operator") }
//! use kubewright_testkit::TestCluster;
//!
//! #[tokio::test(start_paused = true)]
//! async fn an_app_gets_its_deployment() {
//!     let cluster = TestCluster::start();
//!     let operator = cluster.run(manager()).await; // installs its CRD, and runs it with its own RBAC
//!     cluster.apply_yaml(include_str!("../../examples/app-operator/app.yaml")).await;
//!     cluster.wait_for::<Deployment>("default/hello", |d| d.spec.is_some()).await;
//!     operator.stop().await;
//! }
//! # fn main() {}
//! ```
//!
//! Nothing here opens a port or sleeps for real. On paused time (`start_paused = true`) waiting costs nothing: when
//! nothing can run, tokio moves its clock to the next timer. The server, the operator and the test share that clock.
//! Real sockets do not belong into such a test: while nothing in the process can run, the clock races on, and every
//! timeout on the socket expires at once.
//!
//! The helpers panic with a message for people when what they wait for does not come, since a test is where they are
//! called.

mod actor;
mod caller;
mod clock;
mod cluster;
mod diff;
mod failure;
mod faults;
mod kubectl;
mod latency;
mod link;
mod operator;
mod pinned;
mod random;
mod requests;
mod seeded;
mod story;
mod wait;
mod webhooks;
mod workloads;

pub mod oracles;

pub use actor::Actor;
pub use cluster::{Builder, TestCluster};
pub use faults::{Delay, Events, Fault, FaultHandle, OnRequest, OnWatch, RemovedKind, Verb, Withdrawn};
pub use latency::Latency;
pub use link::Crash;
pub use operator::{Operator, OperatorBuilder};
pub use oracles::{Snapshot, Violation};
pub use requests::Requests;
pub use story::{Effect, Entry, EventSeen, Excerpt, RequestMade, Story, What};
pub use webhooks::{BrokenWebhooks, WebhookFault};
pub use workloads::Workloads;

pub use kubewright_macros::testkit_test as test;

pub use kubewright::dev::apiserver;
pub use kubewright::dev::apiserver::http::log::RequestRecord;
pub use kubewright::dev::apiserver::server::{ApiServer, Simulate};

/// What the attribute's expansion names. No promise is made about anything here.
#[doc(hidden)]
pub mod __private {
    pub use crate::seeded::{Outcome, Parameter, Test, TestKeys};
}

/// The snippets of the guide, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/testing.md")]
struct Guide;

/// The snippets of the guide to webhooks.
#[cfg(doctest)]
#[doc = include_str!("../../docs/webhooks.md")]
struct WebhooksGuide;
