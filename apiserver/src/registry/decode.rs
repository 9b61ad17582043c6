//! Bodies into objects of the resource that the request names.

use serde_json::Value;

use super::Scope;
use super::options::FieldValidation;
use super::strategy;
use crate::error::ApiError;
use crate::http::json::{self, Parsed, Twice};
use crate::http::{go_json, protobuf, yaml};
use crate::resource::Resource;

/// A body that was read, before it is known to be an object of the resource.
pub(crate) struct Body<'a> {
    /// The text, and the order of its fields.
    pub(crate) text: &'a [u8],
    pub(crate) parsed: Parsed,
}

/// Reads a body by its content type.
///
/// # Errors
/// 415 for another type, 400 for a text that cannot be read.
pub(crate) fn read<'a>(resource: &Resource, text: &'a [u8], content_type: Option<&str>) -> Result<Body<'a>, ApiError> {
    let twice = if resource.custom.is_some() {
        Twice::Replace
    } else {
        Twice::Merge
    };
    let unreadable = |why: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why}",
            resource.kind
        ))
    };
    let media = content_type.map_or("application/json", |value| {
        value.split(';').next().unwrap_or_default().trim()
    });
    let parsed = match media {
        "" | "application/json" => json::parse(text, twice).map_err(|error| {
            let complaint = go_json::complaint(text);
            unreadable(if complaint.is_empty() {
                error.to_string()
            } else {
                complaint
            })
        })?,
        "application/yaml" => yaml::parse(text, twice).map_err(unreadable)?,
        protobuf::MEDIA if resource.custom.is_none() => Parsed {
            value: protobuf::decode(text).map_err(ApiError::bad_request)?,
            duplicates: Vec::new(),
        },
        _ => {
            return Err(ApiError::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json, \
                 application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    Ok(Body { text, parsed })
}

/// Turns a body into an object of the scope's resource: checked for its kind, decoded, pruned, with defaults.
///
/// # Errors
/// 400 for another kind or version, for values of the wrong type, and under Strict for unknown and doubled fields.
pub(crate) fn object(
    scope: &Scope,
    body: Body<'_>,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), ApiError> {
    let resource = &*scope.resource;
    let (mut object, duplicates) = (body.parsed.value, body.parsed.duplicates);
    check_kind(resource, &mut object)?;
    let unknown = decode(resource, &mut object).map_err(|error| match error.code {
        400 => cannot_be_handled(resource, &error.message),
        _ => error,
    })?;
    let faults = faults(resource, &duplicates, unknown, body.text);
    if validation == FieldValidation::Strict && !faults.is_empty() {
        return Err(cannot_be_handled(
            resource,
            &format!("strict decoding error: {}", faults.join(", ")),
        ));
    }
    strategy::default(resource, &mut object);
    Ok((
        object,
        if validation == FieldValidation::Warn {
            faults
        } else {
            Vec::new()
        },
    ))
}

/// Checks the types of a value and drops what the resource does not know; answers the paths that were dropped.
///
/// # Errors
/// 400 for values of the wrong type.
pub(crate) fn decode(resource: &Resource, object: &mut Value) -> Result<Vec<String>, ApiError> {
    if resource.custom.is_some() {
        resource.schema.decode_custom(object)
    } else {
        resource.schema.decode_builtin(object)
    }
}

/// The sentences about doubled and unknown fields, in the order of the text for built-in kinds.
pub(crate) fn faults(resource: &Resource, duplicates: &[String], unknown: Vec<String>, text: &[u8]) -> Vec<String> {
    let mut unknown = unknown;
    if unknown.len() > 1 && resource.custom.is_none() {
        let order = json::paths_in_order(text);
        unknown.sort_by_key(|path| order.iter().position(|p| p == path).unwrap_or(usize::MAX));
    }
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    duplicates.iter().cloned().chain(unknown).collect()
}

/// 400: `<Kind> in version "v1" cannot be handled as a <Kind>: …`.
pub(crate) fn cannot_be_handled(resource: &Resource, why: &str) -> ApiError {
    let (kind, version) = (&resource.kind, &resource.version);
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}

fn check_kind(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    let custom = resource.custom.is_some();
    if object.is_null() && !custom {
        *object = Value::Object(serde_json::Map::new());
    }
    let expected = resource.api_version();
    let shown = object.to_string();
    let Some(fields) = object.as_object_mut() else {
        return Err(cannot_be_handled(
            resource,
            "json: cannot unmarshal a value that is no object",
        ));
    };
    for field in ["apiVersion", "kind"] {
        match fields.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(_)) => continue,
            Some(_) => {
                return Err(ApiError::bad_request(format!(
                    "couldn't get version/kind; json parse error: {field} must be a string"
                )));
            }
        }
        if custom {
            let word = if field == "kind" { "Kind" } else { field };
            return Err(ApiError::bad_request(format!(
                "Object '{word}' is missing in '{shown}'"
            )));
        }
        let value = if field == "kind" {
            resource.kind.clone()
        } else {
            expected.clone()
        };
        fields.insert(field.to_owned(), value.into());
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if custom && kind.is_empty() {
        return Err(ApiError::bad_request(format!("Object 'Kind' is missing in '{shown}'")));
    }
    if !api_version.is_empty() && api_version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    if !custom && !kind.is_empty() && kind != resource.kind {
        let version = &resource.version;
        return Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: the kinds do not match",
            resource.kind
        )));
    }
    for (field, value) in [("apiVersion", expected.clone()), ("kind", resource.kind.clone())] {
        if fields.get(field).and_then(Value::as_str) == Some("") {
            fields.insert(field.to_owned(), value.into());
        }
    }
    Ok(())
}
