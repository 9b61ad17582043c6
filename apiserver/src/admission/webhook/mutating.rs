//! Mutating webhooks: one after another, each seeing what those before it made of the object.

use serde_json::Value;

use super::configured::Webhook;
use super::matching::{Seen, matches};
use super::review::View;
use super::{answer, patch, review};
use crate::admission::reinvocation::{Callees, Reinvocation};
use crate::admission::{Inner, Request, conditions};
use crate::builtins;
use crate::error::ApiError;
use crate::resource::Resource;

/// Calls the mutating webhooks that the request concerns, or the second time those that are due.
pub(crate) async fn mutate(
    inner: &Inner,
    request: &mut Request<'_>,
    warnings: &mut Vec<String>,
    turn: &mut Reinvocation,
    callees: &mut Callees,
) -> Result<(), ApiError> {
    let webhooks = inner.webhooks.mutating(&inner.store);
    if webhooks.is_empty() {
        return Ok(());
    }
    callees.start(turn, request.object);
    for webhook in webhooks.iter() {
        let Some(seen) = matches(webhook, request, &inner.store) else {
            continue;
        };
        if !callees.is_due(turn, &webhook.id) {
            continue;
        }
        if let Some(changed) = call(inner, webhook, &seen, request, warnings).await? {
            let may_again = webhook.text("reinvocationPolicy") == "IfNeeded";
            callees.called(turn, &webhook.id, changed, may_again);
        }
    }
    callees.end(request.object);
    Ok(())
}

/// Calls one webhook, unless its conditions leave the request out; whether it changed the object.
async fn call(
    inner: &Inner,
    webhook: &Webhook,
    seen: &Seen,
    request: &mut Request<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<bool>, ApiError> {
    let uid = inner.clock.uid();
    let view = review::view(inner, request, seen).await?;
    if !conditions::hold(inner, &webhook.spec, webhook.ignores_failure(), request, &view)? {
        return Ok(None);
    }
    let answer = match ask(inner, webhook, &view, request, &uid).await {
        Ok(answer) => answer,
        Err(failure) => {
            let failure = format!("failed calling webhook {:?}: {failure}", webhook.name);
            if webhook.ignores_failure() {
                tracing::warn!("{failure}; the request goes on, as failurePolicy says");
                return Ok(Some(false));
            }
            return Err(ApiError::internal(failure));
        }
    };
    warnings.extend(answer.warnings.iter().cloned());
    if !answer.allowed {
        return Err(answer.refusal(&webhook.name));
    }
    match answer.patch {
        Some(_) if request.object.is_null() => Err(ApiError::internal(format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            webhook.name
        ))),
        Some(operations) => {
            let mut object = view.object.into_owned();
            patch::apply(&mut object, &operations).map_err(ApiError::internal)?;
            settle(inner, request, object).await.map(Some)
        }
        None => Ok(Some(false)),
    }
}

async fn ask(
    inner: &Inner,
    webhook: &Webhook,
    view: &View<'_>,
    request: &Request<'_>,
    uid: &str,
) -> Result<answer::Answer, String> {
    let version = review::version(webhook)?;
    let review = review::review(version, uid, request, view);
    let body = inner
        .client
        .post(webhook, &review)
        .await
        .map_err(|fault| format!("failed to call webhook: {fault}"))?;
    answer::read(&body, version, uid, true)
}

/// Puts the changed object in the request's place, in its version, decoded and defaulted again; whether it is another
/// one.
pub(crate) async fn settle(inner: &Inner, request: &mut Request<'_>, mut object: Value) -> Result<bool, ApiError> {
    let resource = request.resource;
    let own = resource.api_version();
    if request.subresource.is_empty() && object.is_object() && object["apiVersion"] != *own {
        object = review::converted(inner, request, &object, &own).await?;
    }
    if request.subresource.is_empty() && object.is_object() {
        let kind = object["kind"].as_str().unwrap_or(&resource.kind);
        if kind != resource.kind && resource.custom.is_none() {
            let (version, own) = (&resource.version, &resource.kind);
            let text = format!(
                "converting ({version}.{kind}) to ({}.{own}): unknown conversion",
                internal_group(resource)
            );
            return Err(ApiError::new(500, "", text));
        }
        object["kind"] = resource.kind.clone().into();
        object["apiVersion"] = resource.api_version().into();
        if resource.custom.is_some() {
            resource.schema.apply_defaults(&mut object);
        } else {
            resource
                .schema
                .decode_builtin(&mut object)
                .map_err(|error| decoding_fault(&error))?;
            builtins::default(resource, &mut object);
        }
    }
    let changed = *request.object != object;
    *request.object = object;
    Ok(changed)
}

/// The decoder's fault without what a client's body gets around it.
fn decoding_fault(error: &ApiError) -> ApiError {
    let fault = error
        .message
        .split_once(": json: ")
        .map_or(error.message.as_str(), |(_, fault)| fault);
    ApiError::internal(format!("json: {}", fault.trim_start_matches("json: ")))
}

fn internal_group(resource: &Resource) -> &str {
    match resource.group.split('.').next() {
        None | Some("") => "core",
        Some(group) => group,
    }
}
