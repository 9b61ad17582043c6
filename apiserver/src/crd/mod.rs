//! CustomResourceDefinitions: what they default to, what they demand, which resources they make.

pub mod jsonpath;
mod names;
mod object;
mod resources;

use serde_json::Value;

use crate::error::Cause;

pub use names::settle;
pub use object::validate_object;
pub use resources::resources;

/// Fills in what a definition may leave out: names, conversion.
pub fn prepare(definition: &mut Value, _old: Option<&Value>) {
    names::default(definition);
}

/// What is wrong with a definition.
#[must_use]
pub fn validate(_definition: &Value, _old: Option<&Value>) -> Vec<Cause> {
    Vec::new()
}
