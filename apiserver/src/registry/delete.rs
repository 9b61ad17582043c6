//! Delete and deletecollection: finalizers, grace periods, propagation, preconditions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::create::draft;
use super::options::{DeleteOptions, Propagation};
use super::read::{self, List};
use super::shape::{self, Shown};
use super::traits::Traits;
use super::{Outcome, Scope, conversion, definitions};
use crate::admission::{Operation, Request};
use crate::error::ApiError;
use crate::http::query::Query;
use crate::resource::Resource;
use crate::storage::Stored;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// How often a deletion is tried anew on what others wrote in between.
const ATTEMPTS: usize = 100;

/// Deletes the object that the scope names, or marks it where finalizers or a grace period hold it.
///
/// # Errors
/// 404 if there is none, 409 if a precondition does not hold, 403 of admission.
pub(crate) async fn delete(scope: &Scope, options: &DeleteOptions) -> Result<Outcome, ApiError> {
    delete_as(scope, options, &scope.name).await
}

/// Deletes the object; `name` is what admission is told of its name: nothing for a part of a collection.
async fn delete_as(scope: &Scope, options: &DeleteOptions, name: &str) -> Result<Outcome, ApiError> {
    for _ in 0..ATTEMPTS {
        let stored = read::find(scope)?;
        check_preconditions(&scope.resource, &stored, options)?;
        let arrived = conversion::arrived(scope, Arc::clone(&stored)).await?;
        let old = shape::value(&scope.resource, &arrived)?;
        let warnings = admit(scope, options, name, &old).await?;
        if let Some(shown) = step(scope, options, &stored, &old).await? {
            return Ok(Outcome {
                code: 200,
                shown,
                warnings,
            });
        }
    }
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Err(ApiError::conflict(&scope.resource, &scope.name, why))
}

/// Deletes the selected objects of a collection one by one; answers what they were.
///
/// # Errors
/// Those of the first deletion that fails; what was deleted before stays deleted.
pub(crate) async fn delete_collection(
    scope: &Scope,
    options: &DeleteOptions,
    query: &Query,
) -> Result<(List, Vec<String>), ApiError> {
    let list = read::list(scope, query).await?;
    let mut warnings = Vec::new();
    for object in &list.objects {
        let one = scope.named(&object.key.namespace, &object.key.name);
        match Box::pin(delete_as(&one, options, "")).await {
            Ok(outcome) => warnings.extend(outcome.warnings),
            // Somebody else was faster.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
        // Watchers in this thread must not fall behind while a long collection goes.
        tokio::task::yield_now().await;
    }
    Ok((list, warnings))
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(crate) fn is_finished(resource: &Resource, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let waits = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    if metadata["deletionTimestamp"].is_null() || waits(&metadata["finalizers"]) {
        return false;
    }
    if is_namespace(resource) {
        return !waits(&object["spec"]["finalizers"]);
    }
    if definitions::is_definition(resource) {
        return true;
    }
    metadata["deletionGracePeriodSeconds"].as_i64() == Some(0)
}

/// What a deletion does to the object as it is; `None` means that somebody else wrote in between.
async fn step(
    scope: &Scope,
    options: &DeleteOptions,
    stored: &Arc<Stored>,
    old: &Value,
) -> Result<Option<Shown>, ApiError> {
    let resource = &*scope.resource;
    let mut marked = old.clone();
    let grace = if is_namespace(resource) {
        mark_namespace(scope, &mut marked)
    } else if definitions::is_definition(resource) {
        if marked["metadata"]["deletionTimestamp"].is_null() {
            definitions::mark_deleted(&mut marked, &scope.core.clock.now_rfc3339());
        }
        Grace::None
    } else {
        mark(scope, options, &mut marked)
    };
    set_finalizers(options, &mut marked);
    let held = held(resource, &marked);
    let stays = match grace {
        Grace::Pending => return Ok(Some(Shown::Value(old.clone()))),
        Grace::Period(seconds) => held || seconds > 0,
        Grace::None => held,
    };
    if options.dry_run {
        return Ok(Some(if stays {
            Shown::Value(marked)
        } else {
            gone(resource, stored, if graceful(resource) { marked } else { old.clone() })
        }));
    }
    let mut last = Arc::clone(stored);
    // A grace period of zero is written before the object goes, as on the real server; without one only what stays is.
    if (stays || matches!(grace, Grace::Period(_))) && marked != *old {
        let departing = conversion::departing(scope, marked.clone()).await?;
        match scope.core.store.replace(stored, draft(scope, &scope.name, departing)?) {
            Ok(written) => {
                scope.written(Some(stored), &written);
                last = written;
            }
            Err(_) => return Ok(None),
        }
    }
    if stays {
        let arrived = conversion::arrived(scope, last).await?;
        return shape::show(resource, &arrived).map(Some);
    }
    let Ok(revision) = scope.core.store.remove(&last) else {
        return Ok(None);
    };
    scope.removed(&last, revision);
    // What goes is shown as it was read before.
    let mut left = if conversion::by_webhook(resource) {
        marked
    } else {
        shape::value(resource, &last)?
    };
    left["metadata"]["resourceVersion"] = revision.to_string().into();
    Ok(Some(gone(resource, &last, left)))
}

/// The answer to a deletion that is complete: a Status, or the object for the kinds that answer it.
fn gone(resource: &Resource, stored: &Stored, left: Value) -> Shown {
    if Traits::of(resource).delete_answers_object {
        return Shown::Value(left);
    }
    let mut details = json!({ "name": &*stored.key.name, "kind": resource.plural, "uid": &*stored.uid });
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    Shown::Value(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    /// The kind knows no grace period.
    None,
    /// So many seconds, which this deletion has set.
    Period(i64),
    /// An earlier deletion runs, and this one does not shorten it.
    Pending,
}

/// Sets the deletion's time and grace period.
fn mark(scope: &Scope, options: &DeleteOptions, object: &mut Value) -> Grace {
    let now = scope.core.clock.now();
    let running = !object["metadata"]["deletionTimestamp"].is_null();
    let stamp = |seconds: i64| {
        let at = u64::try_from(seconds).map_or(now, |s| now.checked_add(Duration::from_secs(s)).unwrap_or(now));
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    if !graceful(&scope.resource) {
        if !running {
            begin(object);
            object["metadata"]["deletionTimestamp"] = stamp(0).into();
        }
        object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        return Grace::None;
    }
    if running {
        let Some(current) = object["metadata"]["deletionGracePeriodSeconds"].as_i64() else {
            return Grace::None;
        };
        return match options.grace_period {
            Some(period) if period < current => {
                object["metadata"]["deletionTimestamp"] = stamp(period).into();
                object["metadata"]["deletionGracePeriodSeconds"] = period.into();
                Grace::Period(period)
            }
            _ if current == 0 && !held(&scope.resource, object) => Grace::Period(0),
            _ => Grace::Pending,
        };
    }
    let asked = options
        .grace_period
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_i64())
        .unwrap_or(30);
    let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let period = if unscheduled || over {
        0
    } else if asked < 0 {
        1
    } else {
        asked
    };
    begin(object);
    object["metadata"]["deletionTimestamp"] = stamp(period).into();
    object["metadata"]["deletionGracePeriodSeconds"] = period.into();
    Grace::Period(period)
}

/// A namespace is marked and stays until its content is gone.
fn mark_namespace(scope: &Scope, object: &mut Value) -> Grace {
    if object["metadata"]["deletionTimestamp"].is_null() {
        object["metadata"]["deletionTimestamp"] = scope.core.clock.now_rfc3339().into();
        object["status"]["phase"] = "Terminating".into();
    }
    Grace::None
}

/// The start of a deletion counts as a generation where the object has one.
fn begin(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"]
        .as_i64()
        .filter(|generation| *generation > 0)
    {
        object["metadata"]["generation"] = (generation + 1).into();
    }
}

/// Adds or takes away the garbage collector's finalizers as the options say.
fn set_finalizers(options: &DeleteOptions, object: &mut Value) {
    let current: Vec<Value> = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| current.iter().any(|finalizer| finalizer == name);
    let orphan = match (options.propagation, options.orphan_dependents) {
        (Some(propagation), _) => propagation == Propagation::Orphan,
        (None, Some(orphan)) => orphan,
        (None, None) => has(ORPHAN),
    };
    let foreground = match (options.propagation, options.orphan_dependents) {
        (Some(propagation), _) => propagation == Propagation::Foreground,
        (None, Some(_)) => false,
        (None, None) => has(FOREGROUND),
    };
    if orphan == has(ORPHAN) && foreground == has(FOREGROUND) {
        return;
    }
    let mut finalizers: Vec<Value> = current
        .iter()
        .filter(|finalizer| **finalizer != FOREGROUND && **finalizer != ORPHAN)
        .cloned()
        .collect();
    if orphan {
        finalizers.push(ORPHAN.into());
    }
    if foreground {
        finalizers.push(FOREGROUND.into());
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), finalizers.into());
        }
    }
}

