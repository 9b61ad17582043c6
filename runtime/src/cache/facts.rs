//! What a scan finds out about an object, and which field managers it keeps.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cache::json::JsonError;
use crate::delta::{Header, Labels, Version, finalizers_of, owners_of};
use crate::key::ObjectKey;

/// JSON that is not an object of the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// `metadata` or one of its members is missing.
    #[error("the object has no {0}")]
    Missing(&'static str),
}

/// Which entries of managedFields stay in the cache.
#[derive(Clone, Debug, Default)]
pub struct KeepManagers {
    prefix: Option<Arc<str>>,
    names: Arc<[String]>,
}

impl KeepManagers {
    /// Keeps the entries of managers whose name starts with `<operator>/`, and of these managers.
    #[must_use]
    pub fn of(operator: &str, names: &[String]) -> Self {
        Self {
            prefix: (!operator.is_empty()).then(|| Arc::from(format!("{operator}/"))),
            names: names.into(),
        }
    }

    pub(super) fn keeps(&self, manager: &str) -> bool {
        self.prefix.as_deref().is_some_and(|prefix| manager.starts_with(prefix))
            || self.names.iter().any(|name| {
                // The status of an object is applied under the manager's name and a suffix.
                manager == name || manager.strip_suffix("-status") == Some(name)
            })
    }
}

/// What a scan leaves beside the facts; reused from one object to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Text of [`Labels`].
    pub(crate) labels: String,
    /// Text that [`owners_of`] reads.
    pub(crate) owners: String,
    /// Text that [`finalizers_of`] reads.
    pub(crate) finalizers: String,
    /// The slim object.
    pub(crate) body: Vec<u8>,
    /// Room for an object that is stripped.
    pub(super) stripped: Vec<u8>,
}

/// What is known of an object without decoding it, labels, owners and finalizers apart.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) version: Version,
    pub(crate) generation: Option<i64>,
    pub(crate) deletion: Option<Cow<'a, str>>,
    pub(crate) deletion_grace: Option<i64>,
    pub(crate) created: Option<Cow<'a, str>>,
    pub(crate) annotations_digest: u64,
    pub(crate) spec_digest: u64,
    pub(crate) status_digest: u64,
    pub(crate) content_digest: u64,
}

impl Facts<'_> {
    /// The header of an object that no store holds.
    pub(crate) fn header(&self, scratch: &Scratch) -> Header {
        let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(Arc::from);
        Header {
            key: ObjectKey::new(&*self.namespace, &*self.name),
            uid: Arc::from(&*self.uid),
            version: self.version.clone(),
            generation: self.generation,
            labels: Labels::of_text(Arc::from(&*scratch.labels)),
            owners: owners_of(&scratch.owners),
            finalizers: finalizers_of(&scratch.finalizers),
            deletion: text(&self.deletion),
            deletion_grace: self.deletion_grace,
            created: text(&self.created),
            annotations_digest: self.annotations_digest,
            spec_digest: self.spec_digest,
            status_digest: self.status_digest,
            content_digest: self.content_digest,
        }
    }
}

/// What tells one version of one object from another.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) version: Version,
}
