//! From the JSON of an object to its header and its slim body, in one pass that builds nothing else.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::FixedState;

use crate::cache::interner::Interner;
use crate::cache::json::{Cursor, JsonError};
use crate::delta::{Header, Labels, OwnerRef, Version};
use crate::key::ObjectKey;
use crate::kind::Kind;

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

    fn keeps(&self, manager: &str) -> bool {
        self.prefix.as_deref().is_some_and(|prefix| manager.starts_with(prefix))
            || self.names.iter().any(|name| {
                // The status of an object is applied under the manager's name and a suffix.
                manager == name || manager.strip_suffix("-status") == Some(name)
            })
    }
}

/// Scans the objects of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    /// `"apiVersion":…,"kind":…,` for items of lists that leave them out.
    type_meta: Arc<str>,
    keep: KeepManagers,
    interner: Arc<Interner>,
}

impl Scanner {
    pub(crate) fn new(kind: &Kind, metadata_only: bool, keep: KeepManagers, interner: Arc<Interner>) -> Self {
        let (api_version, name) = if metadata_only {
            ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata")
        } else {
            (kind.api_version(), kind.kind())
        };
        let type_meta = format!("\"apiVersion\":\"{api_version}\",\"kind\":\"{name}\",").into();
        Self {
            type_meta,
            keep,
            interner,
        }
    }

    /// Header and slim body of an object.
    pub(crate) fn scan(&self, text: &[u8]) -> Result<(Header, Bytes), ScanError> {
        let mut metadata = None;
        let mut typed = (false, false);
        let (mut spec, mut status) = (0_u64, 0_u64);
        let mut cursor = Cursor::new(text);
        cursor.members(|name, value| {
            match name {
                b"metadata" => metadata = Some(self.metadata(text, value)?),
                b"apiVersion" => {
                    typed.0 = true;
                    value.skip()?;
                }
                b"kind" => {
                    typed.1 = true;
                    value.skip()?;
                }
                b"status" => status = member_digest(name, value.raw()?),
                _ => spec = spec.wrapping_add(member_digest(name, value.raw()?)),
            }
            Ok::<(), ScanError>(())
        })?;
        let end = cursor.position();
        let mut metadata = metadata.ok_or(ScanError::Missing("metadata"))?;
        metadata.header.spec_digest = spec;
        metadata.header.status_digest = status;
        metadata.header.content_digest = metadata.header.content_digest.wrapping_add(spec);
        let prefix = if typed == (true, true) { "" } else { &*self.type_meta };
        let body = slim(&text[..end], prefix, &metadata);
        Ok((metadata.header, body))
    }

    fn metadata(&self, text: &[u8], cursor: &mut Cursor<'_>) -> Result<Metadata, ScanError> {
        let mut found = Found::default();
        let mut digest = 0_u64;
        let mut managed = None;
        let mut kept = Vec::new();
        cursor.members(|name, value| {
            let start = value.position();
            match name {
                b"name" => found.name = self.interned(value, false)?,
                b"namespace" => found.namespace = self.interned(value, true)?,
                b"uid" => found.uid = self.interned(value, false)?,
                b"resourceVersion" => found.version = value.text()?.map(|text| Version::parse(&text)),
                b"generation" => found.generation = value.integer()?,
                b"deletionTimestamp" => found.deletion = self.interned(value, false)?,
                b"deletionGracePeriodSeconds" => found.deletion_grace = value.integer()?,
                b"creationTimestamp" => found.created = self.interned(value, true)?,
                b"labels" => found.labels = self.labels(value)?,
                b"annotations" => found.annotations_digest = digest_of_map(value)?,
                b"ownerReferences" => found.owners = self.owners(value)?,
                b"finalizers" => found.finalizers = self.finalizers(value)?,
                b"managedFields" => {
                    kept = self.own_managers(value)?;
                    managed = Some(start..value.position());
                }
                _ => {
                    value.skip()?;
                }
            }
            if !matches!(name, b"resourceVersion" | b"managedFields") {
                digest = digest.wrapping_add(member_digest(name, &text[start..value.position()]));
            }
            Ok::<(), ScanError>(())
        })?;
        let header = Header {
            key: ObjectKey::new(
                found.namespace.unwrap_or_else(|| self.interner.get("")),
                found.name.ok_or(ScanError::Missing("metadata.name"))?,
            ),
            uid: found.uid.unwrap_or_else(|| self.interner.get("")),
            version: found.version.ok_or(ScanError::Missing("metadata.resourceVersion"))?,
            generation: found.generation,
            labels: found.labels,
            owners: found.owners,
            finalizers: found.finalizers,
            deletion: found.deletion,
            deletion_grace: found.deletion_grace,
            created: found.created,
            annotations_digest: found.annotations_digest,
            spec_digest: 0,
            status_digest: 0,
            content_digest: digest,
        };
        Ok(Metadata { header, managed, kept })
    }

