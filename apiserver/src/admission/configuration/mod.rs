//! What webhook configurations and policies have to look like.

mod expressions;
mod policies;
mod rules;
mod webhooks;

use serde_json::Value;

use crate::error::Cause;
use crate::resource::Resource;

/// What is wrong with an object of `admissionregistration.k8s.io`; nothing for other kinds.
#[must_use]
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    if resource.group != "admissionregistration.k8s.io" {
        return Vec::new();
    }
    match resource.kind.as_str() {
        "MutatingWebhookConfiguration" => webhooks::validate(object, true),
        "ValidatingWebhookConfiguration" => webhooks::validate(object, false),
        "ValidatingAdmissionPolicy" => policies::validating(object),
        "MutatingAdmissionPolicy" => policies::mutating(object),
        "ValidatingAdmissionPolicyBinding" => policies::validating_binding(object),
        "MutatingAdmissionPolicyBinding" => policies::binding(object),
        _ => Vec::new(),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Adds a cause when a field has none of the words it may have. A field that is absent passes.
fn one_of(object: &Value, field: &str, path: &str, words: &[&str], causes: &mut Vec<Cause>) {
    let value = &object[field];
    if !value.is_null() && !words.iter().any(|word| value == word) {
        causes.push(Cause::unsupported(format!("{path}{field}"), value, words));
    }
}
