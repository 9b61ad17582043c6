//! What the answer to a write says about its object.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;

use crate::cache::Cached;
use crate::client::Target;
use crate::delta::Version;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// What an answer says.
pub(super) enum Written {
    /// The object is stored like this.
    Object(Cached),
    /// The object with this uid is gone; this was its last version, where the answer tells.
    Gone {
        kind: Kind,
        key: ObjectKey,
        uid: Arc<str>,
        last: Option<Version>,
    },
    /// Something changed and the answer does not say what.
    Unclear,
    /// Nothing that a cache would hold changed.
    Nothing,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(default, borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    api_version: std::borrow::Cow<'a, str>,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    uid: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

/// Reads an answer. `scan` reads an object of a kind.
pub(super) fn read(target: &Target, answer: &Bytes, scan: impl Fn(&Kind, &Bytes) -> Option<Cached>) -> Written {
    match target.subresource {
        None | Some("status" | "finalize") => {}
        Some("token") => return Written::Nothing,
        // `scale`, `eviction`, `binding` and whatever comes change the object and answer something else.
        Some(_) => return Written::Unclear,
    }
    let Ok(head) = serde_json::from_slice::<Head<'_>>(answer) else {
        return Written::Unclear;
    };
    match &*head.kind {
        "Status" => deleted_by_status(target, head.details),
        "PartialObjectMetadata" | "Table" => Written::Unclear,
        name => match scan(&full_kind(target, name, &head.api_version), answer) {
            Some(cached) => of_object(target, cached),
            None => Written::Unclear,
        },
    }
}

fn deleted_by_status(target: &Target, details: Option<Details>) -> Written {
    let Some(details) = details else {
        return Written::Unclear;
    };
    match details.uid {
        Some(uid) if target.verb == "delete" && details.name.is_none_or(|name| name == *target.key.name) => {
            Written::Gone {
                kind: target.kind.clone(),
                key: target.key.clone(),
                uid: uid.into(),
                last: None,
            }
        }
        _ => Written::Unclear,
    }
}

fn of_object(target: &Target, cached: Cached) -> Written {
    let header = cached.header();
    // A deletion without a deletionTimestamp in its answer was immediate. A deleting object that nothing holds any
    // more was removed by this very write: the server does so when the last finalizer goes.
    let held = !header.finalizers.is_empty() || header.deletion_grace.is_some_and(|seconds| seconds > 0);
    // Namespaces are held by `spec.finalizers`.
    let held = held || cached.kind().plural() == "namespaces";
    let gone = if header.is_deleting() {
        !held
    } else {
        target.verb == "delete"
    };
    if gone {
        return Written::Gone {
            kind: cached.kind().clone(),
            key: cached.key().clone(),
            uid: Arc::clone(&header.uid),
            last: Some(header.version.clone()),
        };
    }
    Written::Object(cached)
}

/// The kind as the answer names it, for targets that were read out of a path.
fn full_kind(target: &Target, name: &str, api_version: &str) -> Kind {
    let kind = &target.kind;
    if kind.kind() == name && kind.api_version() == api_version || name.is_empty() {
        return kind.clone();
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Kind::new(group, version, name, kind.plural(), kind.namespaced())
}
