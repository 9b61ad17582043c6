//! One cached object: its header, its slim JSON, and the decoded form on demand.

use std::any::{Any, TypeId};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use foldhash::fast::FixedState;
use serde::de::DeserializeOwned;

use crate::cache::scanner::{KeepManagers, ScanError, Scanner};
use crate::delta::Header;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// An object as the cache holds it. Cheap to clone; never changes.
#[derive(Clone)]
pub struct Cached {
    header: Arc<Header>,
    body: Bytes,
    kind: Kind,
    metadata_only: bool,
    hot: Option<Arc<Hot>>,
}

impl Cached {
    pub(crate) fn new(kind: Kind, header: Arc<Header>, body: Bytes, metadata_only: bool) -> Self {
        Self {
            header,
            body,
            kind,
            metadata_only,
            hot: None,
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
        let (header, body) = Scanner::new(kind, false, keep, Arc::default()).scan(&answer)?;
        Ok(Self::new(kind.clone(), Arc::new(header), body, false))
    }

    /// Decoded forms are kept in, and taken from, this set.
    pub(crate) fn with_hot(mut self, hot: Arc<Hot>) -> Self {
        self.hot = Some(hot);
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

    /// The object as JSON, without the field managers of others.
    #[must_use]
    pub fn json(&self) -> Bytes {
        self.body.clone()
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
        if let Some(found) = self.hot.as_ref().and_then(|hot| hot.get::<K>(&self.header)) {
            return Ok(found);
        }
        let object = serde_json::from_slice::<K>(&self.body).map_err(|error| DecodeError {
            kind: self.kind.clone(),
            key: self.header.key.clone(),
            cause: error.to_string(),
        })?;
        let object = Arc::new(object);
        if let Some(hot) = &self.hot {
            hot.put(&self.header, Arc::clone(&object));
        }
        Ok(object)
    }
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("kind", &self.kind.kind())
            .field("key", &format_args!("{}", self.header.key))
            .field("version", &self.header.version)
            .field("bytes", &self.body.len())
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

/// The bounded set of decoded objects of one informer: the newest form of each, and what was not asked for since the
/// last round goes first.
pub(crate) struct Hot {
    limit: usize,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_object: HashMap<Slot, HotEntry, FixedState>,
    /// Every key of the map once, in the order in which it is considered for leaving.
    round: VecDeque<Slot>,
}

/// Uid and the type it was decoded as.
type Slot = (Arc<str>, TypeId);

struct HotEntry {
    header: Arc<Header>,
    object: Arc<dyn Any + Send + Sync>,
    asked: bool,
}

impl Hot {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            entries: Mutex::default(),
        }
    }

    fn get<K: Send + Sync + 'static>(&self, header: &Arc<Header>) -> Option<Arc<K>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (Arc::clone(&header.uid), TypeId::of::<K>());
        let entry = entries.by_object.get_mut(&slot)?;
        if !Arc::ptr_eq(&entry.header, header) {
            return None;
        }
        entry.asked = true;
        Arc::clone(&entry.object).downcast().ok()
    }

    fn put<K: Send + Sync + 'static>(&self, header: &Arc<Header>, object: Arc<K>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (Arc::clone(&header.uid), TypeId::of::<K>());
        let entry = HotEntry {
            header: Arc::clone(header),
            object,
            asked: false,
        };
        if entries.by_object.insert(slot.clone(), entry).is_none() {
            entries.round.push_back(slot);
        }
        entries.shrink_to(self.limit);
    }
}

impl Entries {
    fn shrink_to(&mut self, limit: usize) {
        while self.by_object.len() > limit {
            let Some(slot) = self.round.pop_front() else { return };
            match self.by_object.get_mut(&slot) {
                Some(entry) if entry.asked => {
                    entry.asked = false;
                    self.round.push_back(slot);
                }
                _ => {
                    self.by_object.remove(&slot);
                }
            }
        }
    }
}
