//! Update, and the common course of everything that changes a stored object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{check_namespace, create, draft, name_mismatch, outcome};
use super::delete::is_finished;
use super::options::WriteOptions;
use super::shape::{self, Shown};
use super::strategy;
use super::traits::Traits;
use super::{Outcome, Scope, conversion, convert, definitions, owners, scale};
use crate::access::Attributes;
use crate::admission::{Operation, Request};
use crate::apply::{self, Manager, Views};
use crate::error::{ApiError, Cause};
use crate::resource::Resource;
use crate::storage::Stored;

/// How often a change is made anew on what others wrote in between.
const ATTEMPTS: usize = 100;

/// What a write makes of the present object.
pub(crate) struct Change {
    /// The object as the client wants it, in the version of the request.
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
    /// Whether managedFields are up to date already: after an apply.
    pub(crate) tracked: bool,
}

/// Reads the object that a client sent, decoded for the scope's resource, with the warnings about it. Called anew when
/// somebody else wrote in between: that is rare, and a copy for each request would cost more.
pub(crate) type Read<'r> = &'r (dyn Fn() -> Result<(Value, Vec<String>), ApiError> + Send + Sync);

/// Replaces an object by the one that `read` reads.
///
/// # Errors
/// Those of `read`; 400 for another name or namespace, 404 if there is none (some kinds are created then), 409 for a
/// stale resourceVersion or another uid, 422 of validation.
pub(crate) async fn update(scope: &Scope, options: &WriteOptions, read: Read<'_>) -> Result<Outcome, ApiError> {
    let placed = || {
        let (mut object, warnings) = read()?;
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        check_namespace(scope, &mut object)?;
        check_name(scope, &object)?;
        Ok::<_, ApiError>((object, warnings))
    };
    let (object, warnings) = placed()?;
    let key = (&scope.resource.stored_under, &scope.namespace, &scope.name);
    if scope.core.store.find(key.0, key.1, key.2).is_none() {
        if !scope.subresource.is_empty() || !Traits::of(&scope.resource).create_on_update {
            return Err(ApiError::not_found(&scope.resource, &scope.name));
        }
        may_create(scope)?;
        return Box::pin(create(scope, options, object, warnings, false)).await;
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut first = Some((object, warnings));
    change(scope, options, &uid, &mut |_, _| {
        let (object, warnings) = match first.take() {
            Some(first) => first,
            None => placed()?,
        };
        Ok(Change {
            object,
            warnings,
            tracked: false,
        })
    })
    .await
}

/// How a write makes the new object out of the present one. What it needs of the object in other versions it finds in
/// the views, or is called again once it is there.
pub(crate) type Make<'m> = &'m mut (dyn FnMut(&Value, &Views) -> Result<Change, ApiError> + Send);

/// Changes the stored object by `make`, which is called anew when somebody else wrote in between.
///
/// # Errors
/// Those of `make`; 404 if there is no object; 409 if the change names a resourceVersion that is no longer current, or
/// `uid` is not empty and not the object's.
pub(crate) async fn change(
    scope: &Scope,
    options: &WriteOptions,
    uid: &str,
    make: Make<'_>,
) -> Result<Outcome, ApiError> {
    for _ in 0..ATTEMPTS {
        let mut warnings = Vec::new();
        let changed = attempt(scope, options, uid, make, &mut warnings).await;
        // Nothing means that somebody else was faster.
        if let Some(written) = changed.transpose() {
            return outcome(written, 200, warnings);
        }
    }
    Err(stale(scope))
}

/// One try of [`change`]; nothing when somebody else wrote in between.
async fn attempt(
    scope: &Scope,
    options: &WriteOptions,
    uid: &str,
    make: Make<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<Shown>, ApiError> {
    let stored = super::read::find(scope)?;
    let arrived = conversion::arrived(scope, Arc::clone(&stored)).await?;
    let old = shape::shared(&scope.resource, &arrived)?;
    let written = write(scope, options, uid, make, warnings, (&stored, &old)).await;
    if written.is_err() {
        // A refusal that rests on what was converted before counts only if the object can still be converted.
        conversion::anew(scope, stored).await?;
    }
    written
}

/// Makes the new object out of the old one and stores it; nothing when somebody else wrote in between.
async fn write(
    scope: &Scope,
    options: &WriteOptions,
    uid: &str,
    make: Make<'_>,
    warnings: &mut Vec<String>,
    (stored, old): (&Arc<Stored>, &Arc<Value>),
) -> Result<Option<Shown>, ApiError> {
    let Change {
        mut object,
        warnings: told,
        tracked,
    } = made(scope, old, make).await?;
    warnings.extend(told);
    check_namespace(scope, &mut object)?;
    check_name(scope, &object)?;
    if !uid.is_empty() && *uid != *stored.uid {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            stored.uid
        );
        return Err(ApiError::conflict(&scope.resource, &scope.name, why));
    }
    warnings.extend(owners::drop_repeated(&mut object, ""));
    if !tracked {
        track(scope, options, old, &mut object).await;
    }
    warnings.extend(admit_update(scope, options, &mut object, old).await?);
    check_namespace(scope, &mut object)?;
    warnings.extend(owners::drop_repeated(&mut object, owners::AFTER_ADMISSION));
    check_version(scope, &object, stored)?;
    object["metadata"]["resourceVersion"] = stored.revision.to_string().into();
    restore_metadata(&mut object, old);
    strategy::prepare_update(scope, &mut object, old);
    let resource = &*scope.resource;
    scope
        .core
        .access
        .check_escalation(&scope.user, resource, &scope.namespace, &object, Some(old))?;
    let causes = strategy::validate_update(resource, &scope.subresource, &object, old);
    if !causes.is_empty() {
        let kind = object["kind"].as_str().unwrap_or(&resource.kind);
        return Err(ApiError::invalid(resource.stored_group(), kind, &scope.name, &causes));
    }
    warnings.extend(strategy::warnings(resource, &object, Some(old)));
    warnings.extend(validate_update(scope, options, &mut object, old).await?);
    let redefined = redefined(scope, options, old, &object);
    let shown = finish(scope, options, stored, old, object).await?;
    if let (Some(group), Some(_)) = (redefined, &shown) {
        Box::pin(definitions::settle(scope, &group)).await;
    }
    Ok(shown)
}

/// Records in managedFields what an update changes of the old object.
async fn track(scope: &Scope, options: &WriteOptions, old: &Value, object: &mut Value) {
    // What a status write cannot change must not be owned by it either, though admission sees what the client sent.
    let mut written = (scope.subresource == "status").then(|| {
        let mut written = object.clone();
        strategy::prepare_update(scope, &mut written, old);
        written["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
        written
    });
    let tracked = written.as_mut().unwrap_or(&mut *object);
    match conversion::views(scope, old, tracked).await {
        Ok(views) => stamp_seeing(scope, options, Some(old), tracked, &views),
        // Ownership that cannot be told is lost, as on the real server.
        Err(_) => *tracked = apply::bare(tracked),
    }
    if let Some(mut written) = written {
        let managed = written["metadata"]["managedFields"].take();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            if !managed.is_null() {
                metadata.insert("managedFields".to_owned(), managed);
            }
        }
    }
}

/// [`admit`] for an update. Of a write through `/scale` admission sees the Scale.
async fn admit_update(
    scope: &Scope,
    options: &WriteOptions,
    object: &mut Value,
    old: &Value,
) -> Result<Vec<String>, ApiError> {
    if scope.subresource != "scale" {
        return admit(scope, options, Operation::Update, object, Some(old)).await;
    }
    let (mut scale, before) = (scale::reviewed(scope, object), scale::reviewed(scope, old));
    let warnings = admit(scope, options, Operation::Update, &mut scale, Some(&before)).await?;
    scale::take_back(scope, &scale, object);
    Ok(warnings)
}

/// [`validate`] for an update, as [`admit_update`].
async fn validate_update(
    scope: &Scope,
    options: &WriteOptions,
    object: &mut Value,
    old: &Value,
) -> Result<Vec<String>, ApiError> {
    if scope.subresource != "scale" {
        return validate(scope, options, Operation::Update, object, Some(old)).await;
    }
    let (mut scale, before) = (scale::reviewed(scope, object), scale::reviewed(scope, old));
    validate(scope, options, Operation::Update, &mut scale, Some(&before)).await
}

/// The object that `make` makes, with the views that it wants of it.
async fn made(scope: &Scope, old: &Value, make: Make<'_>) -> Result<Change, ApiError> {
    let views = Views::default();
    loop {
        let made = make(old, &views);
        let wanted = views.take_wanted();
        if wanted.is_empty() {
            return made;
        }
        for (object, version) in wanted {
            conversion::add_view(scope, &views, object, &version).await?;
        }
    }
}

/// The group whose names have to be settled again: that of a definition that changed or went.
fn redefined(scope: &Scope, options: &WriteOptions, old: &Value, new: &Value) -> Option<String> {
    let concerned = definitions::is_definition(&scope.resource) && !options.dry_run && scope.subresource.is_empty();
    let changed = || old["spec"] != new["spec"] || is_finished(&scope.resource, new);
    (concerned && changed()).then(|| new["spec"]["group"].as_str().unwrap_or_default().to_owned())
}

/// Stores the changed object. `None` means that somebody else was faster.
async fn finish(
    scope: &Scope,
    options: &WriteOptions,
    stored: &Arc<Stored>,
    old: &Value,
    object: Value,
) -> Result<Option<Shown>, ApiError> {
    let resource = &*scope.resource;
    if is_finished(resource, &object) {
        if !options.dry_run {
            let Ok(revision) = scope.core.store.remove(stored) else {
                return Ok(None);
            };
            scope.removed(stored, revision);
        }
        return Ok(Some(Shown::Value(object)));
    }
    if changes_nothing(resource, stored, old, &object)? {
        return shown_again(scope, stored).await.map(Some);
    }
    if options.dry_run {
        return Ok(Some(Shown::Value(object)));
    }
    let departing = conversion::departing(scope, object).await?;
    match scope.core.store.replace(stored, draft(scope, &scope.name, departing)?) {
        Ok(written) => {
            scope.written(Some(stored), &written);
            let arrived = conversion::arrived(scope, written).await?;
            shape::show(resource, &arrived).map(Some)
        }
        Err(_) => Ok(None),
    }
}

/// What a write answers that changed nothing.
async fn shown_again(scope: &Scope, stored: &Arc<Stored>) -> Result<Shown, ApiError> {
    let arrived = conversion::anew(scope, Arc::clone(stored)).await?;
    shape::show(&scope.resource, &arrived)
}

/// Whether a write leaves what is stored as it is, the times of managedFields aside.
fn changes_nothing(resource: &Resource, stored: &Stored, old: &Value, new: &Value) -> Result<bool, ApiError> {
    if shape::is_verbatim(resource, stored) {
        return Ok(apply::same_but_times(old, new));
    }
    if conversion::by_webhook(resource) {
        // An object of another version than the one that is stored now is written anew.
        let current = crate::resource::api_version(&resource.group, &resource.storage_version);
        return Ok(stored.shared()["apiVersion"] == current && apply::same_but_times(old, new));
    }
    // After a change of the definition or of the storage version the same content may be stored differently.
    let mut new = new.clone();
    if !convert::is_stored_form(resource) {
        convert::to_storage(resource, &mut new)?;
    }
    Ok(apply::same_but_times(&stored.shared(), &new))
}

/// Whether the user may create what an update or apply found missing.
///
/// # Errors
/// 403.
pub(crate) fn may_create(scope: &Scope) -> Result<(), ApiError> {
    scope.core.access.authorize(
        &scope.user,
        &Attributes {
            verb: "create",
            group: &scope.resource.group,
            version: &scope.resource.version,
            resource: &scope.resource.plural,
            subresource: &scope.subresource,
            namespace: &scope.namespace,
            name: &scope.name,
            path: None,
        },
    )
}

/// Records in managedFields what the client changed.
pub(crate) fn stamp(scope: &Scope, options: &WriteOptions, old: Option<&Value>, object: &mut Value) {
    stamp_seeing(scope, options, old, object, &Views::default());
}

/// [`stamp`], with the objects in the versions of other owners.
fn stamp_seeing(scope: &Scope, options: &WriteOptions, old: Option<&Value>, object: &mut Value, views: &Views) {
    let resource = &*scope.resource;
    let api_version = resource.api_version();
    let manager = Manager {
        name: options.field_manager.as_deref().unwrap_or(&scope.agent),
        operation: apply::Operation::Update,
        subresource: &scope.subresource,
        api_version: &api_version,
        time: &scope.core.clock.now_rfc3339(),
    };
    if resource.custom.is_some() && scope.core.admission.mutates() && !apply::fits(resource, object) {
        // Validation refuses such an object, but admission sees it before, and may mend it.
        *object = apply::bare(object);
        return;
    }
    apply::track_update(
        resource,
        old,
        object,
        &manager,
        strategy::reset_fields(resource, &scope.subresource),
        views,
    );
}

/// Lets the mutating admission plugins see and change the object; what they change belongs to nobody.
pub(crate) async fn admit(
    scope: &Scope,
    options: &WriteOptions,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Vec<String>, ApiError> {
    scope
        .core
        .admission
        .mutate(&mut request(scope, options, operation, object, old))
        .await
}

/// Lets the validating admission plugins see the object.
pub(crate) async fn validate(
    scope: &Scope,
    options: &WriteOptions,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Vec<String>, ApiError> {
    scope
        .core
        .admission
        .validate(&request(scope, options, operation, object, old))
        .await
}

fn request<'a>(
    scope: &'a Scope,
    options: &'a WriteOptions,
    operation: Operation,
    object: &'a mut Value,
    old: Option<&'a Value>,
) -> Request<'a> {
    Request {
        user: &scope.user,
        operation,
        resource: &scope.resource,
        subresource: &scope.subresource,
        namespace: &scope.namespace,
        name: &scope.name,
        object,
        old,
        dry_run: options.dry_run,
        options: &options.object,
        catalog: &scope.catalog,
    }
}

/// Whether the object's name is that of the path.
///
/// # Errors
/// 400 if it is another one or missing.
pub(crate) fn check_name(scope: &Scope, object: &Value) -> Result<(), ApiError> {
    match object["metadata"]["name"].as_str().unwrap_or_default() {
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            scope.name
        ))),
        name if name != scope.name => Err(name_mismatch(name, &scope.name)),
        _ => Ok(()),
    }
}

fn check_version(scope: &Scope, object: &Value, stored: &Stored) -> Result<(), ApiError> {
    let resource = &*scope.resource;
    match object["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
        "" | "0" if Traits::of(resource).unconditional_update => Ok(()),
        "" | "0" => {
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            Err(ApiError::invalid(
                &resource.group,
                &resource.plural,
                &scope.name,
                &[cause],
            ))
        }
        text => match text.parse::<u64>() {
            Ok(version) if version == stored.revision => Ok(()),
            Ok(_) => Err(stale(scope)),
            Err(_) => Err(ApiError::new(500, "", super::read::not_a_number(text))),
        },
    }
}

fn stale(scope: &Scope) -> ApiError {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    ApiError::conflict(&scope.resource, &scope.name, why)
}

/// Puts back what no write may change, and what a client may leave out because it cannot change it.
fn restore_metadata(object: &mut Value, old: &Value) {
    let kept = &old["metadata"];
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    metadata.remove("selfLink");
    for field in ["creationTimestamp", "generation"] {
        match kept.get(field) {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let left_out = metadata.get(field).is_none_or(|value| value.is_null() || value == "");
        if left_out {
            match kept.get(field) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
    }
    for field in [
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "generateName",
    ] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}
