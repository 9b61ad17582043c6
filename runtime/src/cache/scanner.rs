//! From the JSON of an object to what the cache knows of it and its slim body, in one pass that builds nothing else.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;
use memchr::memchr;

use crate::cache::facts::{Facts, Identity, KeepManagers, ScanError, Scratch};
use crate::cache::fold::{self, Known, Part, Span};
use crate::cache::json::{Cursor, JsonError};
use crate::cache::strip::{StripPath, strip};
use crate::delta::{END, Labels, Version, push_label};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Scans the objects of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    /// `"apiVersion":…,"kind":…,` for items of lists that leave them out.
    type_meta: Arc<str>,
    keep: KeepManagers,
    strip: Arc<[StripPath]>,
}

impl Scanner {
    pub(crate) fn new(kind: &Kind, metadata_only: bool, keep: KeepManagers) -> Self {
        let (api_version, name) = if metadata_only {
            ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata")
        } else {
            (kind.api_version(), kind.kind())
        };
        let type_meta = format!("\"apiVersion\":\"{api_version}\",\"kind\":\"{name}\",").into();
        Self {
            type_meta,
            keep,
            strip: Arc::default(),
        }
    }

    /// Leaves out what lies at these paths, beside what every scanner leaves out.
    pub(crate) fn without(mut self, strip: &[StripPath]) -> Self {
        self.strip = strip.into();
        self
    }

    /// Reads no further than it must to tell the object and its version.
    pub(crate) fn identify<'a>(&self, text: &'a [u8]) -> Result<Identity<'a>, ScanError> {
        identify(text)
    }

    /// What can be told of an object that cannot be read: its name, and its version where that is there.
    pub(crate) fn recognise(&self, text: &[u8]) -> (Option<ObjectKey>, Option<Version>) {
        recognise(text)
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
        if let Some(at) = memchr(fold::MARK, &text[..end]) {
            return Err(JsonError {
                at,
                expected: "no control character",
            }
            .into());
        }
        if let Some(more) = text[end..].iter().position(|byte| !byte.is_ascii_whitespace()) {
            return Err(JsonError {
                at: end + more,
                expected: "the end",
            }
            .into());
        }
        let mut metadata = metadata.ok_or(ScanError::Missing("metadata"))?;
        let prefix = if typed == (true, true) { "" } else { &*self.type_meta };
        slim(&text[..end], prefix, &metadata, &mut scratch.body);
        if !self.strip.is_empty() {
            strip(&scratch.body, &self.strip, &mut scratch.stripped)?;
            std::mem::swap(&mut scratch.body, &mut scratch.stripped);
        }
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
        let mut spans = Vec::new();
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
            if let Some(part) = part_of(name) {
                spans.push((start..value.position(), part));
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
        let version = facts.version.as_str();
        let mut parts = scratch.owners.split_terminator(END);
        let owners: Vec<[&str; 4]> = std::iter::from_fn(|| {
            let owner = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
            parts.next().map(|_| owner)
        })
        .collect();
        let known = Known {
            name: &facts.name,
            namespace: &facts.namespace,
            uid: &facts.uid,
            version: &version,
            created: facts.created.as_deref(),
            labels: &scratch.labels,
            owners: &owners,
        };
        let folded = fold::foldable(text, spans, &known);
        Ok(Metadata {
            facts,
            managed,
            kept,
            folded,
        })
    }

    /// The raw entries of managedFields that stay.
    fn own_managers<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Vec<&'a [u8]>, JsonError> {
        let mut kept = Vec::new();
        each(cursor, |element| {
            let start = element.position();
            let mut ours = false;
            element.members(|key, value| {
                if key == b"manager" {
                    ours = value.text()?.is_some_and(|manager| self.keep.keeps(&manager));
                } else {
                    value.skip()?;
                }
                Ok::<(), JsonError>(())
            })?;
            if ours {
                kept.push(element.since(start));
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

/// As [`identify`], of whatever comes before the place where the text makes no sense.
fn recognise(text: &[u8]) -> (Option<ObjectKey>, Option<Version>) {
    let (mut name, mut namespace, mut version) = (None, None, None);
    // How far it could be read is all that is asked.
    let _ = Cursor::new(text).members(|member, value| {
        if member != b"metadata" {
            value.skip()?;
            return Ok(());
        }
        value.members(|member, value| {
            let text = match member {
                b"name" | b"namespace" | b"resourceVersion" => value.clone().text().unwrap_or_default(),
                _ => None,
            };
            match member {
                b"name" => name = text,
                b"namespace" => namespace = text,
                b"resourceVersion" => version = text.map(|text| Version::parse(&text)),
                _ => {}
            }
            value.skip()?;
            Ok::<(), JsonError>(())
        })
    });
    let key = name
        .filter(|name| !name.is_empty())
        .map(|name| ObjectKey::new(&*namespace.unwrap_or_default(), &*name));
    (key, version)
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
            push_label(text, key, value);
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
    /// What need not stand in the body, in the order of the text.
    folded: Vec<Span>,
}

/// What a member of the metadata is called in a header.
fn part_of(member: &[u8]) -> Option<Part> {
    Some(match member {
        b"name" => Part::Name,
        b"namespace" => Part::Namespace,
        b"uid" => Part::Uid,
        b"resourceVersion" => Part::Version,
        b"creationTimestamp" => Part::Created,
        b"labels" => Part::Labels,
        b"generateName" => Part::GenerateName,
        b"ownerReferences" => Part::Owners,
        _ => return None,
    })
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

/// Writes the text with managedFields cut down to what is kept, and without what headers hold.
fn slim(text: &[u8], prefix: &str, metadata: &Metadata<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.reserve(text.len() + prefix.len());
    let open = text.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
    out.extend_from_slice(&text[..open]);
    out.extend_from_slice(prefix.as_bytes());
    let Some(managed) = &metadata.managed else {
        return copy(text, open..text.len(), &metadata.folded, out);
    };
    let before = metadata.folded.partition_point(|(range, _)| range.end <= managed.start);
    let (before, after) = metadata.folded.split_at(before);
    if metadata.kept.is_empty() {
        let (start, end) = member_span(text, managed);
        copy(text, open..start, before, out);
        copy(text, end..text.len(), after, out);
    } else {
        copy(text, open..managed.start, before, out);
        out.push(b'[');
        out.extend_from_slice(&metadata.kept.join(&b','));
        out.push(b']');
        copy(text, managed.end..text.len(), after, out);
    }
}

/// Copies a part of the text without what is folded in it.
fn copy(text: &[u8], range: Range<usize>, folded: &[Span], out: &mut Vec<u8>) {
    let mut at = range.start;
    for (span, part) in folded {
        out.extend_from_slice(&text[at..span.start]);
        fold::fold(*part, out);
        at = span.end;
    }
    out.extend_from_slice(&text[at..range.end]);
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
