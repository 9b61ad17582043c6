//! The one document of version 2, for older clients.

use serde_json::{Map, Value, json};

/// All documents of version 3 as one of version 2.
pub(super) fn document(documents: impl Iterator<Item = Value>) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for mut document in documents {
        if let Value::Object(schemas) = document["components"]["schemas"].take() {
            definitions.extend(schemas.into_iter().map(|(name, schema)| (name, downgrade(schema))));
        }
        if let Value::Object(items) = document["paths"].take() {
            paths.extend(items.into_iter().map(|(url, item)| (url, path(item))));
        }
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": format!("v{}", crate::discovery::RELEASE) },
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
            },
        },
        "security": [{ "BearerToken": [] }],
    })
}

/// A schema without what version 2 does not know.
fn downgrade(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("allOf", Value::Array(parts)) if parts.len() == 1 => {
                        // Version 3 wraps a reference that has siblings; version 2 does not.
                        if let Some(Value::Object(part)) = parts.into_iter().next().map(downgrade) {
                            out.extend(part);
                        }
                    }
                    ("properties", Value::Object(properties)) => {
                        let properties = properties.into_iter().map(|(name, schema)| (name, downgrade(schema)));
                        out.insert(key, properties.collect::<Map<_, _>>().into());
                    }
                    ("nullable" | "anyOf" | "oneOf" | "not" | "default", _) => {}
                    ("$ref", Value::String(target)) => {
                        out.insert(key, target.replace("#/components/schemas/", "#/definitions/").into());
                    }
                    (_, value) => {
                        out.insert(key, downgrade(value));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => items.into_iter().map(downgrade).collect(),
        other => other,
    }
}

fn path(item: Value) -> Value {
    let Value::Object(fields) = item else { return item };
    let operation = |(key, value): (String, Value)| {
        if key == "parameters" {
            (key, parameters(value, None))
        } else {
            (key, method(value))
        }
    };
    Value::Object(fields.into_iter().map(operation).collect())
}

fn method(mut operation: Value) -> Value {
    let body = operation["requestBody"].take();
    if let Some(fields) = operation.as_object_mut() {
        fields.remove("requestBody");
    }
    let consumes: Vec<String> = body["content"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(media, _)| media.clone())
        .collect();
    let schema = body["content"]
        .as_object()
        .and_then(|content| content.values().next())
        .map(|c| c["schema"].clone());
    operation["parameters"] = parameters(operation["parameters"].take(), schema);
    if !consumes.is_empty() {
        operation["consumes"] = consumes.into();
    }
    operation["produces"] = json!(["application/json", "application/yaml"]);
    for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        let schema = response["content"]["application/json"]["schema"].take();
        if let Some(fields) = response.as_object_mut() {
            fields.remove("content");
            if !schema.is_null() {
                fields.insert("schema".to_owned(), downgrade(schema));
            }
        }
    }
    operation
}

/// Parameters with their type beside their name, and the body among them.
fn parameters(parameters: Value, body: Option<Value>) -> Value {
    let mut all: Vec<Value> = match parameters {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    for parameter in &mut all {
        let schema = parameter["schema"].take();
        if let Some(fields) = parameter.as_object_mut() {
            fields.remove("schema");
            if let Value::Object(schema) = schema {
                fields.extend(schema);
            }
        }
    }
    if let Some(schema) = body {
        all.insert(
            0,
            json!({ "name": "body", "in": "body", "required": true, "schema": downgrade(schema) }),
        );
    }
    all.into()
}
