//! Patch: JSON patch, merge patch, strategic merge patch, server-side apply.

use serde_json::{Map, Value};

use super::create::create;
use super::decode;
use super::options::{FieldValidation, WriteOptions};
use super::strategy;
use super::update::{Change, change, check_name, may_create};
use super::{Outcome, Scope};
use crate::apply::{self, Manager, Views};
use crate::error::{ApiError, Cause};
use crate::http::json::{self, Parsed, Twice};
use crate::http::{go_json, yaml};
use crate::patch;
use crate::resource::Resource;

/// How a patch body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' strategic merge patch.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// The kind that a content type names, without its parameters. The comparison is case-sensitive.
    pub(crate) fn of_media(media: &str) -> Option<Self> {
        match media {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }
}

/// The most operations that a JSON patch may have.
const MAX_OPERATIONS: usize = 10_000;

/// Patches the object that the scope names; apply creates a missing one.
///
/// # Errors
/// 404 for a missing object, 400 for a patch that cannot be read, 409 and 422 as for an update.
pub(crate) async fn patch(
    scope: &Scope,
    options: &WriteOptions,
    kind: PatchKind,
    text: &[u8],
) -> Result<Outcome, ApiError> {
    if kind == PatchKind::Apply {
        return apply(scope, options, text).await;
    }
    // A patch is looked at only once the object has been found.
    super::read::find(scope)?;
    let patch = read(scope, kind, text)?;
    change(scope, &options.of_kind("UpdateOptions"), "", &mut |old, _| {
        let object = patched(scope, kind, old, &patch.value)?;
        decoded(scope, options, kind, object, &patch, text)
    })
    .await
}

