//! An in-memory Kubernetes API server for development and tests.
//!
//! It knows Kubernetes only as HTTP and JSON: no client library, no typed kinds. Resources are data
//! ([`resource::Resource`]); one generic path serves them all.
//!
//! [`ApiServer::builder`] makes a server. It answers in process, through the tower service that
//! [`ApiServer::service`] returns, and over TLS ([`ApiServer::serve`]); both ways meet in the same code. Nothing is
//! spawned until one of them is used: the built-in controllers run in [`ApiServer::run_controllers`].

pub mod access;
pub mod admission;
pub mod apply;
pub mod builtins;
pub mod catalog;
pub mod cel;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clock;
pub mod controllers;
pub mod crd;
pub mod discovery;
pub mod error;
pub mod http;
pub mod loopback;
pub mod openapi;
pub mod patch;
pub mod registry;
pub mod resource;
pub mod schema;
pub mod server;
pub mod simulate;
pub mod storage;
pub mod table;

pub use crate::clock::Clock;
pub use crate::error::ApiError;
pub use crate::loopback::{EventKind, Loopback, WatchEvent};
pub use crate::resource::{Gvr, Resource};
pub use crate::server::{ApiServer, Builder, InProcess, Simulate, Tls};
