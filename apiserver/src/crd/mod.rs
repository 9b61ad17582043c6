//! CustomResourceDefinitions: what they default to, what they demand, which resources they make.

pub(crate) mod conversion;
pub mod jsonpath;
mod names;
mod object;
mod resources;
mod rule_budget;
mod rule_checks;
mod rules;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

use serde_json::Value;

pub use names::{advance, settle};
pub use object::validate_object;
pub use resources::resources;
pub use validate::validate;

/// Fills in what a definition may leave out: names and conversion.
pub fn default(definition: &mut Value) {
    names::default(definition);
}

/// Makes a definition ready for storage: defaults, the first status of a new one, the versions it is stored in.
pub fn prepare(definition: &mut Value, old: Option<&Value>) {
    names::default(definition);
    names::prepare_status(definition, old.is_none());
}
