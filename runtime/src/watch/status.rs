//! How a watch is doing, for people and for metrics.

use std::sync::Arc;

use jiff::Timestamp;

use crate::cache::InformerSpec;
use crate::delta::Version;
use crate::kind::Kind;

/// How one informer's watch is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchStatus {
    /// Kind of the objects.
    pub kind: Kind,
    /// The whole specification in words.
    pub spec: String,
    /// The namespace, if the informer keeps one only.
    pub namespace: Option<Arc<str>>,
    /// Whether the first list has ended.
    pub synced: bool,
    /// Whether the watch is open or being listed anew without an error.
    pub healthy: bool,
    /// Since when `healthy` is as it is.
    pub since: Timestamp,
    /// The error that keeps it from being healthy, or the last one.
    pub last_error: Option<String>,
    /// HTTP code of that error, if the server answered it.
    pub last_code: Option<u16>,
    /// Errors, all in all.
    pub errors: u64,
    /// Errors without a success in between.
    pub failures: u32,
    /// Objects in the store.
    pub objects: usize,
    /// What their bodies take, in bytes.
    pub bytes: usize,
    /// The version that the store has reached.
    pub version: Option<Version>,
    /// Lists done, the first included.
    pub lists: u64,
    /// Watches opened.
    pub restarts: u64,
    /// Events delivered.
    pub events: u64,
    /// Objects that could not be read, and were left out of the cache.
    pub skipped: u64,
    /// The last of them, and why.
    pub last_skipped: Option<String>,
    /// How often the watch was begun anew after a panic of the framework.
    pub panics: u64,
}

impl WatchStatus {
    pub(crate) fn new(spec: &InformerSpec, now: Timestamp) -> Self {
        Self {
            kind: spec.kind.clone(),
            spec: spec.to_string(),
            namespace: spec.namespace.clone(),
            synced: false,
            healthy: false,
            since: now,
            last_error: None,
            last_code: None,
            errors: 0,
            failures: 0,
            objects: 0,
            bytes: 0,
            version: None,
            lists: 0,
            restarts: 0,
            events: 0,
            skipped: 0,
            last_skipped: None,
            panics: 0,
        }
    }
}
