//! What the expressions of policies and match conditions see.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::compiled::{Parsed, Policy};
use crate::admission::webhook::review::{self, View};
use crate::admission::{Inner, Request};
use crate::cel::{Asked, Program, Variables};

/// `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`.
pub(crate) fn of_request(inner: &Inner, request: &Request<'_>, view: &View<'_>) -> Variables {
    let mut variables = Variables::default();
    variables.set("object", &view.object, None);
    variables.set("oldObject", &view.old, None);
    let mut about = review::review("v1", "", request, view)["request"].take();
    if let Some(fields) = about.as_object_mut() {
        for field in ["uid", "object", "oldObject"] {
            fields.remove(field);
        }
    }
    variables.set("request", &about, None);
    let namespace = match request.namespace {
        "" => Value::Null,
        name => inner
            .store
            .find("namespaces", "", name)
            .map_or(Value::Null, |stored| stored.value()),
    };
    variables.set("namespaceObject", &namespace, None);
    let asked = Asked {
        group: request.resource.group.clone(),
        resource: request.resource.plural.clone(),
        subresource: request.subresource.to_owned(),
        namespace: request.namespace.to_owned(),
        name: request.name.to_owned(),
        path: None,
    };
    variables.set_authorizer(&inner.authorizer, request.user, asked);
    variables
}

/// The variables of a policy, evaluated in order as far as they can be.
pub(super) struct Composed {
    variables: Variables,
    failed: BTreeMap<String, String>,
}

impl Composed {
    /// Adds `params` and `variables` to what the request brings.
    pub(super) fn of(policy: &Policy, mut variables: Variables, params: &Value) -> Self {
        variables.set("params", params, None);
        let (mut values, mut failed) = (Map::new(), BTreeMap::new());
        variables.set("variables", &Value::Object(values.clone()), None);
        for (name, expression) in &policy.variables {
            let composed = Self {
                variables: variables.clone(),
                failed,
            };
            match composed.evaluate(expression) {
                Ok(value) => {
                    values.insert(name.clone(), value);
                    failed = composed.failed;
                    variables.set("variables", &Value::Object(values.clone()), None);
                }
                Err(error) => {
                    failed = composed.failed;
                    failed.insert(name.clone(), error);
                }
            }
        }
        Self { variables, failed }
    }

    pub(super) fn evaluate(&self, expression: &Parsed) -> Result<Value, String> {
        self.with(expression, Program::evaluate)
    }

    pub(super) fn holds(&self, expression: &Parsed) -> Result<bool, String> {
        self.with(expression, Program::holds)
    }

    fn with<T>(
        &self,
        expression: &Parsed,
        evaluate: impl FnOnce(&Program, &Variables) -> Result<T, String>,
    ) -> Result<T, String> {
        let program = expression
            .as_ref()
            .map_err(|error| format!("compilation failed: {error}"))?;
        evaluate(program, &self.variables).map_err(|error| {
            // A variable that could not be evaluated is missing from the map; its own fault is what to tell.
            let missing = error
                .strip_prefix("no such key: ")
                .and_then(|key| Some((key, self.failed.get(key)?)));
            missing.map_or(error.clone(), |(name, fault)| {
                format!("composited variable {name:?} fails to evaluate: {fault}")
            })
        })
    }
}

/// Whether the conditions hold.
///
/// # Errors
///
/// The fault of a condition that cannot be judged, when no other is false.
pub(super) fn conditions_hold(policy: &Policy, variables: &Composed) -> Result<bool, String> {
    let mut fault = None;
    for condition in &policy.conditions {
        match variables.holds(condition) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => fault = fault.or_else(|| Some(in_error(condition, &error))),
        }
    }
    fault.map_or(Ok(true), Err)
}

/// `expression '…' resulted in error: …`.
pub(super) fn in_error(expression: &Parsed, error: &str) -> String {
    let text = expression.as_ref().map(Program::text).unwrap_or_default();
    format!("expression '{text}' resulted in error: {error}")
}
