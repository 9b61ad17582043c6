//! Create.

use serde_json::{Value, json};

use super::options::WriteOptions;
use super::shape::{self, Shown};
use super::update::{admit, stamp};
use super::{Outcome, Scope, conversion, convert, definitions, fields, owners, strategy};
use crate::admission::Operation;
use crate::error::ApiError;
use crate::resource::Resource;
use crate::server::Core;
use crate::storage::{Draft, Key, Stored};

/// How often a generated name that is taken is drawn anew.
const ATTEMPTS: usize = 8;
/// The longest base of a generated name, and the number of random characters after it: 63 together.
const BASE: usize = 58;
const SUFFIX: usize = 5;

/// Stores a new object that was decoded for the scope's resource. `tracked` says that its managedFields are up to date
/// already: after an apply.
///
/// # Errors
/// 400 for a namespace unlike the request's, 404 and 403 of the namespace, 422 of validation, 409 if the name is taken.
pub(crate) async fn create(
    scope: &Scope,
    options: &WriteOptions,
    object: Value,
    mut warnings: Vec<String>,
    tracked: bool,
) -> Result<Outcome, ApiError> {
    let created = create_warning(scope, options, object, &mut warnings, tracked).await;
    outcome(created, 201, warnings)
}

/// The answer of a write, or its refusal, with all warnings so far.
pub(crate) fn outcome(written: Result<Shown, ApiError>, code: u16, warnings: Vec<String>) -> Result<Outcome, ApiError> {
    match written {
        Ok(shown) => Ok(Outcome { code, shown, warnings }),
        Err(mut error) => {
            error.warnings.splice(0..0, warnings);
            Err(error)
        }
    }
}

async fn create_warning(
    scope: &Scope,
    options: &WriteOptions,
    mut object: Value,
    warnings: &mut Vec<String>,
    tracked: bool,
) -> Result<Shown, ApiError> {
    let resource = &*scope.resource;
    place(scope, &mut object)?;
    if let Some(custom) = &resource.custom
        && custom.terminating
    {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::forbidden(resource, name, why));
    }
    wipe_metadata(&mut object);
    warnings.extend(owners::drop_repeated(&mut object, ""));
    if !tracked {
        stamp(scope, options, None, &mut object);
    }
    warnings.extend(admit(scope, options, Operation::Create, &mut object, None).await?);
    check_namespace(scope, &mut object)?;
    warnings.extend(owners::drop_repeated(&mut object, owners::AFTER_ADMISSION));
    let generated = generated_base(&object);
    let prefixed = object["metadata"].get("generateName").is_some();
    let mut attempts = 0;
    loop {
        attempts += 1;
        // Only a generated name can be tried anew.
        let mut candidate = if generated.is_some() {
            object.clone()
        } else {
            object.take()
        };
        if let Some(base) = &generated {
            let suffix = scope.core.clock.name_suffix(SUFFIX);
            candidate["metadata"]["name"] = format!("{base}{suffix}").into();
        }
        complete_metadata(&scope.core, &mut candidate);
        strategy::prepare_create(scope, &mut candidate);
        let name = candidate["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        scope
            .core
            .access
            .check_escalation(&scope.user, resource, &scope.namespace, &candidate, None)?;
        let causes = strategy::validate_create(resource, &candidate);
        if !causes.is_empty() {
            let kind = candidate["kind"].as_str().unwrap_or(&resource.kind);
            return Err(ApiError::invalid(resource.stored_group(), kind, &name, &causes));
        }
        warnings.extend(strategy::warnings(resource, &candidate, None));
        warnings.extend(super::update::validate(scope, options, Operation::Create, &mut candidate, None).await?);
        if !matches!(
            candidate["metadata"]["resourceVersion"].as_str().unwrap_or_default(),
            "" | "0"
        ) {
            return Err(ApiError::new(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if let Some(metadata) = candidate["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        let existing = if options.dry_run {
            match scope.core.store.find(&resource.stored_under, &scope.namespace, &name) {
                Some(existing) => existing,
                None => return Ok(Shown::Value(candidate)),
            }
        } else {
            let departing = conversion::departing(scope, candidate).await?;
            match scope.core.store.insert(draft(scope, &name, departing)?) {
                Ok(stored) => {
                    scope.written(None, &stored);
                    if definitions::is_definition(resource) {
                        let group = stored.value()["spec"]["group"].as_str().unwrap_or_default().to_owned();
                        Box::pin(definitions::settle(scope, &group)).await;
                    }
                    let arrived = conversion::arrived(scope, stored).await?;
                    return shape::show(resource, &arrived);
                }
                Err(existing) => existing,
            }
        };
        if generated.is_none() || attempts == ATTEMPTS {
            return Err(taken(resource, &name, &existing, prefixed));
        }
    }
}

/// The object in its stored form, ready to be stored under its key; what a webhook converts is converted already.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn draft(scope: &Scope, name: &str, mut object: Value) -> Result<Draft, ApiError> {
    let resource = &*scope.resource;
    if convert::is_stored_form(resource) {
        if resource.custom.is_some() && scope.core.admission.mutates() {
            // What admission added is seen by all that judge the object, but not stored where there is no place for it.
            resource.schema.prune(&mut object);
        }
    } else {
        if !conversion::by_webhook(resource) {
            convert::to_storage(resource, &mut object)?;
        }
        // What only the written version knows is not stored.
        if let Some(schema) = shape::storage_schema(resource) {
            schema.prune(&mut object);
        }
    }
    let key = Key::new(
        std::sync::Arc::clone(&resource.stored_under),
        scope.namespace.as_str(),
        name,
    );
    let fields = fields::values(resource, &object);
    // What was dropped or taken away after defaulting is filled in when the object is read.
    let complete = shape::storage_schema(resource).is_none_or(|schema| !schema.lacks_defaults(&object));
    let state = if complete {
        shape::schema_state(resource)
    } else {
        shape::INCOMPLETE
    };
    Ok(Draft::new(key, object, fields, state))
}

/// Drops what a client cannot set, and what it left empty.
fn wipe_metadata(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    for field in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "selfLink",
        "uid",
    ] {
        metadata.remove(field);
    }
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        // An empty list of managedFields says something.
        Value::Array(_) | Value::Bool(_) | Value::Number(_) => true,
    });
    for field in ["finalizers", "ownerReferences"] {
        if metadata.get(field).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            metadata.remove(field);
        }
    }
}

