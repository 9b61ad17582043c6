//! NamespaceLifecycle: nothing is made where there is no namespace, and the system's namespaces stay.

use serde_json::json;

use super::{Operation, Request};
use crate::error::ApiError;
use crate::storage::{Store, Stored};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn check(store: &Store, request: &Request<'_>) -> Result<(), ApiError> {
    let is_namespace = request.resource.group.is_empty() && request.resource.plural == "namespaces";
    if is_namespace {
        if request.operation == Operation::Delete && request.subresource.is_empty() && IMMORTAL.contains(&request.name)
        {
            return Err(ApiError::forbidden(
                request.resource,
                request.name,
                "this namespace may not be deleted",
            ));
        }
        return Ok(());
    }
    let reviews = request.resource.group == "authorization.k8s.io";
    if request.namespace.is_empty() || request.operation != Operation::Create || reviews {
        return Ok(());
    }
    let name = request.namespace;
    let Some(namespace) = store.find("namespaces", "", name) else {
        let mut error = ApiError::new(404, "NotFound", format!("namespaces {name:?} not found"));
        error.details = Some(Box::new(json!({ "name": name, "kind": "namespaces" })));
        return Err(error);
    };
    if is_terminating(&namespace) {
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut error = ApiError::forbidden(request.resource, request.shown_name(), why);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {name} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        return Err(error);
    }
    Ok(())
}

fn is_terminating(namespace: &Stored) -> bool {
    namespace.field("status.phase") == "Terminating"
        || (namespace.linked && !namespace.shared()["metadata"]["deletionTimestamp"].is_null())
}
