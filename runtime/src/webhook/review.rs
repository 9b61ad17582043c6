//! Reviews as they are on the wire, in version v1: own types, small and lenient, since what a newer API server adds must
//! not break an older operator.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of admission reviews that is spoken.
pub(super) const ADMISSION: &str = "admission.k8s.io/v1";
/// The version of conversion reviews that is spoken.
pub(super) const CONVERSION: &str = "apiextensions.k8s.io/v1";

/// What any review says of itself; for messages about those that cannot be read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
}

/// A review that asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asking<'a, R> {
    #[serde(borrow, default)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default = "Option::default")]
    pub(super) request: Option<R>,
}

/// The request in an admission review. Objects are left as they are: only the type that the author names reads them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest<'a> {
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(default)]
    pub(super) kind: KindNames,
    #[serde(borrow, default)]
    pub(super) sub_resource: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) operation: Cow<'a, str>,
    #[serde(default)]
    pub(super) user_info: User,
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) old_object: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) dry_run: Option<bool>,
    #[serde(borrow, default)]
    pub(super) options: Option<&'a RawValue>,
}

/// Group, version and kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct KindNames {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// Who sent the request that is reviewed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
#[non_exhaustive]
pub struct User {
    /// Name, such as `system:serviceaccount:default:app-operator`.
    pub username: String,
    /// Unique name; often empty.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else the authenticator said.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The request in a conversion review.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversionRequest<'a> {
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow, default, rename = "desiredAPIVersion")]
    pub(super) desired_api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) objects: Vec<&'a RawValue>,
}

/// A review that answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answering<R> {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) response: R,
}

/// The response in an admission review.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionResponse<'a> {
    pub(super) uid: &'a str,
    pub(super) allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'a Status>,
    /// A JSON patch in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) warnings: &'a [String],
}

/// The response in a conversion review.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversionResponse<'a> {
    pub(super) uid: &'a str,
    pub(super) converted_objects: Vec<serde_json::Value>,
    pub(super) result: ConversionResult,
}

/// How a conversion went.
#[derive(Debug, Serialize)]
pub(super) struct ConversionResult {
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// A `metav1.Status`: why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Status {
    pub(super) status: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) details: Option<Details>,
    pub(super) code: u16,
}

/// What a Status is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Details {
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) causes: Vec<StatusCause>,
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct StatusCause {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) field: String,
}
