//! The verbs as the server's own controllers call them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::decode::{self, Body};
use super::options::{DeleteOptions, FieldValidation, WriteOptions};
use super::read;
use super::shape;
use super::sight::Sight;
use super::{PatchKind, Scope, conversion, pods};
use crate::access::User;
use crate::error::ApiError;
use crate::http::json::Parsed;
use crate::http::query::Query;
use crate::resource::Gvr;
use crate::server::Core;

pub(crate) async fn get(core: &Arc<Core>, resource: &Gvr, namespace: &str, name: &str) -> Result<Value, ApiError> {
    let scope = scope(core, "", resource, namespace, name)?;
    let stored = conversion::anew(&scope, read::find(&scope)?).await?;
    shape::value(&scope.resource, &stored)
}

pub(crate) async fn list(
    core: &Arc<Core>,
    resource: &Gvr,
    namespace: &str,
    query: &str,
) -> Result<(Vec<Value>, u64), ApiError> {
    let scope = scope(core, "", resource, namespace, "")?;
    let list = read::list(&scope, &Query::parse(query)).await?;
    Ok((read::values(&scope, &list)?, list.revision))
}

pub(crate) async fn create(
    core: &Arc<Core>,
    manager: &str,
    resource: &Gvr,
    namespace: &str,
    object: Value,
) -> Result<Value, ApiError> {
    let scope = scope(core, manager, resource, namespace, "")?;
    let (object, warnings) = decoded(&scope, object)?;
    let outcome = super::create::create(&scope, &options("CreateOptions"), object, warnings, false).await?;
    Ok(outcome.shown.into_value())
}

pub(crate) async fn create_sub(
    core: &Arc<Core>,
    manager: &str,
    resource: &Gvr,
    (namespace, name, subresource): (&str, &str, &str),
    object: Value,
) -> Result<Value, ApiError> {
    let mut scope = scope(core, manager, resource, namespace, name)?;
    scope.subresource = subresource.to_owned();
    let options = options("CreateOptions");
    let outcome = match subresource {
        "binding" => pods::bind_to(&scope, &options, &object).await?,
        "eviction" => pods::evict_by(&scope, &options, &object).await?,
        _ => return Err(ApiError::method_not_allowed()),
    };
    Ok(outcome.shown.into_value())
}

pub(crate) async fn update(
    core: &Arc<Core>,
    manager: &str,
    resource: &Gvr,
    subresource: Option<&str>,
    object: Value,
) -> Result<Value, ApiError> {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let mut scope = scope(core, manager, resource, &text("namespace"), &text("name"))?;
    scope.subresource = subresource.unwrap_or_default().to_owned();
    let read = || decoded(&scope, object.clone());
    let outcome = super::update::update(&scope, &options("UpdateOptions"), &read).await?;
    Ok(outcome.shown.into_value())
}

pub(crate) async fn patch(
    core: &Arc<Core>,
    manager: &str,
    resource: &Gvr,
    subresource: Option<&str>,
    (namespace, name): (&str, &str),
    kind: PatchKind,
    patch: Value,
) -> Result<Value, ApiError> {
    let mut scope = scope(core, manager, resource, namespace, name)?;
    scope.subresource = subresource.unwrap_or_default().to_owned();
    let text = patch.to_string();
    let outcome = super::patch::patch(&scope, &options("PatchOptions"), kind, text.as_bytes()).await?;
    Ok(outcome.shown.into_value())
}

pub(crate) async fn delete(
    core: &Arc<Core>,
    manager: &str,
    resource: &Gvr,
    namespace: &str,
    name: &str,
    options: Value,
) -> Result<Value, ApiError> {
    let scope = scope(core, manager, resource, namespace, name)?;
    let outcome = super::delete::delete(&scope, &DeleteOptions::from_object(options)?).await?;
    Ok(outcome.shown.into_value())
}

/// What storage calls a resource, served or not.
pub(crate) fn storage_name(core: &Core, resource: &Gvr) -> String {
    match core.catalog().get(&resource.group, &resource.version, &resource.plural) {
        Some(found) => found.stored_under.to_string(),
        None if resource.group.is_empty() => resource.plural.clone(),
        None => format!("{}.{}", resource.plural, resource.group),
    }
}

fn scope(core: &Arc<Core>, manager: &str, resource: &Gvr, namespace: &str, name: &str) -> Result<Scope, ApiError> {
    let catalog = core.catalog();
    let found = catalog
        .get(&resource.group, &resource.version, &resource.plural)
        .ok_or_else(ApiError::no_such_path)?;
    Ok(Scope {
        core: Arc::clone(core),
        catalog,
        resource: found,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: String::new(),
        user: Arc::new(User::new(format!("system:{manager}"), ["system:masters"])),
        agent: manager.to_owned(),
        request: 0,
        caller: None,
        sight: Sight::default(),
    })
}

fn decoded(scope: &Scope, object: Value) -> Result<(Value, Vec<String>), ApiError> {
    let parsed = Parsed {
        value: object,
        duplicates: Vec::new(),
    };
    decode::object(scope, Body { text: b"", parsed }, FieldValidation::Ignore)
}

fn options(kind: &str) -> WriteOptions {
    WriteOptions {
        object: json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" }),
        ..WriteOptions::default()
    }
}
