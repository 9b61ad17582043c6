//! How one object lies in its page: what is known of it without decoding, and its body.
//!
//! ```text
//! slot u32 │ room u32 │ namespace u32 │ length of name u16 │ name │ flags u16 │ uid │ version │ … │ digests │ body
//! ```
//!
//! Numbers are little-endian where a width is given, else of seven bits a byte. What an object has not takes no room.

use std::sync::Arc;

use super::pages::HEAD;
use super::symbols::Symbol;
use super::values::Time;
pub(crate) use super::values::Uid;
use crate::cache::facts::Facts;
use crate::delta::Version;

const UID_TEXT: u16 = 1;
const VERSION_TEXT: u16 = 1 << 1;
const GENERATION: u16 = 1 << 2;
const CREATED: u16 = 1 << 3;
const CREATED_TEXT: u16 = 1 << 4;
const DELETION: u16 = 1 << 5;
const DELETION_TEXT: u16 = 1 << 6;
const GRACE: u16 = 1 << 7;
const ANNOTATIONS: u16 = 1 << 8;
const SPEC: u16 = 1 << 9;
const STATUS: u16 = 1 << 10;
const COMPRESSED: u16 = 1 << 11;

const NAME: usize = HEAD + 6;

/// The strings of an object that others share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) namespace: Symbol,
    pub(crate) labels: Option<Symbol>,
    pub(crate) owners: Option<Symbol>,
    pub(crate) finalizers: Option<Symbol>,
}

/// A body as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    /// The codec that it is under; `None` where it is JSON as it was.
    pub(crate) codec: Option<u8>,
    /// How long the JSON is.
    pub(crate) length: usize,
    pub(crate) bytes: &'a [u8],
}

/// One object in its page.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) name: &'a str,
    pub(crate) shared: Shared,
    pub(crate) uid: Uid<'a>,
    pub(crate) version: Version,
    pub(crate) generation: Option<i64>,
    pub(crate) created: Option<Arc<str>>,
    pub(crate) deletion: Option<Arc<str>>,
    pub(crate) deletion_grace: Option<i64>,
    pub(crate) annotations_digest: u64,
    pub(crate) spec_digest: u64,
    pub(crate) status_digest: u64,
    pub(crate) content_digest: u64,
}

/// Writes a blob; its head is left to the pages. False for a name that no object can have.
pub(crate) fn encode(out: &mut Vec<u8>, facts: &Facts<'_>, shared: Shared, body: Stored<'_>) -> bool {
    let Ok(name) = u16::try_from(facts.name.len()) else {
        return false;
    };
    out.clear();
    out.resize(HEAD, 0);
    out.extend_from_slice(&shared.namespace.to_le_bytes());
    out.extend_from_slice(&name.to_le_bytes());
    out.extend_from_slice(facts.name.as_bytes());
    let uid = Uid::of(&facts.uid);
    let (created, deletion) = (Time::of(facts.created.as_deref()), Time::of(facts.deletion.as_deref()));
    let flag = |set: bool, flag: u16| if set { flag } else { 0 };
    let flags = flag(matches!(uid, Uid::Text(_)), UID_TEXT)
        | flag(facts.version.number().is_none(), VERSION_TEXT)
        | flag(facts.generation.is_some(), GENERATION)
        | created.flags(CREATED, CREATED_TEXT)
        | deletion.flags(DELETION, DELETION_TEXT)
        | flag(facts.deletion_grace.is_some(), GRACE)
        | flag(facts.annotations_digest != 0, ANNOTATIONS)
        | flag(facts.spec_digest != 0, SPEC)
        | flag(facts.status_digest != 0, STATUS)
        | flag(body.codec.is_some(), COMPRESSED);
    out.extend_from_slice(&flags.to_le_bytes());
    match uid {
        Uid::Uuid(number) => out.extend_from_slice(&number.to_le_bytes()),
        Uid::Text(text) => put_text(out, text),
    }
    match facts.version.number() {
        Some(number) => put(out, number),
        None => put_text(out, &facts.version.as_str()),
    }
    if let Some(generation) = facts.generation {
        put(out, zigzag(generation));
    }
    created.put(out);
    deletion.put(out);
    if let Some(grace) = facts.deletion_grace {
        put(out, zigzag(grace));
    }
    for symbol in [shared.labels, shared.owners, shared.finalizers] {
        put(out, symbol.map_or(0, |symbol| u64::from(symbol) + 1));
    }
    for digest in [facts.annotations_digest, facts.spec_digest, facts.status_digest] {
        if digest != 0 {
            out.extend_from_slice(&digest.to_le_bytes());
        }
    }
    out.extend_from_slice(&facts.content_digest.to_le_bytes());
    put_body(out, body);
    true
}

