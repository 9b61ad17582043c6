//! MutatingAdmissionPolicy.

use serde_json::Value;

use super::compiled::{Policy, Rule};
use super::params::{self, Params};
use super::variables::{Composed, conditions_hold, in_error, of_request};
use super::{matching, merge};
use crate::admission::reinvocation::{Callees, Reinvocation};
use crate::admission::webhook::review::{self, View};
use crate::admission::webhook::{matching::Seen, mutating::settle, patch};
use crate::admission::{Inner, Operation, Request};
use crate::error::ApiError;

/// Lets every policy that a binding puts in force change the object.
pub(crate) async fn mutate(
    inner: &Inner,
    request: &mut Request<'_>,
    turn: &mut Reinvocation,
    callees: &mut Callees,
) -> Result<(), ApiError> {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Ok(());
    }
    let policies = inner.policies.mutating(&inner.store);
    if policies.is_empty() {
        return Ok(());
    }
    callees.start(turn, request.object);
    for policy in policies.iter() {
        for (name, binding) in &policy.bindings {
            let Some(seen) = matching::seen(inner, &policy.spec["matchConstraints"], request) else {
                continue;
            };
            let constraints = &binding["matchResources"];
            if !constraints.is_null() && matching::seen(inner, constraints, request).is_none() {
                continue;
            }
            let id = format!("{}/{name}", policy.name);
            if !callees.is_due(turn, &id) {
                continue;
            }
            let before = request.object.clone();
            if let Err(fault) = apply(inner, policy, binding, request, &seen).await?
                && !policy.ignores_failure()
            {
                let text = format!(
                    "MutatingAdmissionPolicy '{}' with binding '{name}' denied request: {fault}",
                    policy.name
                );
                return Err(ApiError::forbidden(request.resource, request.shown_name(), text));
            }
            let may_again = policy.spec["reinvocationPolicy"] == "IfNeeded";
            callees.called(turn, &id, *request.object != before, may_again);
        }
    }
    callees.end(request.object);
    Ok(())
}

/// Applies the mutations of a policy; the inner result is a fault that `failurePolicy` decides about.
async fn apply(
    inner: &Inner,
    policy: &Policy,
    binding: &Value,
    request: &mut Request<'_>,
    seen: &Seen,
) -> Result<Result<(), String>, ApiError> {
    let params = match params::of_binding(inner, &policy.spec, binding, request) {
        Ok(Params::Some(params)) => params,
        Ok(Params::Skip) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
    };
    for param in &params {
        for rule in &policy.rules {
            // Each mutation sees what those before it made of the object.
            let view = review::view(inner, request, seen).await?;
            let outcome = judge(inner, policy, rule, param, request, &view);
            match outcome {
                Ok(Outcome::Changed(object)) => {
                    settle(inner, request, object).await?;
                }
                Ok(Outcome::Skipped) => {}
                Ok(Outcome::NotConcerned) => break,
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }
    Ok(Ok(()))
}

/// What a mutation does.
enum Outcome {
    /// The object in the version that the policy sees.
    Changed(Value),
    /// Nothing.
    Skipped,
    /// The conditions of the policy do not hold.
    NotConcerned,
}

fn judge(
    inner: &Inner,
    policy: &Policy,
    rule: &Rule,
    param: &Value,
    request: &Request<'_>,
    view: &View<'_>,
) -> Result<Outcome, String> {
    let composed = Composed::of(policy, of_request(inner, request, view), param);
    if !conditions_hold(policy, &composed)? {
        return Ok(Outcome::NotConcerned);
    }
    let changed = changed(rule, &composed, view)?;
    Ok(changed.map_or(Outcome::Skipped, Outcome::Changed))
}

/// The object as the mutation makes it; none when a `test` of its patch does not hold.
fn changed(rule: &Rule, variables: &Composed, view: &View<'_>) -> Result<Option<Value>, String> {
    let result = variables
        .evaluate(&rule.expression)
        .map_err(|error| in_error(&rule.expression, &error))?;
    let mut object = view.object.clone().into_owned();
    if rule.spec["patchType"] == "JSONPatch" {
        return match patch::apply(&mut object, &result) {
            Ok(()) => Ok(Some(object)),
            Err(fault) if fault.starts_with("testing value ") => Ok(None),
            Err(fault) => Err(format!("JSON Patch: {fault}")),
        };
    }
    merge::configuration(&mut object, &result, view.resource.schema.root());
    Ok(Some(object))
}
