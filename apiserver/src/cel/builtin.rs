//! What the language has and the evaluator lacks: types as values, and lists whose order does not matter.

use std::sync::Arc;

use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

/// Names of types that are values of their own.
const TYPES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

/// Compares lists of type set or map, in which the order does not matter.
pub(super) const EQUAL_UNORDERED: &str = "@equalUnordered";

/// A type as a value: what `type(x)` gives.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TypeName(String);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

/// Lets expressions ask for types.
pub(super) fn register(context: &mut Context<'_>) {
    for name in TYPES {
        context.add_variable_from_value(name, named(name));
    }
    context.add_function("type", |value: CelValue| -> Result<CelValue, ExecutionError> {
        Ok(named(type_of(&value)))
    });
    context.add_function(EQUAL_UNORDERED, |a: CelValue, b: CelValue| unordered(&a, &b));
}

fn named(name: &str) -> CelValue {
    CelValue::Opaque(Arc::new(TypeName(name.to_owned())))
}

fn type_of(value: &CelValue) -> &str {
    match value {
        CelValue::Bool(_) => "bool",
        CelValue::Bytes(_) => "bytes",
        CelValue::Duration(_) => "google.protobuf.Duration",
        CelValue::Float(_) => "double",
        CelValue::Int(_) => "int",
        CelValue::List(_) => "list",
        CelValue::Map(_) => "map",
        CelValue::Null => "null_type",
        CelValue::Opaque(opaque) => opaque.runtime_type_name(),
        CelValue::String(_) => "string",
        CelValue::Timestamp(_) => "google.protobuf.Timestamp",
        CelValue::UInt(_) => "uint",
        _ => "dyn",
    }
}

fn unordered(a: &CelValue, b: &CelValue) -> bool {
    match (a, b) {
        (CelValue::List(a), CelValue::List(b)) => {
            a.len() == b.len() && a.iter().all(|item| b.contains(item)) && b.iter().all(|item| a.contains(item))
        }
        _ => a == b,
    }
}
