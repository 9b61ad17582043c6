//! The reviews: questions about access that are answered and never stored.

use serde_json::{Map, Value, json};

use super::tokens::AUDIENCE;
use super::{Attributes, Authorizer, Rule, Tokens, User};
use crate::clock::Clock;
use crate::error::{ApiError, Cause};

const AUTHORIZATION: &str = "authorization.k8s.io";

/// Answers a review: the object with its `status` filled in.
///
/// `object` has been decoded, defaulted and given its managedFields; `namespace` is the request's.
///
/// # Errors
///
/// 422 for a question that makes no sense, 400 for one without its subject, 404 for a kind that is no review.
pub(super) fn answer(
    authorizer: &Authorizer,
    tokens: &Tokens,
    clock: &Clock,
    kind: &str,
    namespace: &str,
    mut object: Value,
    user: &User,
) -> Result<Value, ApiError> {
    match kind {
        "SelfSubjectAccessReview" => {
            refuse(&attribute_faults(&object["spec"]))?;
            object["status"] = status(authorizer, user, &object["spec"]);
        }
        "SubjectAccessReview" => {
            refuse(&subject_faults(&object["spec"]))?;
            object["status"] = status(authorizer, &subject(&object["spec"]), &object["spec"]);
        }
        "LocalSubjectAccessReview" => {
            refuse(&local_faults(&object, namespace))?;
            object["status"] = status(authorizer, &subject(&object["spec"]), &object["spec"]);
        }
        "SelfSubjectRulesReview" => return rules(authorizer, &object, user),
        "SelfSubjectReview" => {
            object["metadata"]["creationTimestamp"] = clock.now_rfc3339().into();
            object["status"] = json!({ "userInfo": user.to_user_info() });
        }
        "TokenReview" => object["status"] = token(tokens, &object["spec"])?,
        _ => {
            return Err(ApiError::new(
                404,
                "NotFound",
                "the server could not find the requested resource",
            ));
        }
    }
    Ok(object)
}

fn refuse(causes: &[Cause]) -> Result<(), ApiError> {
    // The real server names no kind here.
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(AUTHORIZATION, "", "", causes))
    }
}

fn attribute_faults(spec: &Value) -> Vec<Cause> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut causes = Vec::new();
    if !resource.is_null() && !path.is_null() {
        let detail = "cannot be specified in combination with resourceAttributes";
        causes.push(Cause::invalid(
            "spec.nonResourceAttributes",
            &in_go_fields(path),
            detail,
        ));
    }
    if resource.is_null() && path.is_null() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, detail));
    }
    causes
}

fn subject_faults(spec: &Value) -> Vec<Cause> {
    let mut causes = attribute_faults(spec);
    if text(spec, "user").is_empty() && spec["groups"].as_array().is_none_or(Vec::is_empty) {
        let detail = "at least one of user or group must be specified";
        causes.push(Cause::invalid("spec.user", &"".into(), detail));
    }
    causes
}

fn local_faults(object: &Value, namespace: &str) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = subject_faults(spec);
    let asked = &spec["resourceAttributes"];
    if !asked.is_null() && text(asked, "namespace") != namespace {
        let value = text(asked, "namespace").into();
        causes.push(Cause::invalid(
            "spec.resourceAttributes.namespace",
            &value,
            "must match metadata.namespace",
        ));
    }
    let path = &spec["nonResourceAttributes"];
    if !path.is_null() {
        let detail = "disallowed on this kind of request";
        causes.push(Cause::invalid(
            "spec.nonResourceAttributes",
            &in_go_fields(path),
            detail,
        ));
    }
    causes
}

/// NonResourceAttributes as the real server shows them in a message: by the names of its Go fields.
fn in_go_fields(path: &Value) -> Value {
    json!({ "Path": text(path, "path"), "Verb": text(path, "verb") })
}

fn subject(spec: &Value) -> User {
    let list = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: list(&spec["groups"]),
        extra: spec["extra"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), list(v)))
            .collect(),
    }
}

fn status(authorizer: &Authorizer, user: &User, spec: &Value) -> Value {
    let resource = &spec["resourceAttributes"];
    let asked = if resource.is_null() {
        let path = &spec["nonResourceAttributes"];
        Attributes::of_path(text(path, "verb"), text(path, "path"))
    } else {
        Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            version: text(resource, "version"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: None,
        }
    };
    let decision = authorizer.decide(user, &asked);
    let mut status = json!({ "allowed": decision.allowed });
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    status
}

fn rules(authorizer: &Authorizer, object: &Value, user: &User) -> Result<Value, ApiError> {
    let namespace = text(&object["spec"], "namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (rules, errors) = authorizer.rules_of(user, namespace);
    let of_resources: Vec<Value> = rules
        .iter()
        .filter(|r| !r.resources.is_empty())
        .map(resource_rule)
        .collect();
    let of_paths: Vec<Value> = rules
        .iter()
        .filter(|r| !r.non_resource_urls.is_empty())
        .map(|r| json!({ "verbs": r.verbs, "nonResourceURLs": r.non_resource_urls }))
        .collect();
    let mut status = json!({ "resourceRules": of_resources, "nonResourceRules": of_paths, "incomplete": false });
    if !errors.is_empty() {
        status["evaluationError"] = errors.join(", ").into();
    }
    // The answer is an object of its own: the question is not repeated.
    Ok(json!({
        "kind": object["kind"],
        "apiVersion": object["apiVersion"],
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

fn resource_rule(rule: &Rule) -> Value {
    let fields = [
        ("verbs", &rule.verbs),
        ("apiGroups", &rule.api_groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.resource_names),
    ];
    let present = fields.into_iter().filter(|(_, values)| !values.is_empty());
    Value::Object(
        present
            .map(|(name, values)| (name.to_owned(), values.clone().into()))
            .collect::<Map<_, _>>(),
    )
}

fn token(tokens: &Tokens, spec: &Value) -> Result<Value, ApiError> {
    let token = text(spec, "token");
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let asked: Vec<&str> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let audiences = if asked.is_empty() { vec![AUDIENCE] } else { asked };
    Ok(match tokens.verify(token, &audiences) {
        Some(verified) => json!({
            "authenticated": true,
            "user": verified.user.to_user_info(),
            "audiences": verified.audiences,
        }),
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
