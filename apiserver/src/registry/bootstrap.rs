//! What every cluster starts with: its namespaces and the bootstrap roles.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;

use super::loopback;
use crate::access;
use crate::resource::Gvr;
use crate::server::Core;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates the objects that a new server starts with.
pub(crate) fn install(core: &Arc<Core>) {
    let namespaces = Gvr::new("", "v1", "namespaces");
    for name in NAMESPACES {
        create(core, &namespaces, json!({ "metadata": { "name": name } }));
    }
    for (resource, object) in access::bootstrap_objects(core.settings.gathers_roles()) {
        create(core, &resource, object);
    }
}

fn create(core: &Arc<Core>, resource: &Gvr, object: serde_json::Value) {
    // Nothing of this waits: there are no webhooks yet, so the first poll completes it.
    match loopback::create(core, "kube-apiserver", resource, "", object).now_or_never() {
        Some(Ok(_)) => {}
        Some(Err(error)) => tracing::error!(%resource, error = %error.message, "cannot create a bootstrap object"),
        None => tracing::error!(%resource, "a bootstrap object's creation waits for something"),
    }
}
