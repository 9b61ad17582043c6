//! Requests for resources: what is served, which verbs, in which form.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use http::{Method, Response, header};

use super::accept::{self, Accepted, Form, Media, Offer};
use super::body::Body;
use super::dispatch::{Asked, no_such_path};
use super::events::{PartialEvents, ProtobufEvents, TableEvents};
use super::incoming::Incoming;
use super::query::Query;
use super::respond;
use super::route::Route;
use crate::error::ApiError;
use crate::registry::options::{DeleteOptions, WriteOptions};
use crate::registry::watch::{EventForm, Plain, Watch};
use crate::registry::{PatchKind, Scope, create, decode, delete, manager_of, patch, read, shape, special, update};
use crate::resource::Resource;
use crate::server::Core;

/// Answers a request for a resource.
///
/// # Errors
/// Whatever the verb refuses; 404, 405 and 406 for what is not served.
pub(crate) async fn serve(
    core: &Arc<Core>,
    incoming: &Incoming,
    route: &Route,
    asked: Asked,
) -> Result<Response<Body>, ApiError> {
    let catalog = core.catalog();
    let resource = catalog
        .get(&route.group, &route.version, &route.resource)
        .ok_or_else(|| no_such_path(core, route))?;
    check_place(&resource, route)?;
    let deprecation: Vec<String> = resource.deprecation.clone().into_iter().collect();
    let scope = Scope {
        core: Arc::clone(core),
        catalog,
        namespace: if resource.namespaced {
            route.namespace.clone()
        } else {
            String::new()
        },
        name: route.name.clone(),
        subresource: route.subresource.clone(),
        user: asked.user,
        agent: manager_of(incoming.header(&header::USER_AGENT)),
        request: asked.id,
        caller: incoming.caller.clone(),
        sight: asked.sight,
        resource,
    };
    check_verb(&scope, incoming, route)?;
    match Box::pin(answer(scope, incoming, route)).await {
        Ok(mut response) => {
            respond::warn(&mut response, &deprecation);
            Ok(response)
        }
        Err(mut error) => {
            error.warnings.splice(0..0, deprecation);
            Err(error)
        }
    }
}

/// Carries out the verb.
async fn answer(scope: Scope, incoming: &Incoming, route: &Route) -> Result<Response<Body>, ApiError> {
    let custom = scope.resource.custom.is_some();
    let offer = Offer {
        builtin: !custom,
        forms: true,
        watch: route.verb == "watch",
    };
    let mut accepted = accept::choose(&incoming.accept(), offer)?;
    accepted.pretty |= matches!(incoming.query.get("pretty"), Some("1" | "true"));
    if !scope.subresource.is_empty() && scope.subresource != "status" {
        let outcome = special::serve(&scope, incoming, &route.verb).await?;
        return respond::object(&scope, incoming, accepted, outcome);
    }
    if special::is_virtual(&scope.resource) {
        let outcome = special::create_virtual(&scope, incoming).await?;
        return respond::object(&scope, incoming, accepted, outcome);
    }
    let query = &incoming.query;
    let outcome = match route.verb.as_str() {
        "get" => read::get(&scope, query).await?,
        "list" => {
            let list = read::list(&scope, query).await?;
            return respond::list(&scope, incoming, accepted, list);
        }
        "watch" => return watch(scope, incoming, route, accepted).await,
        "create" => {
            let body = incoming.body()?;
            let options = WriteOptions::parse("CreateOptions", query)?;
            let body = decode::read(&scope.resource, body, incoming.content_type())?;
            let (object, warnings) = decode::object(&scope, body, options.validation)?;
            create::create(&scope, &options, object, warnings, false).await?
        }
        "update" => {
            let body = incoming.body()?;
            let options = WriteOptions::parse("UpdateOptions", query)?;
            let read = || {
                let body = decode::read(&scope.resource, body, incoming.content_type())?;
                decode::object(&scope, body, options.validation)
            };
            update::update(&scope, &options, &read).await?
        }
        "patch" => {
            let kind = patch_kind(&scope.resource, incoming)?;
            let body = incoming.body()?;
            let options = WriteOptions::parse_patch(query, kind == PatchKind::Apply)?;
            patch::patch(&scope, &options, kind, body).await?
        }
        "delete" => delete::delete(&scope, &delete_options(&scope.resource, incoming)?).await?,
        "deletecollection" => {
            let options = delete_options(&scope.resource, incoming)?;
            let (list, warnings) = delete::delete_collection(&scope, &options, query).await?;
            let mut response = respond::list(&scope, incoming, accepted, list)?;
            respond::warn(&mut response, &warnings);
            return Ok(response);
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    let mut response = respond::object(&scope, incoming, accepted, outcome)?;
    if incoming.method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    Ok(response)
}

/// The kind of patch that the content type names.
///
/// # Errors
/// 415 for other types, and for a strategic patch of a custom resource.
pub(crate) fn patch_kind(resource: &Resource, incoming: &Incoming) -> Result<PatchKind, ApiError> {
    let media = incoming
        .content_type()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let custom = resource.custom.is_some();
    match PatchKind::of_media(media) {
        Some(PatchKind::Strategic) | None if custom => Err(ApiError::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        Some(kind) => Ok(kind),
        None => {
            let mut error = ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            error.details = Some(Box::new(serde_json::json!({})));
            Err(error)
        }
    }
}

/// `DeleteOptions` from the body, which makes the query ignored, or from the query.
fn delete_options(resource: &Resource, incoming: &Incoming) -> Result<DeleteOptions, ApiError> {
    let body = incoming.body()?;
    if body.is_empty() {
        return DeleteOptions::from_query(&incoming.query);
    }
    let read = decode::read(resource, body, incoming.content_type())?;
    let value = read.parsed.value;
    if !value.is_object() {
        return Err(ApiError::bad_request("the body of a deletion must be DeleteOptions"));
    }
    let kind = value["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(ApiError::bad_request(format!(
            "the body of a deletion must be DeleteOptions, not {kind}"
        )));
    }
    DeleteOptions::from_object(value)
}

