//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy: rules written as expressions.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/>,
//! <https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/>

mod compiled;
mod matching;
mod merge;
mod mutating;
mod params;
mod validating;
mod variables;

pub(super) use compiled::Policies;
pub(super) use mutating::mutate;
pub(super) use validating::validate;
pub(super) use variables::of_request;