/// Copies a blob with another body.
pub(crate) fn with_body(out: &mut Vec<u8>, blob: &[u8], body: Stored<'_>) {
    let end = Reader::at_body(blob).at;
    out.clear();
    out.extend_from_slice(&blob[..end]);
    let at = NAME + usize::from(u16_at(blob, HEAD + 4));
    let flags = u16_at(blob, at) & !COMPRESSED | if body.codec.is_some() { COMPRESSED } else { 0 };
    out[at..at + 2].copy_from_slice(&flags.to_le_bytes());
    put_body(out, body);
}

/// Namespace and name.
pub(crate) fn key(blob: &[u8]) -> (Symbol, &str) {
    let (namespace, name) = key_bytes(blob);
    (namespace, text(name))
}

/// As [`key`], for who only compares.
pub(crate) fn key_bytes(blob: &[u8]) -> (Symbol, &[u8]) {
    let length = usize::from(u16_at(blob, HEAD + 4));
    let namespace = u32::from_le_bytes(*blob[HEAD..].first_chunk().expect("a blob has a namespace"));
    (namespace, &blob[NAME..NAME + length])
}

/// What tells one version of an object from another.
pub(crate) fn identity(blob: &[u8]) -> (Uid<'_>, Version) {
    let mut reader = Reader::new(blob);
    (reader.uid(), reader.version())
}

/// Labels, owners and finalizers.
pub(crate) fn symbols(blob: &[u8]) -> [Option<Symbol>; 3] {
    let mut reader = Reader::new(blob);
    reader.uid();
    reader.version();
    reader.skip_to_symbols();
    [reader.symbol(), reader.symbol(), reader.symbol()]
}

/// How long a blob is without the room that it leaves unused.
pub(crate) fn length(blob: &[u8]) -> usize {
    let mut reader = Reader::at_body(blob);
    reader.body();
    reader.at
}

/// The body.
pub(crate) fn body(blob: &[u8]) -> Stored<'_> {
    Reader::at_body(blob).body()
}

impl<'a> Packed<'a> {
    pub(crate) fn read(blob: &'a [u8]) -> Self {
        let (namespace, name) = key(blob);
        let mut reader = Reader::new(blob);
        // In the order in which they were written.
        let (uid, version) = (reader.uid(), reader.version());
        let generation = reader.has(GENERATION).then(|| unzigzag(reader.number()));
        let created = reader.time(CREATED, CREATED_TEXT);
        let deletion = reader.time(DELETION, DELETION_TEXT);
        let deletion_grace = reader.has(GRACE).then(|| unzigzag(reader.number()));
        let (labels, owners, finalizers) = (reader.symbol(), reader.symbol(), reader.symbol());
        let annotations_digest = reader.digest(ANNOTATIONS);
        let spec_digest = reader.digest(SPEC);
        let status_digest = reader.digest(STATUS);
        let content_digest = reader.fixed();
        Self {
            name,
            shared: Shared {
                namespace,
                labels,
                owners,
                finalizers,
            },
            uid,
            version,
            generation,
            created,
            deletion,
            deletion_grace,
            annotations_digest,
            spec_digest,
            status_digest,
            content_digest,
        }
    }
}

struct Reader<'a> {
    blob: &'a [u8],
    at: usize,
    flags: u16,
}

impl<'a> Reader<'a> {
    /// After the flags.
    fn new(blob: &'a [u8]) -> Self {
        let at = NAME + usize::from(u16_at(blob, HEAD + 4));
        Self {
            blob,
            at: at + 2,
            flags: u16_at(blob, at),
        }
    }

    fn at_body(blob: &'a [u8]) -> Self {
        let mut reader = Self::new(blob);
        reader.uid();
        reader.version();
        reader.skip_to_symbols();
        for _ in 0..3 {
            reader.number();
        }
        for flag in [ANNOTATIONS, SPEC, STATUS] {
            reader.digest(flag);
        }
        reader.fixed();
        reader
    }

    fn skip_to_symbols(&mut self) {
        if self.has(GENERATION) {
            self.number();
        }
        for (is, is_text) in [(CREATED, CREATED_TEXT), (DELETION, DELETION_TEXT)] {
            if self.has(is_text) {
                self.text();
            } else if self.has(is) {
                self.number();
            }
        }
        if self.has(GRACE) {
            self.number();
        }
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn uid(&mut self) -> Uid<'a> {
        if self.has(UID_TEXT) {
            return Uid::Text(self.text());
        }
        let bytes = self.blob[self.at..].first_chunk().expect("a uid of 16 bytes");
        self.at += 16;
        Uid::Uuid(u128::from_le_bytes(*bytes))
    }

    fn version(&mut self) -> Version {
        if self.has(VERSION_TEXT) {
            Version::parse(self.text())
        } else {
            Version::of_number(self.number())
        }
    }

    fn time(&mut self, is: u16, is_text: u16) -> Option<Arc<str>> {
        if self.has(is_text) {
            Some(Arc::from(self.text()))
        } else if self.has(is) {
            Some(Time::print(self.number()))
        } else {
            None
        }
    }

