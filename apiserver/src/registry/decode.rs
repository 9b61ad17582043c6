//! Bodies into objects of the resource that the request names.

use serde_json::Value;

use super::Scope;
use super::options::FieldValidation;
use super::strategy;
use crate::error::ApiError;
use crate::http::json::{self, Parsed, Twice};
use crate::http::{go_json, protobuf, yaml};
use crate::resource::Resource;
use crate::schema::go;

/// The type that Go reads a body's kind with, as it prints it.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

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
    let unrecognized = |why: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            resource.kind,
            summary(text)
        ))
    };
    let media = content_type.map_or("application/json", |value| {
        value.split(';').next().unwrap_or_default().trim()
    });
    let parsed = match media {
        "" | "application/json" => json::parse(text, twice).map_err(|error| {
            let complaint = go_json::complaint(text);
            let why = if complaint.is_empty() {
                error.to_string()
            } else {
                complaint
            };
            unrecognized(format!("couldn't get version/kind; json parse error: {why}"))
        })?,
        "application/yaml" => {
            yaml::parse(text, twice).map_err(|why| unrecognized(format!("error converting YAML to JSON: {why}")))?
        }
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
    check_kind(scope, &mut object, body.text)?;
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

/// The beginning of a body as refusals show it: as text if it may be JSON, else in hexadecimal.
fn summary(body: &[u8]) -> String {
    const LONGEST: usize = 30;
    let (head, rest) = body.split_at(body.len().min(LONGEST));
    let dots = if rest.is_empty() { "" } else { " ..." };
    match head.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(head)),
        Some(_) => {
            let digits: String = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{dots}")
        }
    }
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

fn check_kind(scope: &Scope, object: &mut Value, body: &[u8]) -> Result<(), ApiError> {
    let resource = &*scope.resource;
    let custom = resource.custom.is_some();
    if object.is_null() && !custom {
        *object = Value::Object(serde_json::Map::new());
    }
    let expected = resource.api_version();
    let shown = || String::from_utf8_lossy(body);
    let unreadable = |why: &str| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: json: \
             cannot unmarshal {why} ({})",
            resource.kind,
            summary(body)
        ))
    };
    let found = go::json_kind(object);
    let Some(fields) = object.as_object_mut() else {
        return Err(unreadable(&format!("{found} into Go value of type {TYPE_META}")));
    };
    for field in ["apiVersion", "kind"] {
        match fields.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(_)) => continue,
            Some(other) => {
                let found = go::json_kind(other);
                return Err(unreadable(&format!(
                    "{found} into Go struct field .{field} of type string"
                )));
            }
        }
        if custom {
            let word = if field == "kind" { "Kind" } else { field };
            return Err(ApiError::bad_request(format!(
                "Object '{word}' is missing in '{}'",
                shown()
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
        return Err(ApiError::bad_request(format!(
            "Object 'Kind' is missing in '{}'",
            shown()
        )));
    }
    if !custom && let Some(why) = unreadable_as(scope, api_version, kind) {
        return Err(ApiError::bad_request(why));
    }
    if !api_version.is_empty() && api_version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    for (field, value) in [("apiVersion", expected.clone()), ("kind", resource.kind.clone())] {
        if fields.get(field).and_then(Value::as_str) == Some("") {
            fields.insert(field.to_owned(), value.into());
        }
    }
    Ok(())
}

/// Why a body of another built-in kind cannot be read as one of the scope's; nothing for the kind itself, whatever
/// known version it is in.
fn unreadable_as(scope: &Scope, api_version: &str, kind: &str) -> Option<String> {
    let resource = &*scope.resource;
    let own = &resource.kind;
    let kind = if kind.is_empty() { own } else { kind };
    let expected = resource.api_version();
    let api_version = if api_version.is_empty() { &expected } else { api_version };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // Versions that are served no more are still known to the real server.
    let past = group == resource.group && version.contains("beta") && kind == own;
    let known = |r: &std::sync::Arc<Resource>| r.custom.is_none() || kind == own;
    if past || (kind == own && api_version == expected) {
        return None;
    }
    let refused = |why: String| {
        Some(format!(
            "{kind} in version {version:?} cannot be handled as a {own}: {why}"
        ))
    };
    match scope.catalog.by_kind(group, version, kind).filter(known) {
        Some(_) if kind == own && group == resource.group => None,
        Some(_) => {
            // Go names a type by its package, which is that of the group.
            let package = match resource.group.split('.').next() {
                Some("") | None => "core",
                Some(package) => package,
            };
            refused(format!(
                "converting ({version}.{kind}) to ({package}.{own}): unknown conversion"
            ))
        }
        None => refused(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )),
    }
}