    fn interned(&self, cursor: &mut Cursor<'_>, shared: bool) -> Result<Option<Arc<str>>, JsonError> {
        let text = cursor.text()?.filter(|text| !text.is_empty());
        Ok(text.map(|text| {
            if shared {
                self.interner.get(&text)
            } else {
                Arc::from(&*text)
            }
        }))
    }

    fn labels(&self, cursor: &mut Cursor<'_>) -> Result<Labels, JsonError> {
        if cursor.is_null() {
            cursor.skip()?;
            return Ok(Labels::default());
        }
        let mut pairs = Vec::new();
        cursor.members(|key, value| {
            // Keys of labels hold no character that JSON escapes.
            let key = self.interner.get(&String::from_utf8_lossy(key));
            let value = value.text()?.unwrap_or_default();
            pairs.push((key, self.interner.get(&value)));
            Ok::<(), JsonError>(())
        })?;
        Ok(Labels::new(pairs))
    }

    fn owners(&self, cursor: &mut Cursor<'_>) -> Result<Box<[OwnerRef]>, JsonError> {
        let mut owners = Vec::new();
        self.each(cursor, |element| {
            let (mut api_version, mut kind, mut name, mut uid, mut controller) = (None, None, None, None, false);
            element.members(|key, value| {
                match key {
                    b"apiVersion" => api_version = self.interned(value, true)?,
                    b"kind" => kind = self.interned(value, true)?,
                    b"name" => name = self.interned(value, true)?,
                    b"uid" => uid = self.interned(value, true)?,
                    b"controller" => controller = value.boolean()?,
                    _ => {
                        value.skip()?;
                    }
                }
                Ok::<(), JsonError>(())
            })?;
            let empty = || self.interner.get("");
            owners.push(OwnerRef {
                api_version: api_version.unwrap_or_else(empty),
                kind: kind.unwrap_or_else(empty),
                name: name.unwrap_or_else(empty),
                uid: uid.unwrap_or_else(empty),
                controller,
            });
            Ok(())
        })?;
        Ok(owners.into())
    }

    fn finalizers(&self, cursor: &mut Cursor<'_>) -> Result<Box<[Arc<str>]>, JsonError> {
        let mut finalizers = Vec::new();
        self.each(cursor, |element| {
            if let Some(finalizer) = self.interned(element, true)? {
                finalizers.push(finalizer);
            }
            Ok(())
        })?;
        Ok(finalizers.into())
    }

