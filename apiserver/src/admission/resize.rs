//! PersistentVolumeClaimResize: only claims whose class can grow do.

use serde_json::Value;

use super::{Inner, Operation, Request};
use crate::error::ApiError;
use crate::schema::quantity::Quantity;

const CLASSES: &str = "storageclasses.storage.k8s.io";

/// Checks an update of a claim that asks for more.
///
/// # Errors
/// 403 if the claim is not bound, or its class does not let it grow.
pub(super) fn check(inner: &Inner, request: &Request<'_>) -> Result<(), ApiError> {
    let claim = request.resource.group.is_empty() && request.resource.plural == "persistentvolumeclaims";
    let Some(old) = request.old.filter(|_| claim && request.subresource.is_empty()) else {
        return Ok(());
    };
    if request.operation != Operation::Update {
        return Ok(());
    }
    let size = |claim: &Value| {
        let amount = claim["spec"]["resources"]["requests"]["storage"].as_str()?;
        Quantity::parse(amount)
    };
    let grows = match (size(old), size(request.object)) {
        (Some(before), Some(after)) => before.compare(after).is_lt(),
        _ => false,
    };
    if !grows {
        return Ok(());
    }
    let refused = |why: &str| Err(ApiError::forbidden(request.resource, request.shown_name(), why));
    if old["status"]["phase"] != "Bound" {
        return refused("Only bound persistent volume claims can be expanded");
    }
    let class = request.object["spec"]["storageClassName"].as_str().unwrap_or_default();
    let found = inner.store.find(CLASSES, "", class);
    if !found.is_some_and(|class| class.value()["allowVolumeExpansion"] == true) {
        return refused(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
             resize",
        );
    }
    Ok(())
}
