//! An in-memory Kubernetes API server for development and tests.
//!
//! It knows Kubernetes only as HTTP and JSON: no client library, no typed kinds. Resources are data
//! ([`resource::Resource`]); one generic path serves them all.

pub mod access;
pub mod admission;
pub mod apply;
pub mod builtins;
pub mod clock;
pub mod controllers;
pub mod crd;
pub mod discovery;
pub mod error;
pub mod http;
pub mod openapi;
pub mod patch;
pub mod registry;
pub mod resource;
pub mod schema;
pub mod simulate;
pub mod storage;
pub mod table;