    /// The raw entries of managedFields that stay.
    fn own_managers(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Vec<u8>>, JsonError> {
        let mut kept = Vec::new();
        self.each(cursor, |element| {
            let entry = element.raw()?;
            let mut ours = false;
            Cursor::new(entry).members(|key, value| {
                if key == b"manager" {
                    ours = value.text()?.is_some_and(|manager| self.keep.keeps(&manager));
                } else {
                    value.skip()?;
                }
                Ok::<(), JsonError>(())
            })?;
            if ours {
                kept.push(entry.to_vec());
            }
            Ok(())
        })?;
        Ok(kept)
    }

    #[allow(clippy::unused_self, reason = "reads as the others do")]
    fn each<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        visit: impl FnMut(&mut Cursor<'a>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        if cursor.is_null() {
            cursor.skip()?;
            return Ok(());
        }
        cursor.elements(visit)
    }
}

/// What one pass over `metadata` gives.
struct Metadata {
    header: Header,
    /// Where the value of managedFields lies in the text.
    managed: Option<Range<usize>>,
    kept: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Found {
    name: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    uid: Option<Arc<str>>,
    version: Option<Version>,
    generation: Option<i64>,
    labels: Labels,
    owners: Box<[OwnerRef]>,
    finalizers: Box<[Arc<str>]>,
    deletion: Option<Arc<str>>,
    deletion_grace: Option<i64>,
    created: Option<Arc<str>>,
    annotations_digest: u64,
}

/// A digest of bytes; the same within one build of the program, not across.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = HASHES.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

const HASHES: FixedState = FixedState::with_seed(0x6b75_6265_7772_6967);

/// Members are summed, so that their order does not matter.
fn member_digest(name: &[u8], value: &[u8]) -> u64 {
    let mut hasher = HASHES.build_hasher();
    hasher.write(name);
    hasher.write_u8(b':');
    hasher.write(value);
    hasher.finish()
}

fn digest_of_map(cursor: &mut Cursor<'_>) -> Result<u64, JsonError> {
    if cursor.is_null() {
        cursor.skip()?;
        return Ok(0);
    }
    let mut sum = 0_u64;
    cursor.members(|key, value| {
        sum = sum.wrapping_add(member_digest(key, value.raw()?));
        Ok::<(), JsonError>(())
    })?;
    Ok(sum)
}

/// The text with managedFields cut down to what is kept, in an allocation of its exact size.
fn slim(text: &[u8], prefix: &str, metadata: &Metadata) -> Bytes {
    let mut out = Vec::with_capacity(text.len() + prefix.len());
    let open = text.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
    out.extend_from_slice(&text[..open]);
    out.extend_from_slice(prefix.as_bytes());
    match &metadata.managed {
        None => out.extend_from_slice(&text[open..]),
        Some(managed) if metadata.kept.is_empty() => {
            let (start, end) = member_span(text, managed);
            out.extend_from_slice(&text[open..start]);
            out.extend_from_slice(&text[end..]);
        }
        Some(managed) => {
            out.extend_from_slice(&text[open..managed.start]);
            out.push(b'[');
            out.extend_from_slice(&metadata.kept.join(&b','));
            out.push(b']');
            out.extend_from_slice(&text[managed.end..]);
        }
    }
    // A shrunk copy: what the first capacity leaves over would stay for as long as the object.
    Bytes::from(out.into_boxed_slice())
}

/// Widens the span of a member's value to the whole member with one of its commas.
fn member_span(text: &[u8], value: &Range<usize>) -> (usize, usize) {
    // Backwards over `: "managedFields"`, which stands there as the scanner just read it.
    let mut start = text[..value.start]
        .windows(15)
        .rposition(|window| window == b"\"managedFields\"")
        .unwrap_or(value.start);
    let mut end = value.end;
    let before = text[..start].iter().rposition(|byte| !byte.is_ascii_whitespace());
    let after = text[end..].iter().position(|byte| !byte.is_ascii_whitespace());
    match (before, after) {
        (Some(comma), _) if text[comma] == b',' => start = comma,
        (_, Some(comma)) if text[end + comma] == b',' => end += comma + 1,
        _ => {}
    }
    (start, end)
}

#[cfg(test)]
#[path = "scanner_tests.rs"]
mod tests;
