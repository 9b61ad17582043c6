//! OwnerReferencesPermissionEnforcement: who changes owner references must be allowed to delete the object, and who
//! blocks an owner's deletion must be allowed to update the owner's finalizers.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement>

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Operation, Request};
use crate::access::{Attributes, Authorizer};
use crate::error::ApiError;
use crate::resource::Resource;

pub(super) fn check(authorizer: &Authorizer, request: &Request<'_>) -> Result<(), ApiError> {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Ok(());
    }
    let resource = request.resource;
    if resource.group.is_empty() && resource.plural == "pods" && request.subresource == "status" {
        return Ok(());
    }
    let new = by_uid(request.object);
    let old = request.old.map(by_uid).unwrap_or_default();
    if new == old {
        return Ok(());
    }
    if request.operation == Operation::Update {
        let delete = Attributes {
            verb: "delete",
            group: &resource.group,
            version: &resource.version,
            resource: &resource.plural,
            subresource: request.subresource,
            namespace: request.namespace,
            name: request.name,
            path: None,
        };
        ask(
            authorizer,
            request,
            &delete,
            "cannot set an ownerRef on a resource you can't delete",
        )?;
    }
    let blocks = |owner: &Value| owner["blockOwnerDeletion"] == true;
    for (uid, owner) in &new {
        if blocks(owner) && !old.get(uid).is_some_and(|owner| blocks(owner)) {
            may_block(authorizer, request, owner)?;
        }
    }
    Ok(())
}

fn may_block(authorizer: &Authorizer, request: &Request<'_>, owner: &Value) -> Result<(), ApiError> {
    let field = |name: &str| owner[name].as_str().unwrap_or_default();
    let (group, version) = field("apiVersion")
        .rsplit_once('/')
        .unwrap_or(("", field("apiVersion")));
    let Some(kind) = request.catalog.by_kind(group, version, field("kind")) else {
        let why = format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {} Kind {}: no \
             matches for kind {:?} in version {:?}",
            field("apiVersion"),
            field("kind"),
            field("kind"),
            field("apiVersion")
        );
        return Err(refusal(request, &why));
    };
    let kind: &Resource = &kind;
    let update = Attributes {
        verb: "update",
        group: &kind.group,
        version: &kind.version,
        resource: &kind.plural,
        subresource: "finalizers",
        namespace: if kind.namespaced { request.namespace } else { "" },
        name: field("name"),
        path: None,
    };
    let what = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
    ask(authorizer, request, &update, what)
}

fn ask(authorizer: &Authorizer, request: &Request<'_>, asked: &Attributes<'_>, what: &str) -> Result<(), ApiError> {
    authorizer
        .authorize(request.user, asked)
        // The real server prints its reason and a Go error that is always nil.
        .map_err(|reason| refusal(request, &format!("{what}: {reason}, <nil>")))
}

fn refusal(request: &Request<'_>, why: &str) -> ApiError {
    ApiError::forbidden(request.resource, request.shown_name(), why)
}

fn by_uid(object: &Value) -> BTreeMap<&str, &Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .map(|owner| (owner["uid"].as_str().unwrap_or_default(), owner))
        .collect()
}
