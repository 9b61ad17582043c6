//! The AdmissionReview that a webhook gets.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::configured::Webhook;
use super::matching::Seen;
use crate::admission::{Inner, Operation, Request};
use crate::error::ApiError;
use crate::registry::conversion;
use crate::resource::{Resource, Subresource};

/// The versions of `admission.k8s.io` that are spoken.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The version of the review: the first in the webhook's list that is spoken.
pub(super) fn version(webhook: &Webhook) -> Result<&'static str, String> {
    let wanted = webhook.spec["admissionReviewVersions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let known = wanted
        .iter()
        .find_map(|wanted| VERSIONS.into_iter().find(|known| wanted == known));
    known.ok_or_else(|| format!("webhook does not accept known AdmissionReview versions {VERSIONS:?}"))
}

/// A request in the version in which a webhook or policy sees it.
pub(crate) struct View<'r> {
    pub(crate) resource: &'r Resource,
    pub(crate) object: Cow<'r, Value>,
    pub(crate) old: Cow<'r, Value>,
}

/// The request as it is seen.
///
/// # Errors
///
/// 500 when an object cannot be converted.
pub(crate) async fn view<'r>(inner: &Inner, request: &'r Request<'_>, seen: &'r Seen) -> Result<View<'r>, ApiError> {
    let old = request.old.unwrap_or(&Value::Null);
    let Seen::As(other) = seen else {
        return Ok(View {
            resource: request.resource,
            object: Cow::Borrowed(request.object),
            old: Cow::Borrowed(old),
        });
    };
    let internal = |error: ApiError| ApiError::internal(error.message);
    let to = other.api_version();
    Ok(View {
        resource: other,
        object: Cow::Owned(converted(inner, request, request.object, &to).await.map_err(internal)?),
        old: Cow::Owned(converted(inner, request, old, &to).await.map_err(internal)?),
    })
}

/// An object of the request in another version, unless there is none.
///
/// # Errors
///
/// 500 when it cannot be converted.
pub(super) async fn converted(
    inner: &Inner,
    request: &Request<'_>,
    object: &Value,
    to: &str,
) -> Result<Value, ApiError> {
    if object.is_null() {
        return Ok(Value::Null);
    }
    let (client, clock) = (&inner.client, &inner.clock);
    conversion::converted(client, clock, request.resource, object.clone(), to).await
}

/// The review, with `uid` to be repeated in the answer.
pub(crate) fn review(version: &str, uid: &str, request: &Request<'_>, view: &View<'_>) -> Value {
    let resource = view.resource;
    let mut body = json!({
        "uid": uid,
        "kind": kind(resource, request),
        "resource": names(resource),
        "requestKind": kind(request.resource, request),
        "requestResource": names(request.resource),
        "operation": request.operation.as_str(),
        "userInfo": request.user.to_user_info(),
        "object": view.object,
        "oldObject": view.old,
        "dryRun": request.dry_run,
        "options": request.options,
    });
    if !request.subresource.is_empty() {
        body["subResource"] = request.subresource.into();
        body["requestSubResource"] = request.subresource.into();
    }
    let name = name(request);
    if !name.is_empty() {
        body["name"] = name.as_ref().into();
    }
    let namespace = if is_namespace(request.resource) {
        name
    } else {
        request.namespace.into()
    };
    if !namespace.is_empty() {
        body["namespace"] = namespace.as_ref().into();
    }
    json!({ "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": body })
}

/// The fields of a review and of its request, in the order in which the real server writes them.
const ORDER: [&str; 20] = [
    "apiVersion",
    "request",
    "response",
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
    "desiredAPIVersion",
    "objects",
];

/// A review as text, its own fields in the order of their declaration.
pub(super) fn text(review: &Value) -> String {
    ordered(review, |field, value| {
        if field == "request" {
            ordered(value, |_, value| value.to_string())
        } else {
            value.to_string()
        }
    })
}

fn ordered(record: &Value, write: impl Fn(&str, &Value) -> String) -> String {
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut fields: Vec<(&String, &Value)> = record.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| place(name));
    let fields = fields
        .into_iter()
        .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), write(name, value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// The name in the path, or on create that of the object, once it has one.
fn name<'a>(request: &'a Request<'_>) -> Cow<'a, str> {
    if !request.name.is_empty() || request.operation != Operation::Create {
        return request.name.into();
    }
    request.object["metadata"]["name"].as_str().unwrap_or_default().into()
}

fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn kind(resource: &Resource, request: &Request<'_>) -> Value {
    let (mut group, mut version, mut kind) = (&resource.group, &resource.version, &resource.kind);
    if let Some(Subresource {
        group_version,
        kind: body,
        ..
    }) = resource.subresource(request.subresource)
    {
        kind = body;
        if let Some((own_group, own_version)) = group_version {
            (group, version) = (own_group, own_version);
        }
    }
    json!({ "group": group, "version": version, "kind": kind })
}

fn names(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.plural })
}
