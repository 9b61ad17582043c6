//! Objects between the versions of their kind, where a webhook may have to be asked.
//!
//! What is stored is converted when a request of another version reads it ([`arrived`], [`anew`]), and what a request writes when
//! it is stored ([`departing`]). The present state of each object is kept in every version that is served, as the real
//! server's watch caches keep it, so that a webhook is asked once for each write and version ([`spread`]).

use std::sync::Arc;

use serde_json::Value;

use super::{Scope, convert, fields, shape};
use crate::admission::webhook::Client;
use crate::apply::{self, Views};
use crate::clock::Clock;
use crate::crd::conversion;
use crate::error::ApiError;
use crate::resource::{Custom, Resource, api_version};
use crate::schema::Schema;
use crate::server::Core;
use crate::storage::{Stored, View};

/// Whether versions of the resource are converted by a webhook.
pub(crate) fn by_webhook(resource: &Resource) -> bool {
    let custom = resource.custom.as_ref();
    custom.is_some_and(|custom| custom.conversion["strategy"] == "Webhook")
}

/// An object of the resource's kind in the version `to`.
///
/// # Errors
/// 500 with what the webhook says, or what is wrong with its answer.
pub(crate) async fn converted(
    client: &Client,
    clock: &Clock,
    resource: &Resource,
    object: Value,
    to: &str,
) -> Result<Value, ApiError> {
    if object["apiVersion"] == to {
        return Ok(object);
    }
    if let Some(custom) = &resource.custom {
        check_version(resource, custom, &object, to)?;
    }
    match &resource.custom {
        Some(custom) if by_webhook(resource) => conversion::by_webhook(client, clock, &custom.conversion, &object, to)
            .await
            .map_err(|why| ApiError::new(500, "", why)),
        _ => Ok(convert::without_webhook(resource, object, to)),
    }
}

/// A stored object in the version of the request: converted where a webhook has to do it, else as it is.
///
/// # Errors
/// As [`converted`].
pub(crate) async fn arrived(scope: &Scope, stored: Arc<Stored>) -> Result<Arc<Stored>, ApiError> {
    in_version(&scope.core, &scope.resource, stored).await
}

/// [`arrived`], converted anew: what one object's own path answers.
///
/// # Errors
/// As [`converted`].
pub(crate) async fn anew(scope: &Scope, stored: Arc<Stored>) -> Result<Arc<Stored>, ApiError> {
    let resource = &*scope.resource;
    if !by_webhook(resource) || shape::is_verbatim(resource, &stored) {
        return Ok(stored);
    }
    convert_stored(&scope.core, resource, &stored).await
}

/// The objects of a view in the version of the request.
///
/// # Errors
/// As [`converted`].
pub(crate) async fn all_arrived(scope: &Scope, mut view: View) -> Result<View, ApiError> {
    if by_webhook(&scope.resource) {
        let mut objects = Vec::with_capacity(view.objects.len());
        for stored in view.objects {
            objects.push(arrived(scope, stored).await?);
        }
        view.objects = objects;
    }
    Ok(view)
}

/// An object of the request's version in the version that is stored.
///
/// # Errors
/// As [`converted`].
pub(crate) async fn departing(scope: &Scope, mut object: Value) -> Result<Value, ApiError> {
    let resource = &*scope.resource;
    if !by_webhook(resource) || resource.version == resource.storage_version {
        return Ok(object);
    }
    let metadata = object["metadata"].as_object_mut();
    if let Some(metadata) = metadata {
        metadata.remove("resourceVersion");
    }
    let to = api_version(&resource.group, &resource.storage_version);
    converted_in(&scope.core, resource, object, &to).await
}

