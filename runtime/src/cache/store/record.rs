//! One stored object, read in place.

use std::sync::Arc;

use bytes::Bytes;

use super::Store;
use super::codec::{Codec, Contexts};
use super::packed::{self, Packed, Uid};
use crate::cache::fold;
use crate::delta::{Header, Labels, Version, finalizers_of, owners_of};
use crate::key::ObjectKey;

/// A stored object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    store: &'a Store,
    slot: u32,
}

/// A body that was taken out of its store.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The JSON itself.
    Plain(Bytes),
    /// As it was stored.
    Packed(Arc<PackedBody>),
}

#[derive(Debug)]
pub(crate) struct PackedBody {
    codec: Arc<Codec>,
    contexts: Arc<Contexts>,
    length: usize,
    bytes: Box<[u8]>,
}

impl<'a> Record<'a> {
    pub(super) fn new(store: &'a Store, slot: u32) -> Self {
        Self { store, slot }
    }

    pub(crate) fn slot(self) -> u32 {
        self.slot
    }

    pub(crate) fn key(self) -> ObjectKey {
        let (namespace, name) = packed::key(self.store.blob(self.slot));
        ObjectKey::new(Arc::clone(self.store.namespaces.text(namespace)), name)
    }

    pub(crate) fn namespace(self) -> &'a str {
        let (namespace, _) = packed::key(self.store.blob(self.slot));
        self.store.namespaces.text(namespace)
    }

    pub(crate) fn version(self) -> Version {
        packed::identity(self.store.blob(self.slot)).1
    }

    pub(crate) fn has_uid(self, uid: &str) -> bool {
        packed::identity(self.store.blob(self.slot)).0 == Uid::of(uid)
    }

    pub(crate) fn uid(self) -> Arc<str> {
        packed::identity(self.store.blob(self.slot)).0.to_text()
    }

    pub(crate) fn labels(self) -> Labels {
        let [labels, _, _] = packed::symbols(self.store.blob(self.slot));
        labels.map_or_else(Labels::default, |symbol| {
            Labels::of_text(Arc::clone(self.store.labels.text(symbol)))
        })
    }

    /// What is known without decoding.
    pub(crate) fn header(self) -> Header {
        let store = self.store;
        let packed = Packed::read(store.blob(self.slot));
        let shared = packed.shared;
        let labels = shared.labels.map(|symbol| Arc::clone(store.labels.text(symbol)));
        Header {
            key: ObjectKey::new(Arc::clone(store.namespaces.text(shared.namespace)), packed.name),
            uid: packed.uid.to_text(),
            version: packed.version,
            generation: packed.generation,
            labels: labels.map_or_else(Labels::default, Labels::of_text),
            owners: shared
                .owners
                .map_or_else(Box::default, |symbol| owners_of(store.owners.text(symbol))),
            finalizers: shared
                .finalizers
                .map_or_else(Box::default, |symbol| finalizers_of(store.finalizers.text(symbol))),
            deletion: packed.deletion,
            deletion_grace: packed.deletion_grace,
            created: packed.created,
            annotations_digest: packed.annotations_digest,
            spec_digest: packed.spec_digest,
            status_digest: packed.status_digest,
            content_digest: packed.content_digest,
        }
    }

    /// The body, as it is stored.
    pub(crate) fn body(self) -> Body {
        let body = packed::body(self.store.blob(self.slot));
        match body.codec {
            None => Body::Plain(Bytes::copy_from_slice(body.bytes)),
            Some(codec) => Body::Packed(Arc::new(PackedBody {
                codec: Arc::clone(self.store.codec(codec)),
                contexts: Arc::clone(&self.store.contexts),
                length: body.length,
                bytes: body.bytes.into(),
            })),
        }
    }

    /// How long the JSON is, and how much of it is stored.
    #[cfg(test)]
    pub(crate) fn sizes(self) -> (usize, usize) {
        let body = packed::body(self.store.blob(self.slot));
        (body.length, body.bytes.len())
    }
}

impl Body {
    /// Hands the JSON to `read`; `header` is that of the object.
    pub(crate) fn read<T>(&self, header: &Header, read: impl FnOnce(&[u8]) -> T) -> T {
        self.read_folded(|body| {
            if !fold::is_folded(body) {
                return read(body);
            }
            let mut json = Vec::new();
            fold::unfold(body, header, &mut json);
            read(&json)
        })
    }

    /// Hands the body to `read`, as it was given to the store.
    pub(crate) fn read_folded<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Plain(bytes) => read(bytes),
            Self::Packed(packed) => packed
                .contexts
                .decompress(&packed.codec, &packed.bytes, packed.length, read),
        }
    }

    /// The JSON; `header` is that of the object.
    pub(crate) fn json(&self, header: &Header) -> Bytes {
        match self {
            Self::Plain(bytes) if !fold::is_folded(bytes) => bytes.clone(),
            _ => self.read(header, Bytes::copy_from_slice),
        }
    }

    /// How long the body is.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Packed(packed) => packed.length,
        }
    }
}
