//! The version that is stored. What the first one called `sizeMb` is a part of `memory`, beside what is new.

use kubewright::prelude::*;

/// A cache in memory.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Cache",
    plural = "caches",
    namespaced,
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct CacheSpec {
    /// The memory of each replica.
    pub memory: Memory,
    /// How many replicas there are.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
}

/// The memory of one replica.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// How much there is, in MB.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub size_mb: i64,
    /// What goes when it is full.
    #[serde(default)]
    pub eviction: Eviction,
}

/// What goes when the memory is full.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// What was not used for the longest time.
    #[default]
    LeastRecent,
    /// What is used least often.
    LeastFrequent,
    /// Nothing: writes fail.
    Never,
}

fn one() -> i32 {
    1
}
