//! What must not compile, and what the compiler says about it.
//!
//! Here stand the kinds that the programs under `pass/` and `fail/` share, so that each program holds only what it is
//! about.

mod editor;

use kubewright::prelude::*;

/// Describes a namespaced kind with a status.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "App", namespaced, status = "AppStatus")]
pub struct AppSpec {
    /// Image of the containers.
    pub image: String,
}

/// Status of an `App`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
pub struct AppStatus {
    /// Whether it runs.
    pub ready: bool,
}

/// Describes a cluster-scoped kind without a status.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Fleet")]
pub struct FleetSpec {
    /// How many.
    pub size: u32,
}

/// Which Apps a Secret concerns.
pub fn users_of(secret: &Secret) -> Vec<ObjectKey> {
    let _ = secret;
    Vec::new()
}

/// The examples in the documentation of the macros, and those of the guides for who comes from elsewhere.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../macros/docs/controller.md")]
    struct Controller;

    #[doc = include_str!("../../macros/docs/custom_resource.md")]
    struct CustomResource;

    #[doc = include_str!("../../macros/docs/kube_schema.md")]
    struct KubeSchema;

    #[doc = include_str!("../../macros/docs/status_conditions.md")]
    struct StatusConditions;

    #[doc = include_str!("../../docs/from-kube-runtime.md")]
    struct FromKubeRuntime;

    #[doc = include_str!("../../docs/from-controller-runtime.md")]
    struct FromControllerRuntime;

    #[doc = include_str!("../../macros/docs/test.md")]
    struct Test;

    #[doc = include_str!("../../macros/docs/webhooks.md")]
    struct Webhooks;
}
