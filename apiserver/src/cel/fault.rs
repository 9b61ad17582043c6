//! What went wrong while an expression was evaluated, in the real server's words.

use kube_cel::cel::parser::Expression;
use kube_cel::cel::{ExecutionError, Value as CelValue};

/// The words for an error of the evaluator.
pub(super) fn words(error: &ExecutionError, _expression: &Expression) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}' (in container '')"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(index) => format!("index out of bounds: {}", plain(index)),
        ExecutionError::FunctionError { function, message } => conversion(function).unwrap_or_else(|| message.clone()),
        _ => "no such overload".to_owned(),
    }
}

/// A conversion that failed names the types instead of the text.
fn conversion(function: &str) -> Option<String> {
    let target = match function {
        "int" => "int",
        "uint" => "uint",
        "double" => "double",
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        _ => return None,
    };
    Some(format!("type conversion error from 'string' to '{target}'"))
}

fn plain(value: &CelValue) -> String {
    match value {
        CelValue::Int(number) => number.to_string(),
        CelValue::UInt(number) => number.to_string(),
        CelValue::String(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}
