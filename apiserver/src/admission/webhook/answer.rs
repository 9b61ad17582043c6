//! What a webhook answered: checked, and turned into a refusal where it is one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::error::ApiError;

/// A well-formed answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) warnings: Vec<String>,
    /// A JSON patch; none when there is nothing to change.
    pub(super) patch: Option<Value>,
    status: Value,
}

/// What is wrong with a failed call, after `failed calling webhook "…": `.
pub(super) type Failure = String;

/// Reads the answer to a review.
///
/// # Errors
///
/// The real server's words for an answer that makes no sense.
pub(super) fn read(review: &Value, version: &str, uid: &str, mutating: bool) -> Result<Answer, Failure> {
    let invalid = |what: String| format!("received invalid webhook response: {what}");
    let undecodable = |what: String| format!("failed to call webhook: {what}");
    let (api_version, kind) = (text(review, "apiVersion"), text(review, "kind"));
    let expected = format!("admission.k8s.io/{version}");
    if !api_version.is_empty() && !kind.is_empty() && (api_version != expected || kind != "AdmissionReview") {
        return Err(undecodable(unknown_kind(api_version, kind, &expected, version)));
    }
    let response = &review["response"];
    if response.is_null() {
        return Err(invalid("webhook response was absent".to_owned()));
    }
    for (field, wanted, is) in [
        (
            "allowed",
            "bool",
            response["allowed"].is_null() || response["allowed"].is_boolean(),
        ),
        (
            "uid",
            "types.UID",
            response["uid"].is_null() || response["uid"].is_string(),
        ),
        (
            "patch",
            "[]uint8",
            response["patch"].is_null() || response["patch"].is_string(),
        ),
        (
            "patchType",
            "PatchType",
            response["patchType"].is_null() || response["patchType"].is_string(),
        ),
    ] {
        if !is {
            let kind = crate::schema::go::json_kind(&response[field]);
            let field = format!("AdmissionResponse.response.{field}");
            return Err(undecodable(format!(
                "json: cannot unmarshal {kind} into Go struct field {field} of type {wanted}"
            )));
        }
    }
    let patch = decode_patch(text(response, "patch")).map_err(undecodable)?;
    let mut patch_type = response["patchType"].as_str();
    if version == "v1" {
        check(review, uid, mutating, !patch.is_empty()).map_err(invalid)?;
    } else {
        // The older review was never looked at closely.
        patch_type = Some("JSONPatch");
    }
    let allowed = response["allowed"] == true;
    let patch = if mutating && allowed && !patch.is_empty() {
        operations(&patch, patch_type)?
    } else {
        None
    };
    let warnings = response["warnings"].as_array().into_iter().flatten();
    Ok(Answer {
        allowed,
        warnings: warnings.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        patch,
        status: response["status"].clone(),
    })
}

/// What is wrong with a response to a review of version v1.
fn check(review: &Value, uid: &str, mutating: bool, patches: bool) -> Result<(), String> {
    let (api_version, kind, response) = (text(review, "apiVersion"), text(review, "kind"), &review["response"]);
    if text(response, "uid") != uid {
        return Err(format!(
            "expected response.uid={uid:?}, got {:?}",
            text(response, "uid")
        ));
    }
    if api_version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"
        ));
    }
    let why = match (mutating, patches, response["patchType"].as_str()) {
        (true, true, None) => "webhook returned response.patch but not response.patchType",
        (true, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, true, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (false, true, _) => "validating webhook may not return response.patch",
        (false, false, Some(_)) => "validating webhook may not return response.patchType",
        _ => return Ok(()),
    };
    Err(why.to_owned())
}

impl Answer {
    /// The error that a refused request answers.
    pub(super) fn refusal(&self, webhook: &str) -> ApiError {
        let denied = format!("admission webhook {webhook:?} denied the request");
        let reason = text(&self.status, "reason").to_owned();
        let message = match (text(&self.status, "message"), reason.as_str()) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        let code = self.status["code"].as_i64().and_then(|code| u16::try_from(code).ok());
        let mut error = ApiError::new(code.filter(|code| *code >= 400).unwrap_or(400), reason, message);
        if self.status["details"].is_object() {
            error.retry_after = self.status["details"]["retryAfterSeconds"]
                .as_u64()
                .and_then(|seconds| u32::try_from(seconds).ok());
            error.details = Some(Box::new(self.status["details"].clone()));
        }
        if let Some(metadata) = self.status["metadata"].as_object() {
            let known = |name: &str| matches!(name, "selfLink" | "resourceVersion" | "continue" | "remainingItemCount");
            let kept = metadata.iter().filter(|(name, _)| known(name));
            error.metadata = Some(Box::new(
                kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
            ));
        }
        error
    }
}

