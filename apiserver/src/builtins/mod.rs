//! The built-in kinds: which there are, what they default to, what they demand.
//!
//! Everything is data: the list comes from recorded discovery, the fields from recorded OpenAPI documents, and what
//! those do not say from tables in this module.

mod check_access;
mod check_autoscaling;
mod check_certificates;
mod check_config;
mod check_containers;
mod check_network;
mod check_pods;
mod check_quotas;
mod check_rest;
mod check_scheduling;
mod check_services;
mod check_status;
mod check_storage;
mod check_volumes;
mod check_workloads;
mod checks;
mod cron;
mod defaults;
mod immutable;
pub mod metadata;
pub mod names;
mod prepare;
mod resources;
mod rules;
mod validate;

use serde_json::Value;

use crate::resource::Resource;

pub use prepare::{prepare_create, prepare_update};
pub use resources::resources;
pub use validate::{validate_create, validate_update, warnings};

/// Fills in the defaults of a built-in kind. The object must have been decoded
/// ([`Schema::decode_builtin`](crate::schema::Schema::decode_builtin)).
pub fn default(resource: &Resource, object: &mut Value) {
    rules::apply(resource.schema.root(), object, &|structure| {
        defaults::rules_of(structure, &resource.version)
    });
}

#[cfg(test)]
mod tests;