fn held(resource: &Resource, object: &Value) -> bool {
    let some = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    some(&object["metadata"]["finalizers"]) || (is_namespace(resource) && some(&object["spec"]["finalizers"]))
}

pub(crate) fn check_preconditions(
    resource: &Resource,
    stored: &Stored,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let why = if let Some(uid) = options.uid.as_ref().filter(|uid| ***uid != *stored.uid) {
        format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            stored.uid
        )
    } else if let Some(version) = options
        .resource_version
        .as_ref()
        .filter(|v| **v != stored.revision.to_string())
    {
        format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            stored.revision
        )
    } else {
        return Ok(());
    };
    let name = &stored.key.name;
    if is_namespace(resource) {
        return Err(ApiError::conflict(resource, name, why));
    }
    // Unlike other conflicts, this one names the kind.
    let qualified = if resource.group.is_empty() {
        resource.kind.clone()
    } else {
        format!("{}.{}", resource.kind, resource.group)
    };
    let message = format!("Operation cannot be fulfilled on {qualified} {:?}: {why}", &**name);
    let mut error = ApiError::new(409, "Conflict", message);
    let mut details = json!({ "name": &**name, "kind": resource.kind });
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    error.details = Some(Box::new(details));
    Err(error)
}

async fn admit(scope: &Scope, options: &DeleteOptions, name: &str, old: &Value) -> Result<Vec<String>, ApiError> {
    let mut nothing = Value::Null;
    let mut told = options.object.clone();
    if is_namespace(&scope.resource) {
        // A namespace is only ever deleted as the one that was found.
        told["preconditions"]["uid"] = old["metadata"]["uid"].clone();
    }
    let mut request = Request {
        user: &scope.user,
        operation: Operation::Delete,
        resource: &scope.resource,
        subresource: &scope.subresource,
        namespace: &scope.namespace,
        name,
        object: &mut nothing,
        old: Some(old),
        dry_run: options.dry_run,
        options: &told,
        catalog: &scope.catalog,
    };
    let mut warnings = scope.core.admission.mutate(&mut request).await?;
    warnings.extend(scope.core.admission.validate(&request).await?);
    Ok(warnings)
}

fn is_namespace(resource: &Resource) -> bool {
    &*resource.stored_under == "namespaces"
}

/// Whether objects of the kind get time to stop.
fn graceful(resource: &Resource) -> bool {
    &*resource.stored_under == "pods"
}
