//! From the JSON of an object to what the cache knows of it and its slim body, in one pass that builds nothing else.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::cache::json::{Cursor, JsonError};
use crate::delta::{END, Header, Labels, Version, finalizers_of, owners_of};
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

impl Scanner {
    pub(crate) fn new(kind: &Kind, metadata_only: bool, keep: KeepManagers) -> Self {
        let (api_version, name) = if metadata_only {
            ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata")
        } else {
            (kind.api_version(), kind.kind())
        };
        let type_meta = format!("\"apiVersion\":\"{api_version}\",\"kind\":\"{name}\",").into();
        Self { type_meta, keep }
    }

    /// Reads no further than it must to tell the object and its version.
    pub(crate) fn identify<'a>(&self, text: &'a [u8]) -> Result<Identity<'a>, ScanError> {
        identify(text)
    }

    /// The facts of an object; labels, owners, finalizers and the slim body are left in `scratch`.
    pub(crate) fn scan<'a>(&self, text: &'a [u8], scratch: &mut Scratch) -> Result<Facts<'a>, ScanError> {
        let mut metadata = None;
        let mut typed = (false, false);
        let (mut spec, mut status) = (0_u64, 0_u64);
        let mut cursor = Cursor::new(text);
        cursor.members(|name, value| {
            match name {
                b"metadata" => metadata = Some(self.metadata(text, value, scratch)?),
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
        let prefix = if typed == (true, true) { "" } else { &*self.type_meta };
        slim(&text[..end], prefix, &metadata, &mut scratch.body);
        metadata.facts.spec_digest = spec;
        metadata.facts.status_digest = status;
        metadata.facts.content_digest = metadata.facts.content_digest.wrapping_add(spec);
        Ok(metadata.facts)
    }

    fn metadata<'a>(
        &self,
        text: &'a [u8],
        cursor: &mut Cursor<'a>,
        scratch: &mut Scratch,
    ) -> Result<Metadata<'a>, ScanError> {
        let mut found = Found::default();
        let mut digest = 0_u64;
        let mut managed = None;
        let mut kept = Vec::new();
        scratch.labels.clear();
        scratch.owners.clear();
        scratch.finalizers.clear();
        cursor.members(|name, value| {
            let start = value.position();
            match name {
                b"name" => found.name = value.text()?,
                b"namespace" => found.namespace = value.text()?,
                b"uid" => found.uid = value.text()?,
                b"resourceVersion" => found.version = value.text()?.map(|text| Version::parse(&text)),
                b"generation" => found.generation = value.integer()?,
                b"deletionTimestamp" => found.deletion = value.text()?.filter(|text| !text.is_empty()),
                b"deletionGracePeriodSeconds" => found.deletion_grace = value.integer()?,
                b"creationTimestamp" => found.created = value.text()?.filter(|text| !text.is_empty()),
                b"labels" => labels(value, &mut scratch.labels)?,
                b"annotations" => found.annotations_digest = digest_of_map(value)?,
                b"ownerReferences" => owners(value, &mut scratch.owners)?,
                b"finalizers" => finalizers(value, &mut scratch.finalizers)?,
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
        let facts = Facts {
            name: found
                .name
                .filter(|name| !name.is_empty())
                .ok_or(ScanError::Missing("metadata.name"))?,
            namespace: found.namespace.unwrap_or_default(),
            uid: found.uid.unwrap_or_default(),
            version: found.version.ok_or(ScanError::Missing("metadata.resourceVersion"))?,
            generation: found.generation,
            deletion: found.deletion,
            deletion_grace: found.deletion_grace,
            created: found.created,
            annotations_digest: found.annotations_digest,
            spec_digest: 0,
            status_digest: 0,
            content_digest: digest,
        };
        Ok(Metadata { facts, managed, kept })
    }

    /// The raw entries of managedFields that stay.
    fn own_managers<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Vec<&'a [u8]>, JsonError> {
        let mut kept = Vec::new();
        each(cursor, |element| {
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
                kept.push(entry);
            }
            Ok(())
        })?;
        Ok(kept)
    }
}

