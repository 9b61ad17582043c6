//! Admission webhooks: whom to call, what to send, what to make of the answer.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>. Mutating webhooks are
//! called one after another, in the order of their configurations' names, and once again when a later one changed
//! the object and they asked for it; validating ones are called at the same time.

mod answer;
mod client;
mod configured;
pub(super) mod matching;
pub(super) mod mutating;
pub(super) mod patch;
pub(super) mod review;
mod tls;
mod validating;

pub use client::{Answering, Client, Handler};

pub(super) use configured::Configured;
pub(super) use mutating::mutate;
pub(super) use validating::validate;
