//! What the server answers when it refuses: an [`ApiError`], written to the wire as a `metav1.Status`.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::resource::Resource;

/// One reason why an object was refused, tied to a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Kubernetes' cause type, such as `FieldValueRequired`.
    pub reason: &'static str,
    /// What is wrong, without the field: `Required value: must be set`.
    pub message: String,
    /// The path of the field, such as `spec.replicas`; `<nil>` where the rule belongs to no field.
    pub field: String,
}

impl Cause {
    /// `Invalid value: <value>: <detail>`.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}: {}", shown(value), detail.as_ref()),
            field: field.into(),
        }
    }

    /// `Required value` or `Required value: <detail>`.
    pub fn required(field: impl Into<String>, detail: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueRequired",
            message: with_detail("Required value", detail.as_ref()),
            field: field.into(),
        }
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(field: impl Into<String>, detail: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueForbidden",
            message: with_detail("Forbidden", detail.as_ref()),
            field: field.into(),
        }
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {}", shown(value)),
            field: field.into(),
        }
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`.
    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        Self {
            reason: "FieldValueNotSupported",
            message: format!(
                "Unsupported value: {}: supported values: {}",
                shown(value),
                supported.join(", ")
            ),
            field: field.into(),
        }
    }

    /// The cause as one sentence: `spec.replicas: Required value`.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}

/// A refusal: the HTTP code, and what the Status says.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The HTTP status code.
    pub code: u16,
    /// `metav1.StatusReason`; empty where the real server gives none.
    pub reason: Cow<'static, str>,
    /// The message for a person.
    pub message: String,
    /// `details`, as the wire has it; absent where the real server writes none.
    pub details: Option<Box<Value>>,
    /// Set where the real server answers `text/plain` and no Status.
    pub plain_text: bool,
    /// Seconds for the `Retry-After` header.
    pub retry_after: Option<u32>,
    /// Warnings that go out with the refusal.
    pub warnings: Vec<String>,
    /// `metadata` of the Status: how to go on after an expired page, or what a webhook gave.
    pub metadata: Option<Box<Value>>,
}

impl ApiError {
    /// An error without details.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            plain_text: false,
            retry_after: None,
            warnings: Vec::new(),
            metadata: None,
        }
    }

    /// 400 BadRequest.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404 in plain text: what lies outside the known API groups.
    #[must_use]
    pub fn page_not_found() -> Self {
        let mut error = Self::new(404, "NotFound", "404 page not found\n");
        error.plain_text = true;
        error
    }

    /// 404 of a path inside a known API group.
    #[must_use]
    pub fn no_such_path() -> Self {
        let mut error = Self::new(404, "NotFound", "the server could not find the requested resource");
        error.details = Some(Box::new(json!({})));
        error
    }

    /// 405 of a built-in resource.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        let mut error = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(Box::new(json!({})));
        error
    }

    /// 405 of a custom resource.
    #[must_use]
    pub fn verb_not_supported(resource: &Resource, verb: &str) -> Self {
        let name = resource.group_resource();
        let message = format!("{verb} is not supported on resources of kind {name:?}");
        Self::of_object(405, "MethodNotAllowed", resource, "", message)
    }

    /// 504: a revision that the server has not reached.
    #[must_use]
    pub fn revision_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut error = Self::new(504, "Timeout", message);
        error.details = Some(Box::new(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        })));
        error.retry_after = Some(1);
        error
    }

    /// 404 NotFound of one object; details carry the plural, as on the real server.
    #[must_use]
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Self::of_object(
            404,
            "NotFound",
            resource,
            name,
            format!("{} {name:?} not found", resource.group_resource()),
        )
    }

    /// 409 AlreadyExists.
    #[must_use]
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.group_resource());
        Self::of_object(409, "AlreadyExists", resource, name, message)
    }

    /// 409 Conflict: `Operation cannot be fulfilled on …`.
    pub fn conflict(resource: &Resource, name: &str, why: impl AsRef<str>) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {}",
            resource.group_resource(),
            why.as_ref()
        );
        Self::of_object(409, "Conflict", resource, name, message)
    }

    /// 403 Forbidden of one object.
    pub fn forbidden(resource: &Resource, name: &str, why: impl AsRef<str>) -> Self {
        let subject = if name.is_empty() {
            String::new()
        } else {
            format!(" {name:?}")
        };
        let message = format!("{}{subject} is forbidden: {}", resource.group_resource(), why.as_ref());
        Self::of_object(403, "Forbidden", resource, name, message)
    }

    /// 422 Invalid with its causes; details carry the kind. `kind` is `Kind.group`, as in `Deployment.apps`.
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let mut sentences: Vec<String> = Vec::new();
        for cause in causes {
            let sentence = cause.sentence();
            // The real server's aggregate error prints equal sentences once but lists every cause.
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let body = match sentences.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut details = json!({ "name": name, "group": group, "kind": kind });
        details["causes"] = causes
            .iter()
            .map(|c| json!({ "reason": c.reason, "message": c.message, "field": c.field }))
            .collect();
        let mut error = Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {body}"));
        error.details = Some(Box::new(without_empty(details)));
        error
    }

    /// 500 InternalError: `Internal error occurred: …`.
    pub fn internal(message: impl AsRef<str>) -> Self {
        let mut error = Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {}", message.as_ref()),
        );
        error.details = Some(Box::new(json!({ "causes": [{ "message": message.as_ref() }] })));
        error
    }

    /// The `metav1.Status` that goes over the wire.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(metadata) = &self.metadata {
            status["metadata"] = (**metadata).clone();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.clone().into();
        }
        if let Some(details) = &self.details {
            status["details"] = (**details).clone();
        }
        status
    }

    fn of_object(code: u16, reason: &'static str, resource: &Resource, name: &str, message: String) -> Self {
        let mut error = Self::new(code, reason, message);
        error.details = Some(Box::new(without_empty(
            json!({ "name": name, "group": resource.group, "kind": resource.plural }),
        )));
        error
    }
}

/// A text as Go's `%q` prints it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A value as `field.Error` shows it: strings quoted, everything else as compact JSON.
fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(s) => Cow::Owned(quoted(s)),
        other => Cow::Owned(other.to_string()),
    }
}

fn with_detail(head: &str, detail: &str) -> String {
    if detail.is_empty() {
        head.to_owned()
    } else {
        format!("{head}: {detail}")
    }
}

/// Go's `omitempty` for the string fields of `details`.
fn without_empty(mut details: Value) -> Value {
    if let Some(map) = details.as_object_mut() {
        map.retain(|_, v| v.as_str() != Some(""));
    }
    details
}
