//! Between the versions of one kind: what is stored, and what a request reads and writes.
//!
//! Custom resources with conversion `None` differ in `apiVersion` only. Of the built-in kinds, Events and
//! HorizontalPodAutoscalers have two versions with different fields.

use serde_json::{Value, json};

use super::autoscaler;
use crate::error::ApiError;
use crate::resource::Resource;

/// Fields of an Event: their name in the core group and in events.k8s.io.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an object as stored into the version of `resource`.
///
/// # Errors
/// 500 when the object's conversion needs a webhook that cannot be called.
pub(crate) fn from_storage(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    match &*resource.stored_under {
        "events" if !resource.group.is_empty() => {
            rename(object, EVENT_FIELDS.iter().copied());
            for field in ["reportingController", "reportingInstance"] {
                remove_if(object, field, |value| value == "");
            }
        }
        "horizontalpodautoscalers.autoscaling" if resource.version == "v1" => autoscaler::to_v1(object),
        _ => check_strategy(resource)?,
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.api_version().into());
    }
    Ok(())
}

/// Turns an object in the version of `resource` into the one that is stored.
///
/// # Errors
/// 500 when the object's conversion needs a webhook that cannot be called.
pub(crate) fn to_storage(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    let group = match &*resource.stored_under {
        "events" if !resource.group.is_empty() => {
            rename(object, EVENT_FIELDS.iter().map(|(core, new)| (*new, *core)));
            event_defaults(object);
            ""
        }
        "horizontalpodautoscalers.autoscaling" if resource.version == "v1" => {
            autoscaler::to_v2(object);
            "autoscaling"
        }
        _ => {
            check_strategy(resource)?;
            &resource.group
        }
    };
    if let Some(fields) = object.as_object_mut() {
        let api_version = crate::resource::api_version(group, &resource.storage_version);
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    Ok(())
}

/// Turns an object of any version of the resource's kind into the version `to`, for kinds that no webhook converts.
pub(crate) fn without_webhook(resource: &Resource, mut object: Value, to: &str) -> Value {
    let of = |api_version: &str| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            ..resource.clone()
        }
    };
    let from = of(object["apiVersion"].as_str().unwrap_or_default());
    // Conversions fail where a webhook is needed, and nowhere else.
    let converted = to_storage(&from, &mut object).and_then(|()| from_storage(&of(to), &mut object));
    debug_assert!(converted.is_ok(), "{} needs a webhook", resource.kind);
    object
}

/// Whether the stored form of the resource is the one that its version shows.
pub(crate) fn is_stored_form(resource: &Resource) -> bool {
    resource.version == resource.storage_version && (resource.group.is_empty() || &*resource.stored_under != "events")
}

fn check_strategy(resource: &Resource) -> Result<(), ApiError> {
    let webhook = resource
        .custom
        .as_ref()
        .is_some_and(|custom| custom.conversion["strategy"] == "Webhook");
    if webhook && resource.version != resource.storage_version {
        return Err(ApiError::new(
            500,
            "",
            format!(
                "conversion webhook for {}, Kind={} cannot be called",
                resource.api_version(),
                resource.kind
            ),
        ));
    }
    Ok(())
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(fields) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

fn remove_if(object: &mut Value, field: &str, test: impl Fn(&Value) -> bool) {
    if let Some(fields) = object.as_object_mut()
        && fields.get(field).is_some_and(test)
    {
        fields.remove(field);
    }
}

/// The core group writes these fields of an Event even when they are empty.
fn event_defaults(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    for (field, empty) in [
        ("involvedObject", json!({})),
        ("source", json!({})),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("eventTime", Value::Null),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
    ] {
        fields.entry(field).or_insert(empty);
    }
}
