//! One cached object: its header, its slim JSON, and the decoded form on demand.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::cache::facts::{KeepManagers, ScanError, Scratch};
use crate::cache::informer::Place;
use crate::cache::scanner::Scanner;
use crate::cache::store::Body;
use crate::delta::Header;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// An object as the cache holds it. Cheap to clone; never changes.
#[derive(Clone)]
pub struct Cached {
    header: Arc<Header>,
    body: Body,
    kind: Kind,
    metadata_only: bool,
    place: Option<Place>,
}

impl Cached {
    pub(crate) fn new(kind: Kind, header: Arc<Header>, body: Body, metadata_only: bool) -> Self {
        Self {
            header,
            body,
            kind,
            metadata_only,
            place: None,
        }
    }

    /// An object as the server answered it; of managedFields only the entries of `own_manager` are kept.
    ///
    /// # Errors
    ///
    /// The bytes are not an object of the API.
    #[allow(clippy::needless_pass_by_value, reason = "an answer is handed over, not lent")]
    pub fn parse(kind: &Kind, answer: Bytes, own_manager: &str) -> Result<Self, ScanError> {
        let keep = KeepManagers::of("", &[own_manager.to_owned()]);
        Self::scan(kind, &Scanner::new(kind, false, keep), &answer)
    }

    /// An object as a scanner reads it.
    pub(crate) fn scan(kind: &Kind, scanner: &Scanner, answer: &[u8]) -> Result<Self, ScanError> {
        let mut scratch = Scratch::default();
        let header = scanner.scan(answer, &mut scratch)?.header(&scratch);
        // In an allocation of its exact size: what the first capacity leaves over would stay as long as the object.
        let body = Body::Plain(Bytes::from(scratch.body.into_boxed_slice()));
        Ok(Self::new(kind.clone(), Arc::new(header), body, false))
    }

    /// Decoded forms are kept where the object lies, and taken from there.
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Kind of the object.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.header.key
    }

    /// What is known without decoding.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The header, shared.
    #[must_use]
    pub fn header_arc(&self) -> Arc<Header> {
        Arc::clone(&self.header)
    }

    /// Whether only metadata is known (`PartialObjectMetadata`).
    #[must_use]
    pub fn metadata_only(&self) -> bool {
        self.metadata_only
    }

    /// The object as JSON, without the field managers of others. Each call may have to decompress it.
    #[must_use]
    pub fn json(&self) -> Bytes {
        self.body.json(&self.header)
    }

    /// How long the body is as it is held.
    #[cfg(test)]
    pub(crate) fn stored_length(&self) -> usize {
        self.body.length()
    }

    /// Digest of all but managedFields, resourceVersion and status: what "No-op skip" compares.
    #[must_use]
    pub fn content_digest(&self) -> u64 {
        self.header.content_digest
    }

    /// The decoded object. Recently decoded ones are shared.
    ///
    /// # Errors
    ///
    /// The body does not fit `K`, as when a field is missing that the Rust type demands.
    pub fn decode<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<K>, DecodeError> {
        if let Some(found) = self.place.as_ref().and_then(|place| place.hot::<K>(&self.header)) {
            return Ok(found);
        }
        let object = self
            .body
            .read(&self.header, |json| serde_json::from_slice::<K>(json))
            .map_err(|error| DecodeError {
                kind: self.kind.clone(),
                key: self.header.key.clone(),
                cause: decode_cause(&self.kind, &error),
            })?;
        let object = Arc::new(object);
        if let Some(place) = &self.place {
            place.keep(&self.header, &object);
        }
        Ok(object)
    }
}

/// Why a body does not decode. serde quotes what it finds; of a Secret that must not get into logs.
pub(crate) fn decode_cause(kind: &Kind, error: &serde_json::Error) -> String {
    if kind.kind() == "Secret" && kind.group().is_empty() {
        return format!(
            "a field does not fit, at line {} column {} (what a Secret holds is not quoted)",
            error.line(),
            error.column()
        );
    }
    error.to_string()
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("kind", &self.kind.kind())
            .field("key", &format_args!("{}", self.header.key))
            .field("version", &self.header.version)
            .field("bytes", &self.body.length())
            .finish_non_exhaustive()
    }
}

/// An object in the cluster that does not fit the Rust type it is read as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {key} does not fit its Rust type: {cause}; change the type or the object", kind = .kind.kind())]
pub struct DecodeError {
    /// Kind of the object.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// What serde says, with line and column.
    pub cause: String,
}
