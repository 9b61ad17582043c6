//! Subresources that are more than a part of their object, and resources that are answered but never stored.

use serde_json::{Value, json};

use super::options::WriteOptions;
use super::shape::Shown;
use super::{Outcome, PatchKind, Scope, connect, create, decode, patch, pods, read, scale, update};
use crate::error::ApiError;
use crate::http::incoming::Incoming;
use crate::http::resource::patch_kind;
use crate::resource::Resource;

/// How many seconds a token lives whose request does not say.
const DEFAULT_TOKEN_LIFE: u32 = 3600;

/// Whether objects of the resource are answered, never stored: reviews and bindings.
pub(crate) fn is_virtual(resource: &Resource) -> bool {
    resource.custom.is_none() && resource.verbs == ["create"]
}

/// Answers a request for a subresource other than status.
///
/// # Errors
/// Whatever the subresource refuses.
pub(crate) async fn serve(scope: &Scope, incoming: &Incoming, verb: &str) -> Result<Outcome, ApiError> {
    let query = &incoming.query;
    match (scope.subresource.as_str(), verb) {
        ("scale", "get") => scale::get(scope).await,
        ("scale", "update") => {
            let options = WriteOptions::parse("UpdateOptions", query)?;
            scale::update(scope, &options, incoming.body()?, incoming.content_type()).await
        }
        ("scale", "patch") => {
            let kind = patch_kind(&scope.resource, incoming)?;
            let body = incoming.body()?;
            let options = WriteOptions::parse_patch(query, kind == PatchKind::Apply)?;
            scale::patch(scope, &options, kind, body).await
        }
        ("binding", "create") => pods::bind(scope, incoming).await,
        ("eviction", "create") => pods::evict(scope, incoming).await,
        ("log", "get") => pods::log(scope, query),
        ("token", "create") => token(scope, incoming),
        ("exec" | "attach" | "portforward" | "proxy", _) => connect::serve(scope, incoming).await,
        (_, "get") => read::get(scope, query).await,
        (_, "update") => {
            let body = incoming.body()?;
            let options = WriteOptions::parse("UpdateOptions", query)?;
            let read = || {
                let body = decode::read(&scope.resource, body, incoming.content_type())?;
                decode::object(scope, body, options.validation)
            };
            update::update(scope, &options, &read).await
        }
        (_, "patch") => {
            let kind = patch_kind(&scope.resource, incoming)?;
            let body = incoming.body()?;
            let options = WriteOptions::parse_patch(query, kind == PatchKind::Apply)?;
            patch::patch(scope, &options, kind, body).await
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// Answers a create of something that is not stored.
///
/// # Errors
/// 400 and 422 for a body that makes no sense.
pub(crate) async fn create_virtual(scope: &Scope, incoming: &Incoming) -> Result<Outcome, ApiError> {
    if scope.resource.plural == "bindings" {
        return pods::bind(scope, incoming).await;
    }
    let (mut object, _, warnings) = posted(scope, incoming)?;
    if scope.resource.kind == "SelfSubjectReview" {
        // The only review that says when it was answered.
        object["metadata"]["creationTimestamp"] = scope.core.clock.now_rfc3339().into();
    }
    let answer = scope
        .core
        .access
        .review(&scope.resource.kind, &scope.namespace, object, &scope.user)?;
    Ok(Outcome {
        code: 201,
        shown: Shown::Value(answer),
        warnings,
    })
}

/// A posted body as an object of the scope's resource, with its managedFields.
///
/// # Errors
/// 400, 413, 415 and 422 as for a create.
pub(crate) fn posted(scope: &Scope, incoming: &Incoming) -> Result<(Value, WriteOptions, Vec<String>), ApiError> {
    let (mut object, options, warnings) = decoded(scope, incoming)?;
    update::stamp(scope, &options, None, &mut object);
    Ok((object, options, warnings))
}

fn decoded(scope: &Scope, incoming: &Incoming) -> Result<(Value, WriteOptions, Vec<String>), ApiError> {
    let body = incoming.body()?;
    let options = WriteOptions::parse("CreateOptions", &incoming.query)?;
    let body = decode::read(&scope.resource, body, incoming.content_type())?;
    let (mut object, warnings) = decode::object(scope, body, options.validation)?;
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if scope.resource.namespaced {
        create::check_namespace(scope, &mut object)?;
    }
    Ok((object, options, warnings))
}

fn token(scope: &Scope, incoming: &Incoming) -> Result<Outcome, ApiError> {
    let view = of_kind(scope, "authentication.k8s.io", "v1", "TokenRequest")?;
    let (mut object, options, warnings) = decoded(&view, incoming)?;
    if object["spec"]["expirationSeconds"].is_null() && object["spec"].is_object() {
        object["spec"]["expirationSeconds"] = DEFAULT_TOKEN_LIFE.into();
    }
    update::stamp(&view, &options, None, &mut object);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        object["metadata"]["name"] = scope.name.as_str().into();
    } else if name != scope.name {
        return Err(create::name_mismatch(name, &scope.name));
    }
    let answer = scope.core.access.request_token(&scope.namespace, &scope.name, object)?;
    Ok(Outcome {
        code: 201,
        shown: Shown::Value(answer),
        warnings,
    })
}

/// The scope with a kind in the place of its resource that is no resource of its own.
///
/// # Errors
/// 500 if the kind was not recorded.
pub(crate) fn of_kind(scope: &Scope, group: &str, version: &str, kind: &str) -> Result<Scope, ApiError> {
    let schema = crate::schema::Schema::builtin(group, version, kind)
        .ok_or_else(|| ApiError::internal(format!("there is no schema of {kind}")))?;
    let resource = Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        storage_version: version.to_owned(),
        kind: kind.to_owned(),
        counts_generation: false,
        subresources: Vec::new(),
        schema,
        custom: None,
        ..(*scope.resource).clone()
    };
    Ok(Scope {
        resource: std::sync::Arc::new(resource),
        ..scope.clone()
    })
}
