//! An App becomes a ConfigMap, a Deployment, a Service and, where it asks for one, an Ingress.
//!
//! [`api`] is the custom kind, [`children`] says what an App asks for, [`controller`] brings the cluster in line,
//! [`webhooks`] judges and completes what people write.

pub mod api;
pub mod children;
pub mod controller;
pub mod webhooks;

use kubewright::Manager;

/// The operator, ready for `run_cli` or for a test.
#[must_use]
pub fn manager() -> Manager {
    Manager::new("app-operator")
        .controller(controller::AppController)
        .webhook(webhooks::AppWebhooks)
}