/// The operations of a patch; none when there are none.
fn operations(patch: &[u8], patch_type: Option<&str>) -> Result<Option<Value>, Failure> {
    let undecodable = |what: String| format!("received undecodable patch in webhook response: {what}");
    let operations: Value = serde_json::from_slice(patch).map_err(|_| undecodable(json_fault(patch)))?;
    let Some(list) = operations.as_array() else {
        let kind = crate::schema::go::json_kind(&operations);
        return Err(undecodable(format!(
            "json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"
        )));
    };
    if list.is_empty() {
        return Ok(None);
    }
    match patch_type {
        Some("JSONPatch") => Ok(Some(operations)),
        other => Err(format!("unsupported patch type {:?}", other.unwrap_or_default())),
    }
}

fn decode_patch(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) => at,
            _ => text.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// The fault of a text that is not JSON, in Go's words.
pub(super) fn json_fault(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.trim_start().chars().next() {
        None => "unexpected end of JSON input".to_owned(),
        Some(first) if !matches!(first, '{' | '[' | '"' | '-' | '0'..='9') => {
            format!("invalid character {first:?} looking for beginning of value")
        }
        Some(_) => "unexpected end of JSON input".to_owned(),
    }
}

fn unknown_kind(api_version: &str, kind: &str, expected: &str, version: &str) -> String {
    let spoken = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"].contains(&api_version);
    if kind == "AdmissionReview" && spoken && api_version != expected {
        let got = api_version.rsplit('/').next().unwrap_or_default();
        return format!("converting ({got}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion");
    }
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
    fn reading(review: Value, mutating: bool) -> Result<Answer, Failure> {
        read(&review, "v1", "u", mutating)
    }

    #[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
    fn with(response: Value) -> Value {
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
    }

    #[test]
    fn answers_to_other_reviews_or_of_other_kinds_are_failures() {
        assert_eq!(
            reading(with(json!({"uid": "x", "allowed": true})), false).unwrap_err(),
            "received invalid webhook response: expected response.uid=\"u\", got \"x\""
        );
        assert_eq!(
            reading(json!({}), false).unwrap_err(),
            "received invalid webhook response: webhook response was absent"
        );
        let no_kind = json!({"apiVersion": "admission.k8s.io/v1", "response": {"uid": "u"}});
        assert_eq!(
            reading(no_kind, false).unwrap_err(),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, \
             got admission.k8s.io/v1, Kind="
        );
    }

    #[test]
    fn patches_come_with_their_type_and_only_from_mutating_webhooks() {
        let patch = STANDARD.encode(r#"[{"op":"add","path":"/a","value":1}]"#);
        let good = with(json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch"}));
        assert_eq!(reading(good.clone(), true).unwrap().patch.unwrap()[0]["path"], "/a");
        assert!(
            reading(good, false)
                .unwrap_err()
                .ends_with("validating webhook may not return response.patch")
        );
        let no_type = with(json!({"uid": "u", "allowed": true, "patch": patch}));
        assert!(
            reading(no_type, true)
                .unwrap_err()
                .ends_with("response.patch but not response.patchType")
        );
        let not_json = with(json!({"uid": "u", "allowed": true, "patch": "aGVsbG8=", "patchType": "JSONPatch"}));
        assert!(
            reading(not_json, true)
                .unwrap_err()
                .ends_with("invalid character 'h' looking for beginning of value")
        );
    }

    #[test]
    fn a_refusal_passes_its_status_on() {
        let status = json!({"code": 429, "message": "slow", "details": {"retryAfterSeconds": 7}});
        let refusal = reading(with(json!({"uid": "u", "status": status})), false)
            .unwrap()
            .refusal("w.example");
        assert_eq!((refusal.code, refusal.retry_after), (429, Some(7)));
        assert_eq!(
            refusal.message,
            "admission webhook \"w.example\" denied the request: slow"
        );
        let silent = reading(with(json!({"uid": "u", "status": {"code": 200}})), false)
            .unwrap()
            .refusal("w.example");
        assert_eq!((silent.code, &*silent.reason), (400, ""));
        assert!(silent.message.ends_with("denied the request without explanation"));
    }
}
