//! A framework for Kubernetes operators: one attribute declares a controller; watches, owner mapping, cache,
//! workers, leader election, RBAC, CRDs and tests follow from it.

#[cfg(not(any(
    feature = "k8s-v1_33",
    feature = "k8s-v1_34",
    feature = "k8s-v1_35",
    feature = "k8s-v1_36",
    feature = "k8s-v1_37"
)))]
compile_error!(
    "kubewright needs one Kubernetes version: enable exactly one of its features k8s-v1_33 to k8s-v1_37, or keep the default features"
);

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;
pub mod cache;
pub mod cli;
pub mod client;
pub mod concurrent;
pub mod conditions;
pub mod context;
pub mod controller;
pub mod declaration;
pub mod delta;
#[cfg(feature = "dev")]
pub mod dev;
pub mod diagnostics;
pub mod env;
pub mod error;
pub mod events;
pub mod finalizer;
pub mod grants;
pub mod handler;
pub mod health;
pub mod key;
pub mod kind;
pub mod leader;
pub mod manager;
pub mod manifests;
pub mod metrics;
pub mod object;
pub mod owner;
pub mod pause;
pub mod predicate;
pub mod prelude;
pub mod rbac;
pub mod reconciler;
pub mod scope;
mod shutdown;
pub mod sources;
pub mod status_of;
mod sync;
pub mod watch;
pub mod webhook;
pub mod workqueue;

pub use context::Context;
pub use declaration::Declaration;
pub use env::Env;
pub use error::{Error, Result};
pub use grants::{Declare, Finalized, HandsOut, Owns, Reads, ReadsMetadata, Ungranted, Updates, Writes};
pub use key::ObjectKey;
pub use kind::Kind;
pub use manager::Manager;
pub use object::Object;
pub use predicate::{Predicate, predicates};
pub use reconciler::{Action, Cleanup, Reconciler};

pub use kubewright_macros::{CustomResource, KubeSchema, StatusConditions, controller, webhooks};

pub use k8s_openapi;
pub use kube;