/// Reads the text of a patch.
///
/// # Errors
/// 400 in Go's words; 413 for too many operations.
pub(crate) fn read(scope: &Scope, kind: PatchKind, text: &[u8]) -> Result<Parsed, ApiError> {
    let twice = if scope.resource.custom.is_some() {
        Twice::Replace
    } else {
        Twice::Merge
    };
    let undecodable = |why: String| ApiError::bad_request(format!("error decoding patch: {why}"));
    let parsed = json::parse(text, twice).map_err(|error| {
        let complaint = go_json::complaint(text);
        let why = if complaint.is_empty() {
            error.to_string()
        } else {
            complaint
        };
        // A strategic patch is read by another decoder, which says less.
        if kind == PatchKind::Strategic {
            ApiError::bad_request(why)
        } else {
            undecodable(why)
        }
    })?;
    match (kind, &parsed.value) {
        (PatchKind::Json, Value::Array(operations)) => {
            if operations.len() > MAX_OPERATIONS {
                return Err(ApiError::new(
                    413,
                    "RequestEntityTooLarge",
                    format!(
                        "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, \
                         got {}",
                        operations.len()
                    ),
                ));
            }
        }
        (PatchKind::Json, Value::Null) | (_, Value::Object(_)) if kind != PatchKind::Json => {}
        (PatchKind::Json, other) => {
            let what = go_type(other);
            return Err(undecodable(format!(
                "json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
            )));
        }
        (PatchKind::Merge, Value::Null) => return Err(ApiError::bad_request("Invalid JSON Patch")),
        (_, Value::Null) => {}
        (_, other) => {
            let what = go_type(other);
            return Err(undecodable(format!(
                "json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            )));
        }
    }
    Ok(parsed)
}

/// The present object with the patch applied.
///
/// # Errors
/// Those of the patch.
pub(crate) fn patched(scope: &Scope, kind: PatchKind, old: &Value, patch: &Value) -> Result<Value, ApiError> {
    let mut object = old.clone();
    match kind {
        PatchKind::Json => patch::json(&mut object, patch)?,
        PatchKind::Merge | PatchKind::Apply => patch::merge(&mut object, patch),
        PatchKind::Strategic => patch::strategic(&scope.resource.schema, &mut object, patch)?,
    }
    Ok(object)
}

/// Decodes the result of a patch as an object of the resource.
pub(crate) fn decoded(
    scope: &Scope,
    options: &WriteOptions,
    kind: PatchKind,
    mut object: Value,
    patch: &Parsed,
    text: &[u8],
) -> Result<Change, ApiError> {
    let resource = &*scope.resource;
    let shown = || match kind {
        PatchKind::Strategic => go_map(&patch.value),
        _ => String::from_utf8_lossy(text).into_owned(),
    };
    let refused = |why: &str| {
        let cause = Cause::invalid("patch", &shown().into(), why);
        ApiError::invalid("", "", "", &[cause])
    };
    let Some(fields) = object.as_object_mut() else {
        return Err(refused("the patch leaves no object"));
    };
    let api_version = resource.api_version();
    for (field, expected) in [("apiVersion", &api_version), ("kind", &resource.kind)] {
        match fields.get(field).and_then(Value::as_str) {
            Some(found) if found == expected => {}
            None | Some("") if resource.custom.is_none() => {
                fields.insert(field.to_owned(), expected.as_str().into());
            }
            // Of a custom resource, both are checked with the rest of the object.
            Some(_) if resource.custom.is_some() => {}
            _ if field == "kind" && resource.custom.is_some() => {}
            _ => return Err(refused(&format!("{field} must be {expected}"))),
        }
    }
    let mut unknown = of_another_version(resource, &mut object);
    unknown.extend(decode::decode(resource, &mut object).map_err(|error| match kind {
        PatchKind::Strategic => refused(&converter_words(&error.message)),
        _ => refused(&error.message),
    })?);
    let faults = decode::faults(resource, &patch.duplicates, unknown, text);
    if options.validation == FieldValidation::Strict && !faults.is_empty() {
        return Err(refused(&format!("strict decoding error: {}", faults.join(", "))));
    }
    strategy::default(resource, &mut object);
    let warnings = if options.validation == FieldValidation::Warn {
        faults
    } else {
        Vec::new()
    };
    Ok(Change {
        object,
        warnings,
        tracked: false,
    })
}

/// Drops what a custom object has no place for in the version that a patch gave it; answers the paths.
fn of_another_version(resource: &Resource, object: &mut Value) -> Vec<String> {
    let Some(custom) = &resource.custom else {
        return Vec::new();
    };
    let given = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    if given == resource.api_version() {
        return Vec::new();
    }
    let version = given.rsplit('/').next().unwrap_or_default();
    if let Some((_, schema)) = custom.versions.iter().find(|(name, _)| name == version) {
        return schema.prune(object);
    }
    // A version without a schema knows no field but those of every object.
    let Some(fields) = object.as_object_mut() else {
        return Vec::new();
    };
    let common = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata");
    let unknown = fields.keys().filter(|name| !common(name)).cloned().collect();
    fields.retain(|name, _| common(name));
    unknown
}

async fn apply(scope: &Scope, options: &WriteOptions, text: &[u8]) -> Result<Outcome, ApiError> {
    let resource = &*scope.resource;
    let (config, warnings) = applied(text, options.validation)?;
    check_identity(scope, &config)?;
    let merge = |current: Option<&Value>, views: &Views| {
        let api_version = resource.api_version();
        let manager = Manager {
            name: options.field_manager.as_deref().unwrap_or(&scope.agent),
            operation: apply::Operation::Apply,
            subresource: &scope.subresource,
            api_version: &api_version,
            time: &scope.core.clock.now_rfc3339(),
        };
        let force = options.force.unwrap_or_default();
        let reset = strategy::reset_fields(resource, &scope.subresource);
        let mut object = apply::server_side(resource, current, &config, &manager, force, reset, views)?;
        // Apply has refused unknown fields already; what it emptied in a custom resource stays null for validation.
        if resource.custom.is_none() {
            decode::decode(resource, &mut object)?;
        }
        strategy::default(resource, &mut object);
        let all = warnings.clone();
        Ok(Change {
            object,
            warnings: all,
            tracked: true,
        })
    };
    let (name, namespace) = (&scope.name, &scope.namespace);
    if scope.core.store.find(&resource.stored_under, namespace, name).is_some() {
        return change(scope, &options.of_kind("UpdateOptions"), "", &mut |old, views| {
            merge(Some(old), views)
        })
        .await;
    }
    if !scope.subresource.is_empty() {
        return Err(ApiError::not_found(resource, name));
    }
    may_create(scope)?;
    if let Some(uid) = config["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(ApiError::conflict(resource, name, why));
    }
    let Change {
        mut object, warnings, ..
    } = merge(None, &Views::default())?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    Box::pin(create(scope, &options.of_kind("CreateOptions"), object, warnings, true)).await
}

/// What the converter that strategic patches go through says where the JSON decoder says `json: cannot unmarshal …`.
fn converter_words(decoder: &str) -> String {
    let Some((found, wanted)) = decoder
        .strip_prefix("json: cannot unmarshal ")
        .and_then(|rest| rest.split_once(' '))
        .and_then(|(found, rest)| Some((found, rest.rsplit_once(" of type ")?.1)))
    else {
        return decoder.to_owned();
    };
    let found = match found {
        "array" => "slice",
        "object" => "map",
        other => other,
    };
    if wanted.starts_with("[]") {
        format!("cannot restore slice from {found}")
    } else if wanted.starts_with("map[") {
        format!("cannot restore map from {found}")
    } else if wanted.contains('.') {
        format!("cannot restore struct from: {found}")
    } else {
        format!("unrecognized type: {wanted}")
    }
}

/// Reads an applied configuration; answers it with the warnings about it.
///
/// # Errors
/// 400 for a text that cannot be read or is no object, and under Strict for keys given twice.
pub(crate) fn applied(text: &[u8], validation: FieldValidation) -> Result<(Value, Vec<String>), ApiError> {
    let Parsed { value, duplicates } = yaml::parse(text, Twice::Replace)
        .map_err(|why| ApiError::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}")))?;
    if validation == FieldValidation::Strict && !duplicates.is_empty() {
        return Err(ApiError::bad_request(format!(
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
            duplicates.join("\n  ")
        )));
    }
    if !matches!(value, Value::Object(_) | Value::Null) {
        let what = go_type(&value);
        return Err(ApiError::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {what} into Go value \
             of type map[string]interface {{}}"
        )));
    }
    let warnings = if validation == FieldValidation::Warn {
        duplicates
    } else {
        Vec::new()
    };
    Ok((value, warnings))
}

/// Whether a configuration is of the kind, name and namespace that the path names.
fn check_identity(scope: &Scope, config: &Value) -> Result<(), ApiError> {
    let resource = &*scope.resource;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&config["apiVersion"]), text(&config["kind"]));
    if api_version != resource.api_version() || kind != resource.kind {
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        return Err(ApiError::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={kind}"
        )));
    }
    check_name(scope, config)?;
    let namespace = text(&config["metadata"]["namespace"]);
    if resource.namespaced && !namespace.is_empty() && namespace != scope.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// What Go's decoder calls the type of a value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
fn go_map(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: Map<String, Value> = map.clone();
            let entries: Vec<String> = sorted
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_map(value)))
                .collect();
            format!("map[{}]", entries.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go_map).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