    fn symbol(&mut self) -> Option<Symbol> {
        let number = self.number().checked_sub(1)?;
        u32::try_from(number).ok()
    }

    fn digest(&mut self, flag: u16) -> u64 {
        if self.has(flag) { self.fixed() } else { 0 }
    }

    fn fixed(&mut self) -> u64 {
        let bytes = self.blob[self.at..].first_chunk().expect("a digest of 8 bytes");
        self.at += 8;
        u64::from_le_bytes(*bytes)
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.blob[self.at];
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn length(&mut self) -> usize {
        usize::try_from(self.number()).unwrap_or(usize::MAX)
    }

    fn text(&mut self) -> &'a str {
        let length = self.length();
        let bytes = &self.blob[self.at..self.at + length];
        self.at += length;
        text(bytes)
    }

    fn body(&mut self) -> Stored<'a> {
        let length = self.length();
        let (codec, stored) = if self.has(COMPRESSED) {
            let codec = self.blob[self.at];
            self.at += 1;
            (Some(codec), self.length())
        } else {
            (None, length)
        };
        let start = self.at;
        self.at += stored;
        Stored {
            codec,
            length,
            bytes: &self.blob[start..self.at],
        }
    }
}

fn put_body(out: &mut Vec<u8>, body: Stored<'_>) {
    put(out, body.length as u64);
    if let Some(codec) = body.codec {
        out.push(codec);
        put(out, body.bytes.len() as u64);
    }
    out.extend_from_slice(body.bytes);
}

pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn u16_at(blob: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*blob[at..].first_chunk().expect("a blob is longer than its head"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text was written as such")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn facts() -> Facts<'static> {
        Facts {
            name: "web".into(),
            namespace: "shop".into(),
            uid: "0bf6037a-7e50-416f-a8c9-f774471f5360".into(),
            version: Version::parse("42"),
            generation: Some(-3),
            deletion: None,
            deletion_grace: None,
            created: Some("2026-07-18T01:23:43Z".into()),
            annotations_digest: 0,
            spec_digest: 7,
            status_digest: 0,
            content_digest: 9,
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_missing_stays_missing() {
        let strange: Vec<fn(&mut Facts<'static>)> = vec![
            |_| {},
            |f| f.uid = "0BF6037A-7e50-416f-a8c9-f774471f5360".into(),
            |f| f.uid = Cow::Borrowed(""),
            |f| f.version = Version::parse("abc"),
            |f| f.created = Some("2026-07-18T01:23:43.5Z".into()),
            |f| f.created = None,
            |f| f.deletion = Some("2026-07-18T01:23:4xZ".into()),
            |f| (f.deletion, f.deletion_grace) = (Some("2026-12-31T23:59:59Z".into()), Some(30)),
            |f| (f.generation, f.status_digest, f.annotations_digest) = (None, u64::MAX, 1),
        ];
        let shared = Shared {
            namespace: 3,
            labels: Some(0),
            owners: None,
            finalizers: Some(300),
        };
        for (index, change) in strange.iter().enumerate() {
            let mut facts = facts();
            change(&mut facts);
            let mut blob = Vec::new();
            let body = Stored {
                codec: Some(5),
                length: 1000,
                bytes: b"body",
            };
            assert!(encode(&mut blob, &facts, shared, body));
            let mut plain = Vec::new();
            with_body(
                &mut plain,
                &blob,
                Stored {
                    codec: None,
                    length: 2,
                    bytes: b"{}",
                },
            );
            for (blob, codec, bytes) in [(&blob, Some(5), &b"body"[..]), (&plain, None, b"{}")] {
                let read = Packed::read(blob);
                assert_eq!(key(blob), (3, "web"));
                assert_eq!(identity(blob), (read.uid, read.version.clone()));
                assert_eq!(&*read.uid.to_text(), &*facts.uid, "{index}");
                assert_eq!(read.version, facts.version);
                assert_eq!(read.generation, facts.generation);
                assert_eq!(read.created.as_deref(), facts.created.as_deref());
                assert_eq!(read.deletion.as_deref(), facts.deletion.as_deref());
                assert_eq!(read.deletion_grace, facts.deletion_grace);
                assert_eq!(symbols(blob), [Some(0), None, Some(300)]);
                assert_eq!(
                    [
                        read.annotations_digest,
                        read.spec_digest,
                        read.status_digest,
                        read.content_digest
                    ],
                    [
                        facts.annotations_digest,
                        facts.spec_digest,
                        facts.status_digest,
                        facts.content_digest
                    ]
                );
                assert_eq!(body_of(blob), (codec, bytes));
            }
        }
    }

    fn body_of(blob: &[u8]) -> (Option<u8>, &[u8]) {
        let body = body(blob);
        (body.codec, body.bytes)
    }
}
