//! The columns of custom resources.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::column::{CREATED_TEXT, Cells, NAME_TEXT, Row};
use super::duration;
use crate::crd::jsonpath;

/// A column that a definition declares.
pub(super) struct Declared {
    definition: Value,
    kind: String,
    path: String,
}

/// The name, then what the definition declares; the age when it declares nothing.
pub(super) fn columns(declared: &[Value]) -> Vec<Declared> {
    let mut columns = vec![Declared {
        definition: definition("Name", "string", "name", NAME_TEXT, 0),
        kind: "string".to_owned(),
        path: ".metadata.name".to_owned(),
    }];
    if declared.is_empty() {
        columns.push(Declared {
            definition: definition("Age", "date", "", CREATED_TEXT, 0),
            kind: "date".to_owned(),
            path: ".metadata.creationTimestamp".to_owned(),
        });
    }
    columns.extend(declared.iter().map(|column| {
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        let path = text("jsonPath");
        let described = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        let priority = column["priority"].as_i64().unwrap_or_default();
        Declared {
            definition: definition(text("name"), text("type"), text("format"), &described, priority),
            kind: text("type").to_owned(),
            path: path.to_owned(),
        }
    }));
    columns
}

impl Cells for Declared {
    fn definition(&self) -> Value {
        self.definition.clone()
    }

    fn cell(&self, row: &Row<'_>) -> Value {
        jsonpath::first(row.object, &self.path).map_or(Value::Null, |value| cell(&self.kind, value, row.now))
    }
}

/// The value as its column's type shows it; null when it is of another type.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("integer", Value::Number(number)) => number
            .as_i64()
            .map_or_else(|| number.as_f64().map_or(Value::Null, truncated), Value::from),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => value.clone(),
        ("string", other) => other.to_string().into(),
        ("date", Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(then) => duration::human(now.duration_since(then)).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an integer column truncates")]
fn truncated(number: f64) -> Value {
    (number as i64).into()
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(declared: &Value, object: &Value) -> Vec<Value> {
        let row = Row {
            object,
            now: Timestamp::from_second(100).unwrap(),
        };
        columns(declared.as_array().unwrap())
            .iter()
            .map(|c| c.cell(&row))
            .collect()
    }

    #[test]
    fn cells_follow_the_type_of_their_column() {
        let declared = json!([
            {"name": "N", "type": "integer", "jsonPath": ".spec.n"},
            {"name": "F", "type": "number", "jsonPath": ".spec.f"},
            {"name": "B", "type": "boolean", "jsonPath": ".spec.b"},
            {"name": "L", "type": "string", "jsonPath": ".spec.l"},
            {"name": "L0", "type": "string", "jsonPath": ".spec.l[*]"},
            {"name": "D", "type": "date", "jsonPath": ".spec.d"}
        ]);
        let object = json!({"metadata": {"name": "a"}, "spec": {
            "n": 7.9, "f": 1.5, "b": true, "l": ["x", "y"], "d": "1970-01-01T00:01:00Z"
        }});
        assert_eq!(
            cells(&declared, &object),
            [
                json!("a"),
                json!(7),
                json!(1.5),
                json!(true),
                json!("[\"x\",\"y\"]"),
                json!("x"),
                json!("40s")
            ]
        );
        let odd = json!({"metadata": {"name": "b"}, "spec": {"n": "7", "b": "no", "l": [], "d": "today"}});
        assert_eq!(
            cells(&declared, &odd),
            [
                json!("b"),
                Value::Null,
                Value::Null,
                Value::Null,
                json!("[]"),
                Value::Null,
                json!("<invalid>")
            ]
        );
    }

    #[test]
    fn without_declared_columns_there_is_the_age() {
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"}});
        assert_eq!(cells(&json!([]), &object), [json!("a"), json!("100s")]);
    }
}