/// Has what was written converted into the other versions that are served, without waiting for it.
pub(crate) fn spread(scope: &Scope, stored: &Arc<Stored>) {
    if !by_webhook(&scope.resource) {
        return;
    }
    let others = scope.catalog.iter().filter(|other| {
        other.stored_under == scope.resource.stored_under
            && other.version != other.storage_version
            && other.version != scope.resource.version
    });
    for other in others {
        let (core, other, stored) = (Arc::clone(&scope.core), Arc::clone(other), Arc::clone(stored));
        tokio::spawn(async move {
            if let Err(error) = in_version(&core, &other, stored).await {
                tracing::debug!(error = %error.message, version = other.version, "an object cannot be converted");
            }
        });
    }
}

/// The object before and after a write as the versions see it in which others own fields of it.
///
/// # Errors
/// As [`converted`]; 500 for a result that does not fit the schema of its version.
pub(crate) async fn views(scope: &Scope, old: &Value, new: &Value) -> Result<Views, ApiError> {
    let views = Views::default();
    for version in apply::other_versions(&scope.resource, old, new) {
        add_view(scope, &views, old.clone(), &version).await?;
        add_view(scope, &views, apply::bare(new), &version).await?;
    }
    Ok(views)
}

/// Converts an object into a version and adds it to the views.
///
/// # Errors
/// As [`views`].
pub(crate) async fn add_view(scope: &Scope, views: &Views, object: Value, version: &str) -> Result<(), ApiError> {
    let shown = converted_in(&scope.core, &scope.resource, object.clone(), version).await?;
    views.add(&scope.resource, object, version, shown)
}

async fn in_version(core: &Core, resource: &Arc<Resource>, stored: Arc<Stored>) -> Result<Arc<Stored>, ApiError> {
    let Some(custom) = resource.custom.as_ref().filter(|_| by_webhook(resource)) else {
        return Ok(stored);
    };
    if shape::is_verbatim(resource, &stored) {
        return Ok(stored);
    }
    let state = custom.definition_generation;
    let converting = || convert_stored(core, resource, &stored);
    stored.editions.get(state, &resource.version, converting).await
}

async fn convert_stored(core: &Core, resource: &Resource, stored: &Stored) -> Result<Arc<Stored>, ApiError> {
    let mut object = stored.value();
    // A read fills in the defaults of the version that is stored.
    let present = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    if let Some(schema) = schema_of(resource, &present) {
        schema.prune(&mut object);
        schema.apply_defaults(&mut object);
    }
    let metadata = object["metadata"].as_object_mut();
    let revision = metadata.and_then(|metadata| metadata.remove("resourceVersion"));
    let mut object = converted_in(core, resource, object, &resource.api_version()).await?;
    resource.schema.prune(&mut object);
    if let Some(revision) = revision {
        object["metadata"]["resourceVersion"] = revision;
    }
    let fields = fields::values(resource, &object);
    Ok(Arc::new(stored.shown_as(object, fields, shape::CONVERTED)))
}

async fn converted_in(core: &Core, resource: &Resource, object: Value, to: &str) -> Result<Value, ApiError> {
    converted(core.admission.client(), &core.clock, resource, object, to).await
}

/// Whether the object is of a version from which there is a way to the other.
fn check_version(resource: &Resource, custom: &Custom, object: &Value, to: &str) -> Result<(), ApiError> {
    let from = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = from.split_once('/').unwrap_or(("", from));
    let why = if group != resource.group {
        let kind = object["kind"].as_str().unwrap_or_default();
        format!("{group}/{version}, Kind={kind} is unstructured and is not suitable for converting to {to:?}")
    } else if custom.versions.iter().all(|(known, _)| known != version) {
        format!("request to convert CR from an invalid group/version: {from}")
    } else {
        return Ok(());
    };
    Err(ApiError::new(500, "", why))
}

fn schema_of<'r>(resource: &'r Resource, api_version: &str) -> Option<&'r Schema> {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let versions = &resource.custom.as_ref()?.versions;
    versions
        .iter()
        .find(|(name, _)| name == version)
        .map(|(_, schema)| &**schema)
}
