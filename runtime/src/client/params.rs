//! What requests are given and answer.

use std::time::Duration;

use bytes::Bytes;

use crate::delta::Version;

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListParams {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// Objects per page; all of them where `None`.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub continue_token: Option<String>,
    /// Ask for metadata alone.
    pub metadata_only: bool,
}

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects as JSON, sharing one buffer.
    pub items: Vec<Bytes>,
    /// Version of the list: a watch may go on from here.
    pub version: Version,
    /// Asks for the next page, if there is one.
    pub continue_token: Option<String>,
}

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct WatchParams {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// Only what comes after this version.
    pub version: Option<Version>,
    /// Start with the objects there are, then a bookmark that says so (`sendInitialEvents`).
    pub initial_events: bool,
    /// When the server should end the watch.
    pub timeout: Option<Duration>,
    /// Ask for metadata alone.
    pub metadata_only: bool,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// The strategic merge patch of built-in kinds.
    Strategic,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents go later, by the garbage collector.
    Background,
    /// Dependents go first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// What must hold of an object for a request to be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Only the object with this uid.
    pub uid: Option<String>,
    /// Only this version.
    pub resource_version: Option<String>,
}

/// Conditions and manner of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// What must hold.
    pub preconditions: Preconditions,
    /// The server's default of the kind where `None`.
    pub propagation: Option<Propagation>,
    /// `gracePeriodSeconds`.
    pub grace: Option<u32>,
}

impl DeleteOptions {
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut preconditions = serde_json::Map::new();
        if let Some(uid) = &self.preconditions.uid {
            preconditions.insert("uid".to_owned(), uid.as_str().into());
        }
        if let Some(version) = &self.preconditions.resource_version {
            preconditions.insert("resourceVersion".to_owned(), version.as_str().into());
        }
        let mut options = serde_json::json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        if !preconditions.is_empty() {
            options["preconditions"] = preconditions.into();
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = format!("{propagation:?}").into();
        }
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        options.to_string().into_bytes()
    }
}
