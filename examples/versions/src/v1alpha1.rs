//! The first version, which some people still write.

use kubewright::prelude::*;

/// A cache in memory.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "demo.dev",
    version = "v1alpha1",
    kind = "Cache",
    plural = "caches",
    namespaced,
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct CacheSpec {
    /// How much memory each replica has, in MB.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub size_mb: i64,
    /// How many replicas there are.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
}

fn one() -> i32 {
    1
}