fn identify(text: &[u8]) -> Result<Identity<'_>, ScanError> {
    let mut found = Found::default();
    let mut seen = false;
    Cursor::new(text).members(|name, value| {
        if name != b"metadata" {
            value.skip()?;
            return Ok(());
        }
        seen = true;
        value.members(|name, value| {
            match name {
                b"name" => found.name = value.text()?,
                b"namespace" => found.namespace = value.text()?,
                b"uid" => found.uid = value.text()?,
                b"resourceVersion" => found.version = value.text()?.map(|text| Version::parse(&text)),
                _ => {
                    value.skip()?;
                }
            }
            Ok::<(), ScanError>(())
        })
    })?;
    if !seen {
        return Err(ScanError::Missing("metadata"));
    }
    Ok(Identity {
        name: found
            .name
            .filter(|name| !name.is_empty())
            .ok_or(ScanError::Missing("metadata.name"))?,
        namespace: found.namespace.unwrap_or_default(),
        uid: found.uid.unwrap_or_default(),
        version: found.version.ok_or(ScanError::Missing("metadata.resourceVersion"))?,
    })
}

fn labels(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), JsonError> {
    if cursor.is_null() {
        cursor.skip()?;
        return Ok(());
    }
    let mut pairs = Vec::new();
    let mut sorted = true;
    cursor.members(|key, value| {
        // Keys of labels hold no character that JSON escapes.
        let key = String::from_utf8_lossy(key);
        sorted &= pairs.last().is_none_or(|(last, _)| *last < key);
        pairs.push((key, value.text()?.unwrap_or_default()));
        Ok::<(), JsonError>(())
    })?;
    // Servers write maps in the order of their keys.
    if sorted {
        for (key, value) in &pairs {
            push(text, key);
            push(text, value);
        }
    } else {
        text.push_str(Labels::new(pairs).text());
    }
    Ok(())
}

fn owners(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), JsonError> {
    each(cursor, |element| {
        let mut parts: [Cow<'_, str>; 4] = Default::default();
        let mut controller = false;
        element.members(|key, value| {
            let part = match key {
                b"apiVersion" => 0,
                b"kind" => 1,
                b"name" => 2,
                b"uid" => 3,
                b"controller" => {
                    controller = value.boolean()?;
                    return Ok(());
                }
                _ => {
                    value.skip()?;
                    return Ok(());
                }
            };
            parts[part] = value.text()?.unwrap_or_default();
            Ok::<(), JsonError>(())
        })?;
        for part in &parts {
            push(text, part);
        }
        push(text, if controller { "1" } else { "" });
        Ok(())
    })
}

fn finalizers(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), JsonError> {
    each(cursor, |element| {
        if let Some(finalizer) = element.text()?.filter(|text| !text.is_empty()) {
            push(text, &finalizer);
        }
        Ok(())
    })
}

fn push(text: &mut String, part: &str) {
    if part.contains(END) {
        text.extend(part.chars().filter(|c| *c != END));
    } else {
        text.push_str(part);
    }
    text.push(END);
}

fn each<'a>(
    cursor: &mut Cursor<'a>,
    visit: impl FnMut(&mut Cursor<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    if cursor.is_null() {
        cursor.skip()?;
        return Ok(());
    }
    cursor.elements(visit)
}

/// What one pass over `metadata` gives.
struct Metadata<'a> {
    facts: Facts<'a>,
    /// Where the value of managedFields lies in the text.
    managed: Option<Range<usize>>,
    kept: Vec<&'a [u8]>,
}

#[derive(Default)]
struct Found<'a> {
    name: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    uid: Option<Cow<'a, str>>,
    version: Option<Version>,
    generation: Option<i64>,
    deletion: Option<Cow<'a, str>>,
    deletion_grace: Option<i64>,
    created: Option<Cow<'a, str>>,
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

/// Writes the text with managedFields cut down to what is kept.
fn slim(text: &[u8], prefix: &str, metadata: &Metadata<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.reserve(text.len() + prefix.len());
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
