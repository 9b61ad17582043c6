//! What a webhook says of an object.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::review::{Details, Status, StatusCause};

/// Whether an object may be as it is: what is wrong with which field, and what its author should know.
///
/// ```
/// use kubewright::webhook::Verdict;
///
/// let replicas = 300;
/// let mut verdict = Verdict::allowed();
/// if replicas > 100 {
///     verdict.invalid("spec.replicas", replicas, "must be 100 or less");
/// }
/// verdict.warn("spec.port is deprecated: use spec.ports");
/// assert!(!verdict.is_allowed());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a verdict that is not returned has no effect"]
pub struct Verdict {
    pub(super) errors: Vec<FieldError>,
    pub(super) denied: Option<Denied>,
    pub(super) warnings: Vec<String>,
}

impl Verdict {
    /// Nothing is wrong so far.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// The request is refused as a whole, for a reason that lies in no field.
    pub fn denied(why: impl Into<String>) -> Self {
        Self {
            denied: Some(Denied::new(why)),
            ..Self::default()
        }
    }

    /// Whether nothing is wrong. Warnings do not count.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty() && self.denied.is_none()
    }

    /// Tells the user something, whether the request is refused or not. One sentence; the server cuts it after 256
    /// characters.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// A field has a value that it must not have. `field` is its path, such as `spec.ports[0].name`.
    pub fn invalid(&mut self, field: impl Into<String>, value: impl Serialize, why: impl AsRef<str>) {
        self.error(FieldError::invalid(field, value, why));
    }

    /// A field is missing.
    pub fn required(&mut self, field: impl Into<String>, why: impl AsRef<str>) {
        self.error(FieldError::required(field, why));
    }

    /// A field is set, or changed, that must not be.
    pub fn forbidden(&mut self, field: impl Into<String>, why: impl AsRef<str>) {
        self.error(FieldError::forbidden(field, why));
    }

    /// A value occurs twice where it may occur once.
    pub fn duplicate(&mut self, field: impl Into<String>, value: impl Serialize) {
        self.error(FieldError::duplicate(field, value));
    }

    /// A field has a value that is none of those it may have.
    pub fn unsupported(&mut self, field: impl Into<String>, value: impl Serialize, supported: &[&str]) {
        self.error(FieldError::unsupported(field, value, supported));
    }

    /// Adds what is wrong with a field.
    pub fn error(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// What is wrong with fields, in the order in which it was said.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// What the user is told.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The Status with which the request is refused; none where it is not.
    pub(super) fn status(&self, group: &str, kind: &str, name: &str) -> Option<Status> {
        if let Some(denied) = &self.denied {
            return Some(denied.status());
        }
        if self.errors.is_empty() {
            return None;
        }
        let sentences: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        let what = match &*sentences {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        Some(Status {
            status: "Failure",
            message: format!("{qualified} {name:?} is invalid: {what}"),
            reason: "Invalid",
            details: Some(Details {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: kind.to_owned(),
                causes: self.errors.iter().map(FieldError::cause).collect(),
            }),
            code: 422,
        })
    }
}

impl From<FieldError> for Verdict {
    fn from(error: FieldError) -> Self {
        Self {
            errors: vec![error],
            ..Self::default()
        }
    }
}

/// What is wrong with one field, in the words of the API server's own checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    reason: &'static str,
    message: String,
    field: String,
}

impl FieldError {
    /// `Invalid value: <value>: <why>`.
    #[must_use]
    pub fn invalid(field: impl Into<String>, value: impl Serialize, why: impl AsRef<str>) -> Self {
        let message = format!("Invalid value: {}: {}", shown(value), why.as_ref());
        Self::new("FieldValueInvalid", field, message)
    }

    /// `Required value: <why>`.
    #[must_use]
    pub fn required(field: impl Into<String>, why: impl AsRef<str>) -> Self {
        Self::new("FieldValueRequired", field, with("Required value", why.as_ref()))
    }

    /// `Forbidden: <why>`.
    #[must_use]
    pub fn forbidden(field: impl Into<String>, why: impl AsRef<str>) -> Self {
        Self::new("FieldValueForbidden", field, with("Forbidden", why.as_ref()))
    }

    /// `Duplicate value: <value>`.
    #[must_use]
    pub fn duplicate(field: impl Into<String>, value: impl Serialize) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        Self::new("FieldValueDuplicate", field, message)
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`.
    #[must_use]
    pub fn unsupported(field: impl Into<String>, value: impl Serialize, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            shown(value),
            supported.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// `Not found: <value>`: an object that the field names does not exist.
    #[must_use]
    pub fn not_found(field: impl Into<String>, value: impl Serialize) -> Self {
        Self::new("FieldValueNotFound", field, format!("Not found: {}", shown(value)))
    }

    /// The path of the field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            message,
            field: field.into(),
        }
    }

    fn cause(&self) -> StatusCause {
        StatusCause {
            reason: self.reason,
            message: self.message.clone(),
            field: self.field.clone(),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// A value as the API server shows it: texts in quotes, all else as JSON.
fn shown(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => format!("{text:?}"),
        Ok(value) => value.to_string(),
        Err(_) => "(no JSON)".to_owned(),
    }
}

fn with(what: &str, why: &str) -> String {
    if why.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {why}")
    }
}

/// A refusal as an error: with `?`, it refuses the request. Every other error is a failure of the webhook, after which
/// the failure policy decides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    message: String,
    code: u16,
    reason: &'static str,
}

impl Denied {
    /// A refusal with the code 403.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            message: why.into(),
            code: 403,
            reason: "Forbidden",
        }
    }

    /// A refusal with the code 400: the object makes no sense.
    #[must_use]
    pub fn bad_request(why: impl Into<String>) -> Self {
        Self {
            message: why.into(),
            code: 400,
            reason: "BadRequest",
        }
    }

    pub(super) fn status(&self) -> Status {
        Status {
            status: "Failure",
            message: self.message.clone(),
            reason: self.reason,
            details: None,
            code: self.code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_fields_read_as_the_servers_own() {
        let mut verdict = Verdict::allowed();
        verdict.invalid("spec.replicas", 300, "must be 100 or less");
        verdict.unsupported("spec.mode", "slow", &["Fast", "Safe"]);
        verdict.required("spec.image", "");
        let status = verdict.status("demo.dev", "App", "web").unwrap();
        assert_eq!(
            status.message,
            "App.demo.dev \"web\" is invalid: [spec.replicas: Invalid value: 300: must be 100 or less, \
             spec.mode: Unsupported value: \"slow\": supported values: \"Fast\", \"Safe\", spec.image: Required value]"
        );
        let causes = status.details.unwrap().causes;
        assert_eq!(
            (causes[0].reason, &*causes[0].field),
            ("FieldValueInvalid", "spec.replicas")
        );
        let one = Verdict::from(FieldError::duplicate("spec.ports[1]", "http"));
        assert_eq!(
            one.status("", "Pod", "p").unwrap().message,
            "Pod \"p\" is invalid: spec.ports[1]: Duplicate value: \"http\""
        );
    }

    #[test]
    fn a_warning_refuses_nothing() {
        let mut verdict = Verdict::allowed();
        verdict.warn("old");
        assert!(verdict.is_allowed() && verdict.status("", "Pod", "p").is_none());
    }
}
