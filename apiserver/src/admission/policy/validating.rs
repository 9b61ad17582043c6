//! ValidatingAdmissionPolicy.

use serde_json::{Value, json};

use super::compiled::{Policy, Rule};
use super::matching;
use super::params::{self, Params};
use super::variables::{Composed, conditions_hold, in_error, of_request};
use crate::admission::webhook::review;
use crate::admission::{Inner, Request};
use crate::error::ApiError;

/// Why a policy does not let a request pass.
struct Denial {
    message: String,
    reason: String,
}

/// Judges the request by every policy that a binding puts in force for it.
pub(crate) async fn validate(inner: &Inner, request: &Request<'_>, warnings: &mut Vec<String>) -> Result<(), ApiError> {
    let policies = inner.policies.validating(&inner.store);
    let mut refusal = None;
    for policy in policies.iter() {
        let Some(seen) = matching::seen(inner, &policy.spec["matchConstraints"], request) else {
            continue;
        };
        let view = review::view(inner, request, &seen).await?;
        for (name, binding) in &policy.bindings {
            let constraints = &binding["matchResources"];
            if !constraints.is_null() && matching::seen(inner, constraints, request).is_none() {
                continue;
            }
            let variables = of_request(inner, request, &view);
            for denial in judge(inner, policy, binding, request, &variables) {
                let does = |action: &str| {
                    binding["validationActions"]
                        .as_array()
                        .is_some_and(|actions| actions.iter().any(|a| a == action))
                };
                if does("Warn") {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{name}': {}",
                        policy.name, denial.message
                    ));
                }
                if does("Deny") {
                    refusal = refusal.or_else(|| Some(refuse(request, &policy.name, name, &denial)));
                }
            }
        }
    }
    refusal.map_or(Ok(()), Err)
}

fn judge(
    inner: &Inner,
    policy: &Policy,
    binding: &Value,
    request: &Request<'_>,
    variables: &crate::cel::Variables,
) -> Vec<Denial> {
    let fault = |message: String| {
        if policy.ignores_failure() {
            Vec::new()
        } else {
            vec![Denial {
                message,
                reason: String::new(),
            }]
        }
    };
    let params = match params::of_binding(inner, &policy.spec, binding, request) {
        Ok(Params::Some(params)) => params,
        Ok(Params::Skip) => return Vec::new(),
        Err(error) => return fault(error),
    };
    let mut denials = Vec::new();
    for param in &params {
        let composed = Composed::of(policy, variables.clone(), param);
        match conditions_hold(policy, &composed) {
            Ok(true) => denials.extend(policy.rules.iter().filter_map(|rule| check(policy, rule, &composed))),
            Ok(false) => {}
            Err(error) => denials.extend(fault(error)),
        }
    }
    denials
}

fn check(policy: &Policy, rule: &Rule, variables: &Composed) -> Option<Denial> {
    let reason = rule.spec["reason"].as_str().unwrap_or_default().to_owned();
    match variables.holds(&rule.expression) {
        Ok(true) => None,
        Ok(false) => Some(Denial {
            message: message(rule, variables),
            reason,
        }),
        Err(_) if policy.ignores_failure() => None,
        Err(error) => Some(Denial {
            message: in_error(&rule.expression, &error),
            reason: String::new(),
        }),
    }
}

/// The message of a rule that does not hold: its messageExpression, its message, or the expression.
fn message(rule: &Rule, variables: &Composed) -> String {
    let evaluated = rule
        .message
        .as_ref()
        .and_then(|expression| variables.evaluate(expression).ok());
    let usable = evaluated
        .as_ref()
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|m| !m.is_empty() && !m.contains('\n'));
    if let Some(message) = usable {
        return message.to_owned();
    }
    match rule.spec["message"].as_str().map(str::trim) {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => format!(
            "failed expression: {}",
            rule.spec["expression"].as_str().unwrap_or_default().trim()
        ),
    }
}

fn refuse(request: &Request<'_>, policy: &str, binding: &str, denial: &Denial) -> ApiError {
    let message = format!(
        "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {}",
        denial.message
    );
    let mut error = ApiError::forbidden(request.resource, request.shown_name(), &message);
    let (code, reason) = match denial.reason.as_str() {
        "" => (422, "Invalid"),
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        other => (422, other),
    };
    error.code = code;
    error.reason = reason.to_owned().into();
    if let Some(details) = &mut error.details {
        details["causes"] = json!([{ "message": message }]);
    }
    error
}
