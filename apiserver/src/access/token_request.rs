//! `serviceaccounts/token`: hands out tokens of a service account.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::tokens::{AUDIENCE, Bound, ServiceAccountClaims};
use super::{Source, Tokens};
use crate::clock::Clock;
use crate::error::{ApiError, Cause};

const GROUP: &str = "authentication.k8s.io";
const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

/// Answers a TokenRequest for an account: the object with its metadata, `spec` completed and `status.token`.
///
/// `object` has been decoded, defaulted and given its managedFields.
///
/// # Errors
///
/// 404 when the account or what the token is to be bound to does not exist, 422 for a lifetime out of bounds, 400
/// for a kind of object that a token cannot be bound to, 409 when the bound object has another uid.
pub(super) fn answer(
    source: &dyn Source,
    tokens: &Tokens,
    clock: &Clock,
    namespace: &str,
    name: &str,
    mut object: Value,
) -> Result<Value, ApiError> {
    for (field, expected, what) in [("name", name, "name"), ("namespace", namespace, "namespace")] {
        let given = object["metadata"][field].as_str().unwrap_or_default();
        if !given.is_empty() && given != expected {
            let detail = format!("must match the service account {what} if specified");
            let cause = Cause::invalid(format!("metadata.{field}"), &given.into(), detail);
            return Err(ApiError::invalid(GROUP, "TokenRequest", name, &[cause]));
        }
    }
    let account = existing(source, "serviceaccounts", namespace, name)?;
    let seconds = object["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_SECONDS);
    if let Some(detail) = lifetime_fault(seconds) {
        let cause = Cause::invalid("spec.expirationSeconds", &seconds.into(), detail);
        return Err(ApiError::invalid(GROUP, "TokenRequest", "", &[cause]));
    }
    let reference = object["spec"]["boundObjectRef"].clone();
    let bound = if reference.is_null() {
        Vec::new()
    } else {
        bound(source, namespace, name, &reference)?
    };
    let mut audiences: Vec<String> = serde_json::from_value(object["spec"]["audiences"].clone()).unwrap_or_default();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    let expires = clock
        .now()
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(jiff::Timestamp::MAX);
    let uid = account["metadata"]["uid"].as_str().unwrap_or_default();
    let token = tokens.mint_service_account(&ServiceAccountClaims {
        namespace,
        name,
        uid,
        bound,
        audiences: &audiences,
        expires,
    });
    for (field, value) in [("name", name), ("namespace", namespace), ("uid", uid)] {
        object["metadata"][field] = value.into();
    }
    object["metadata"]["creationTimestamp"] = clock.now_rfc3339().into();
    object["spec"]["audiences"] = audiences.into();
    object["spec"]["expirationSeconds"] = seconds.into();
    object["spec"]["boundObjectRef"] = reference;
    object["status"] = json!({
        "token": token,
        "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    Ok(object)
}

fn lifetime_fault(seconds: i64) -> Option<&'static str> {
    if seconds < LEAST_SECONDS {
        Some("may not specify a duration less than 10 minutes")
    } else if seconds > MOST_SECONDS {
        Some("may not specify a duration larger than 2^32 seconds")
    } else {
        None
    }
}

/// What the token is bound to: the referenced object, and of a pod its node too.
fn bound(source: &dyn Source, namespace: &str, account: &str, reference: &Value) -> Result<Vec<Bound>, ApiError> {
    let field = |name: &str| reference[name].as_str().unwrap_or_default();
    let (group, version) = field("apiVersion")
        .rsplit_once('/')
        .unwrap_or(("", field("apiVersion")));
    let (claim, resource, in_namespace) = match (group, field("kind")) {
        ("", "Pod") => ("pod", "pods", namespace),
        ("", "Secret") => ("secret", "secrets", namespace),
        ("", "Node") => ("node", "nodes", ""),
        (_, kind) => {
            let kind = format!("{group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {kind}"
            )));
        }
    };
    let name = field("name");
    let object = existing(source, resource, in_namespace, name)?;
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    if claim == "pod" && object["spec"]["serviceAccountName"].as_str().unwrap_or("default") != account {
        let why = "running with different serviceaccount name.";
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod {why}"
        )));
    }
    if !field("uid").is_empty() && field("uid") != uid {
        let mut error = ApiError::new(
            409,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {} {name:?}: the UID in the bound object reference ({}) does not match \
                 the UID in record. The object might have been deleted and then recreated",
                field("kind"),
                field("uid")
            ),
        );
        error.details = Some(Box::new(json!({ "name": name, "kind": field("kind") })));
        return Err(error);
    }
    let mut all = vec![Bound {
        claim,
        name: name.to_owned(),
        uid: uid.to_owned(),
    }];
    if let Some(node) = object["spec"]["nodeName"]
        .as_str()
        .filter(|n| claim == "pod" && !n.is_empty())
    {
        let known = source.get("nodes", "", node);
        let uid = known
            .as_ref()
            .and_then(|n| n["metadata"]["uid"].as_str())
            .unwrap_or_default();
        all.push(Bound {
            claim: "node",
            name: node.to_owned(),
            uid: uid.to_owned(),
        });
    }
    Ok(all)
}

fn existing(
    source: &dyn Source,
    resource: &str,
    namespace: &str,
    name: &str,
) -> Result<std::sync::Arc<Value>, ApiError> {
    source.get(resource, namespace, name).ok_or_else(|| {
        let mut error = ApiError::new(404, "NotFound", format!("{resource} {name:?} not found"));
        error.details = Some(Box::new(json!({ "name": name, "kind": resource })));
        error
    })
}
