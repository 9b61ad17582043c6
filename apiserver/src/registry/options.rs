//! The options of writes: `CreateOptions`, `UpdateOptions`, `PatchOptions`, `DeleteOptions`.

use serde_json::{Map, Value, json};

use crate::error::{ApiError, Cause};
use crate::http::query::Query;

/// What becomes of fields that the schema does not know and of fields given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped with a Warning header.
    #[default]
    Warn,
    /// The write is refused.
    Strict,
}

/// The options of a write, from its query.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) validation: FieldValidation,
    pub(crate) force: Option<bool>,
    /// The options as an object, for admission.
    pub(crate) object: Value,
}

impl WriteOptions {
    /// The options of a patch as admission sees them: those of the create or update that the patch is.
    pub(crate) fn of_kind(&self, kind: &str) -> Self {
        let mut options = self.clone();
        options.object["kind"] = kind.into();
        if let Some(fields) = options.object.as_object_mut() {
            fields.remove("force");
        }
        options
    }

    /// Reads and checks options of that kind (`CreateOptions` and so on).
    ///
    /// # Errors
    /// 422 with every fault.
    pub(crate) fn parse(kind: &str, query: &Query) -> Result<Self, ApiError> {
        let mut causes = Vec::new();
        let field_manager = query.given("fieldManager").map(str::to_owned);
        if let Some(manager) = &field_manager {
            check_manager(manager, &mut causes);
        }
        let dry_run = query.all("dryRun");
        check_dry_run(&dry_run, &mut causes);
        let validation = match query.get("fieldValidation") {
            None | Some("" | "Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::unsupported("fieldValidation", &json!(other), &supported));
                FieldValidation::Warn
            }
        };
        if !causes.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", kind, "", &causes));
        }
        let force = query.flag("force");
        let mut object = Map::new();
        object.insert("kind".into(), kind.into());
        object.insert("apiVersion".into(), "meta.k8s.io/v1".into());
        if !dry_run.is_empty() {
            object.insert("dryRun".into(), json!(dry_run));
        }
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(value) = query.given(name) {
                object.insert(name.into(), value.into());
            }
        }
        if let Some(force) = force {
            object.insert("force".into(), force.into());
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager,
            validation,
            force,
            object: Value::Object(object),
        })
    }

    /// Reads the options of a patch, and checks what apply demands of them and forbids others.
    ///
    /// # Errors
    /// 422 with every fault.
    pub(crate) fn parse_patch(query: &Query, apply: bool) -> Result<Self, ApiError> {
        let mut causes = Vec::new();
        if apply {
            if query.given("fieldManager").is_none() {
                causes.push(Cause::required("fieldManager", "is required for apply patch"));
            }
        } else if query.get("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        match Self::parse("PatchOptions", query) {
            Ok(options) if causes.is_empty() => Ok(options),
            Ok(_) => Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &causes)),
            Err(error) if causes.is_empty() => Err(error),
            Err(error) => {
                // Both sets of faults belong in one answer.
                let more = error
                    .details
                    .as_ref()
                    .and_then(|d| d["causes"].as_array())
                    .cloned()
                    .unwrap_or_default();
                causes.extend(more.iter().map(|cause| Cause {
                    reason: if cause["reason"] == "FieldValueNotSupported" {
                        "FieldValueNotSupported"
                    } else {
                        "FieldValueInvalid"
                    },
                    message: cause["message"].as_str().unwrap_or_default().to_owned(),
                    field: cause["field"].as_str().unwrap_or_default().to_owned(),
                }));
                Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &causes))
            }
        }
    }
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// `DeleteOptions`, from the body or the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// The options as an object, for admission.
    pub(crate) object: Value,
}

impl DeleteOptions {
    /// Reads the options from the query.
    ///
    /// # Errors
    /// 400 for a grace period that is no number, 422 for values that there are not.
    pub(crate) fn from_query(query: &Query) -> Result<Self, ApiError> {
        let mut object = Map::new();
        if let Some(grace) = query.given("gracePeriodSeconds") {
            object.insert("gracePeriodSeconds".into(), integer(grace)?.into());
        }
        if let Some(orphan) = query.flag("orphanDependents") {
            object.insert("orphanDependents".into(), orphan.into());
        }
        if let Some(policy) = query.given("propagationPolicy") {
            object.insert("propagationPolicy".into(), policy.into());
        }
        let dry_run = query.all("dryRun");
        if !dry_run.is_empty() {
            object.insert("dryRun".into(), json!(dry_run));
        }
        Self::from_object(Value::Object(object))
    }