async fn watch(
    scope: Scope,
    incoming: &Incoming,
    route: &Route,
    accepted: Accepted,
) -> Result<Response<Body>, ApiError> {
    // `/watch/…/<name>` watches one object by its name.
    let mut query: Query = incoming.query.clone();
    if !route.name.is_empty() {
        query.set("fieldSelector", format!("metadata.name={}", route.name));
    }
    let binary = accepted.media == Media::Protobuf;
    match accepted.form {
        Form::Object => {
            let form = Plain(form_id(&scope.resource));
            stream(scope, &query, form, binary).await
        }
        Form::Partial(version) | Form::PartialList(version) => {
            stream(scope, &query, PartialEvents { version }, binary).await
        }
        Form::Table(version) => {
            let form = TableEvents {
                version,
                include: respond::include(incoming)?,
                headers: true,
            };
            stream(scope, &query, form, false).await
        }
    }
}

async fn stream(scope: Scope, query: &Query, form: impl EventForm, binary: bool) -> Result<Response<Body>, ApiError> {
    let (content_type, body) = if binary {
        let events = Watch::new(scope, query, ProtobufEvents(form))?.stream().await;
        ("application/vnd.kubernetes.protobuf;stream=watch", Body::frames(events))
    } else {
        let events = Watch::new(scope, query, form)?.stream().await;
        ("application/json", Body::frames(events))
    };
    let mut response = respond::text(200, content_type, bytes::Bytes::new());
    *response.body_mut() = body;
    Ok(response)
}

/// Watchers of the same version in the same state of its definition can share serialised events.
fn form_id(resource: &Resource) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    (&resource.group, &resource.version, shape::schema_state(resource)).hash(&mut hasher);
    hasher.finish()
}

/// Whether the path fits the resource's scope.
fn check_place(resource: &Resource, route: &Route) -> Result<(), ApiError> {
    let custom = resource.custom.is_some();
    let missing = || {
        if custom {
            ApiError::page_not_found()
        } else {
            ApiError::no_such_path()
        }
    };
    let in_namespace = !route.namespace.is_empty() && route.resource != "namespaces";
    if in_namespace && !resource.namespaced {
        return Err(missing());
    }
    if resource.namespaced && !in_namespace {
        return match route.verb.as_str() {
            "list" | "watch" => Ok(()),
            _ if !route.name.is_empty() || custom => Err(missing()),
            _ if special::is_virtual(resource) => Err(missing()),
            _ => Err(ApiError::method_not_allowed()),
        };
    }
    Ok(())
}

/// Whether the resource, or its subresource, is served with this verb.
fn check_verb(scope: &Scope, incoming: &Incoming, route: &Route) -> Result<(), ApiError> {
    let resource = &*scope.resource;
    let custom = resource.custom.is_some();
    if !route.subresource.is_empty() {
        let Some(subresource) = resource.subresource(&route.subresource) else {
            return Err(if custom {
                ApiError::not_found(resource, &route.name)
            } else {
                ApiError::no_such_path()
            });
        };
        if subresource.verbs.contains(&route.verb) {
            return Ok(());
        }
        return Err(if custom {
            ApiError::verb_not_supported(resource, &route.verb)
        } else {
            ApiError::method_not_allowed()
        });
    }
    if custom {
        return match route.verb.as_str() {
            "update" | "patch" if route.name.is_empty() => Err(ApiError::bad_request("name must be provided")),
            verb if resource.verbs.iter().any(|v| v == verb) => Ok(()),
            // While their definition goes, discovery hides how objects are written; finalizers must still come off.
            "create" | "update" | "patch" if resource.custom.as_ref().is_some_and(|c| c.terminating) => Ok(()),
            verb => Err(ApiError::verb_not_supported(resource, verb)),
        };
    }
    let on_object = !route.name.is_empty();
    let fits = match route.verb.as_str() {
        "create" | "list" | "deletecollection" => !on_object,
        "update" | "patch" | "get" | "delete" => on_object,
        "watch" => true,
        _ => false,
    };
    let served = resource.verbs.contains(&route.verb);
    if fits && served && incoming.method != Method::HEAD {
        Ok(())
    } else {
        Err(ApiError::method_not_allowed())
    }
}