/// What the server itself writes into the metadata of every new object.
fn complete_metadata(core: &Core, object: &mut Value) {
    let metadata = &mut object["metadata"];
    metadata["creationTimestamp"] = core.clock.now_rfc3339().into();
    metadata["uid"] = core.clock.uid().into();
}

/// Brings the namespace and the name in the object in line with the request's path.
fn place(scope: &Scope, object: &mut Value) -> Result<(), ApiError> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    check_namespace(scope, object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if !scope.name.is_empty() && scope.subresource.is_empty() {
        if name.is_empty() {
            object["metadata"]["name"] = scope.name.as_str().into();
        } else if name != scope.name {
            return Err(name_mismatch(name, &scope.name));
        }
    }
    Ok(())
}

/// Sets the namespace of an object from the path.
///
/// # Errors
/// 400 if the object names another one.
pub(crate) fn check_namespace(scope: &Scope, object: &mut Value) -> Result<(), ApiError> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if !scope.resource.namespaced {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(());
    }
    if namespace != scope.namespace {
        if !namespace.is_empty() {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        object["metadata"]["namespace"] = scope.namespace.as_str().into();
    }
    Ok(())
}

/// 400: the body names another object than the path.
pub(crate) fn name_mismatch(body: &str, path: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the name of the object ({body}) does not match the name on the URL ({path})"
    ))
}

fn generated_base(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let base = metadata["generateName"].as_str().filter(|base| !base.is_empty())?;
    if metadata["name"].as_str().is_some_and(|name| !name.is_empty()) {
        return None;
    }
    let mut cut = base.len().min(BASE);
    while !base.is_char_boundary(cut) {
        cut -= 1;
    }
    Some(base[..cut].to_owned())
}

fn taken(resource: &Resource, name: &str, existing: &Stored, prefixed: bool) -> ApiError {
    let mut error = ApiError::already_exists(resource, name);
    if prefixed {
        error
            .message
            .push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut error.details {
            details["retryAfterSeconds"] = 1.into();
        }
        error.retry_after = Some(1);
    }
    if !existing.value()["metadata"]["deletionTimestamp"].is_null() {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