    /// Reads the options from a `DeleteOptions` object; null stands for the defaults.
    ///
    /// # Errors
    /// 400 for values of the wrong type, 422 for values that there are not.
    pub(crate) fn from_object(mut object: Value) -> Result<Self, ApiError> {
        if object.is_null() {
            object = json!({});
        }
        object["kind"] = "DeleteOptions".into();
        object["apiVersion"] = "meta.k8s.io/v1".into();
        let wrong = |field: &str| ApiError::bad_request(format!("DeleteOptions.{field} has the wrong type"));
        let text = |value: &Value, field: &str| match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(wrong(field)),
        };
        let grace_period = match &object["gracePeriodSeconds"] {
            Value::Null => None,
            value => Some(value.as_i64().ok_or_else(|| wrong("gracePeriodSeconds"))?),
        };
        let orphan_dependents = match &object["orphanDependents"] {
            Value::Null => None,
            value => Some(value.as_bool().ok_or_else(|| wrong("orphanDependents"))?),
        };
        let mut causes = Vec::new();
        let dry_run: Vec<&str> = match &object["dryRun"] {
            Value::Null => Vec::new(),
            Value::Array(items) => items
                .iter()
                .map(Value::as_str)
                .collect::<Option<_>>()
                .ok_or_else(|| wrong("dryRun"))?,
            _ => return Err(wrong("dryRun")),
        };
        check_dry_run(&dry_run, &mut causes);
        let dry_run = !dry_run.is_empty();
        let policy = text(&object["propagationPolicy"], "propagationPolicy")?;
        let propagation = match policy.as_deref() {
            None => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                causes.push(Cause::unsupported("propagationPolicy", &json!(other), &supported));
                None
            }
        };
        if let (Some(policy), Some(_)) = (&policy, orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.insert(0, Cause::invalid("propagationPolicy", &json!(policy), detail));
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &causes));
        }
        let preconditions = &object["preconditions"];
        let uid = text(&preconditions["uid"], "preconditions.uid")?;
        let resource_version = text(&preconditions["resourceVersion"], "preconditions.resourceVersion")?;
        Ok(Self {
            dry_run,
            grace_period,
            propagation,
            orphan_dependents,
            uid,
            resource_version,
            object,
        })
    }
}

/// A number in a query, with the words of Go's `strconv.ParseInt` if it is none.
pub(crate) fn integer(text: &str) -> Result<i64, ApiError> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
    })
}

fn check_dry_run(values: &[&str], causes: &mut Vec<Cause>) {
    if values.iter().any(|value| *value != "All") {
        causes.push(Cause::unsupported("dryRun", &json!(values), &["All"]));
    }
}

fn check_manager(manager: &str, causes: &mut Vec<Cause>) {
    if manager.len() > 128 {
        let detail = "may not be more than 128 bytes";
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: {detail}"),
            field: "fieldManager".into(),
        });
    }
    for (index, character) in manager.char_indices() {
        if character.is_control() {
            let detail = format!("invalid character U+{:04X} (at position {index})", u32::from(character));
            causes.push(Cause::invalid("fieldManager", &json!(manager), detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_the_options_is_in_one_answer() {
        let query = Query::parse("dryRun=Some&fieldValidation=strict");
        let error = WriteOptions::parse("CreateOptions", &query).unwrap_err();
        assert_eq!(error.code, 422);
        assert_eq!(
            error.message,
            "CreateOptions.meta.k8s.io \"\" is invalid: [dryRun: Unsupported value: [\"Some\"]: supported values: \
             \"All\", fieldValidation: Unsupported value: \"strict\": supported values: \"\", \"Ignore\", \"Strict\", \
             \"Warn\"]"
        );
    }

    #[test]
    fn force_is_for_apply_only_and_apply_needs_a_manager() {
        assert!(WriteOptions::parse_patch(&Query::parse("force=false"), false).is_err());
        assert!(WriteOptions::parse_patch(&Query::parse("force=1"), true).is_err());
        let options = WriteOptions::parse_patch(&Query::parse("force=1&fieldManager=m"), true).unwrap();
        assert_eq!(options.force, Some(true));
    }

    #[test]
    fn delete_options_know_three_policies() {
        let query = Query::parse("propagationPolicy=Foreground&gracePeriodSeconds=3");
        let options = DeleteOptions::from_query(&query).unwrap();
        assert_eq!(
            (options.propagation, options.grace_period),
            (Some(Propagation::Foreground), Some(3))
        );
        assert_eq!(
            DeleteOptions::from_query(&Query::parse("propagationPolicy=x"))
                .unwrap_err()
                .code,
            422
        );
        assert_eq!(
            DeleteOptions::from_query(&Query::parse("gracePeriodSeconds=x"))
                .unwrap_err()
                .code,
            400
        );
        let both = json!({ "propagationPolicy": "Orphan", "orphanDependents": true });
        assert_eq!(DeleteOptions::from_object(both).unwrap_err().code, 422);
    }
}
