//! Bodies without what headers hold: name, uid, labels, owners and the like stand in a body as two bytes, and are written
//! out again when it is read.
//!
//! A quarter of a small object is its metadata, and most of what no dictionary foresees in an object are its names. Both
//! are packed in the header already. A value is folded only where it is written out byte for byte as it was.

use std::ops::Range;

use memchr::memchr;

use crate::delta::{Header, Labels};

/// Stands before the letter of what was folded. It occurs in no JSON, where control characters are escaped.
pub(crate) const MARK: u8 = 1;

/// What may be folded, by the letter that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Name,
    Namespace,
    Uid,
    Version,
    Created,
    Labels,
    /// The name less the five letters that the server appended to it.
    GenerateName,
    /// Owners as built-in kinds write them.
    Owners,
    /// Owners with their members in alphabetical order, as custom kinds write them.
    OwnersByName,
}

/// A value that may be folded, and where it stands.
pub(crate) type Span = (Range<usize>, Part);

/// How many letters the server appends to `generateName`.
const GENERATED: usize = 5;

impl Part {
    const ALL: [Self; 9] = [
        Self::Name,
        Self::Namespace,
        Self::Uid,
        Self::Version,
        Self::Created,
        Self::Labels,
        Self::GenerateName,
        Self::Owners,
        Self::OwnersByName,
    ];

    fn letter(self) -> u8 {
        match self {
            Self::Name => b'n',
            Self::Namespace => b's',
            Self::Uid => b'u',
            Self::Version => b'v',
            Self::Created => b'c',
            Self::Labels => b'l',
            Self::GenerateName => b'g',
            Self::Owners => b'o',
            Self::OwnersByName => b'O',
        }
    }

    fn of(letter: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.letter() == letter)
    }
}

/// What is written in the place of folded values.
pub(crate) struct Known<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
    pub(crate) created: Option<&'a str>,
    /// Text of [`Labels`].
    pub(crate) labels: &'a str,
    /// apiVersion, kind, name and uid of each.
    pub(crate) owners: &'a [[&'a str; 4]],
}

impl Known<'_> {
    fn write(&self, part: Part, out: &mut Vec<u8>) {
        match part {
            Part::Name => string(out, self.name),
            Part::Namespace => string(out, self.namespace),
            Part::Uid => string(out, self.uid),
            Part::Version => string(out, self.version),
            Part::Created => string(out, self.created.unwrap_or_default()),
            Part::Labels => labels(out, self.labels),
            Part::GenerateName => {
                let end = self.name.len().saturating_sub(GENERATED);
                string(out, self.name.get(..end).unwrap_or_default());
            }
            Part::Owners => owners(out, self.owners, "", ",\"controller\":true,\"blockOwnerDeletion\":true"),
            Part::OwnersByName => owners(out, self.owners, "\"blockOwnerDeletion\":true,\"controller\":true,", ""),
        }
    }
}

/// Which of the values are written out as they stand, in order.
pub(crate) fn foldable(text: &[u8], spans: Vec<Span>, known: &Known<'_>) -> Vec<Span> {
    let mut written = Vec::new();
    let mut fits = |(range, part): &Span| {
        written.clear();
        known.write(*part, &mut written);
        text[range.clone()] == *written
    };
    let mut found = Vec::with_capacity(spans.len());
    for span in spans {
        if fits(&span) {
            found.push(span);
        } else if span.1 == Part::Owners {
            let by_name = (span.0, Part::OwnersByName);
            if fits(&by_name) {
                found.push(by_name);
            }
        }
    }
    found
}

/// Writes what stands for a value.
pub(crate) fn fold(part: Part, out: &mut Vec<u8>) {
    out.extend_from_slice(&[MARK, part.letter()]);
}

/// Whether anything is folded in a body.
pub(crate) fn is_folded(body: &[u8]) -> bool {
    memchr(MARK, body).is_some()
}

/// Writes a body out.
pub(crate) fn unfold(body: &[u8], header: &Header, out: &mut Vec<u8>) {
    let version = header.version.as_str();
    let owners: Vec<[&str; 4]> = header
        .owners
        .iter()
        .map(|owner| [&*owner.api_version, &owner.kind, &owner.name, &owner.uid])
        .collect();
    let known = Known {
        name: &header.key.name,
        namespace: &header.key.namespace,
        uid: &header.uid,
        version: &version,
        created: header.created.as_deref(),
        labels: header.labels.text(),
        owners: &owners,
    };
    out.clear();
    // About what the values of most objects take.
    out.reserve(body.len() + 1024);
    let mut rest = body;
    while let Some(at) = memchr(MARK, rest) {
        out.extend_from_slice(&rest[..at]);
        if let Some(part) = rest.get(at + 1).copied().and_then(Part::of) {
            known.write(part, out);
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// What holds a character that JSON escapes is written wrong, and so found not to fit.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn labels(out: &mut Vec<u8>, text: &str) {
    out.push(b'{');
    for (index, (key, value)) in Labels::pairs(text).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, key);
        out.push(b':');
        string(out, value);
    }
    out.push(b'}');
}

/// `first` stands behind apiVersion and `last` at the end of each.
fn owners(out: &mut Vec<u8>, owners: &[[&str; 4]], first: &str, last: &str) {
    out.push(b'[');
    for (index, [api_version, kind, name, uid]) in owners.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        for (member, value, before) in [
            ("\"apiVersion\":", api_version, ""),
            ("\"kind\":", kind, first),
            ("\"name\":", name, ""),
            ("\"uid\":", uid, ""),
        ] {
            if member != "\"apiVersion\":" {
                out.push(b',');
            }
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(member.as_bytes());
            string(out, value);
        }
        out.extend_from_slice(last.as_bytes());
        out.push(b'}');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use crate::cache::Cached;
    use crate::kind::Kind;

    /// What a metadata is written out as after it was folded.
    fn there_and_back(metadata: &str) -> (String, usize) {
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        let text =
            format!(r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{{metadata}}},"spec":{{"a":"b"}}}}"#);
        let cached = Cached::parse(&kind, text.clone().into(), "").unwrap_or_else(|error| panic!("{text}: {error}"));
        let json = String::from_utf8(cached.json().to_vec()).expect("text");
        assert_eq!(json, text);
        (json, cached.stored_length())
    }

    const OWNER: &str = r#""apiVersion":"v1","kind":"Node","name":"n","uid":"u-2""#;

    #[test]
    fn what_headers_hold_is_folded_and_written_out_as_it_was() {
        let metadata = r#""name":"web-abc-x2x4z","generateName":"web-abc-","namespace":"shop","uid":"u-1","resourceVersion":"42","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","tier":"a"}"#;
        let owned =
            format!(r#"{metadata},"ownerReferences":[{{{OWNER},"controller":true,"blockOwnerDeletion":true}}]"#);
        let by_name = r#""name":"web","resourceVersion":"1","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":true,"kind":"Node","name":"n","uid":"u-2"}]"#;
        for (metadata, folded) in [(metadata, 7), (&owned, 8), (by_name, 3)] {
            let (json, stored) = there_and_back(metadata);
            let saved = json.len() - stored;
            assert!(
                saved > metadata.len() / 3,
                "{saved} of {}: {folded} values",
                metadata.len()
            );
        }
    }

    #[test]
    fn what_is_written_otherwise_stays_as_it_is() {
        for metadata in [
            r#""name":"a","resourceVersion":"007""#,
            r#""name":"\u0061","resourceVersion":"1","labels":{"b":"2","a":"1"}"#,
            r#""name":"a","resourceVersion":"1","labels":{"a" : "1"}"#,
            r#""name":"a","resourceVersion":"1","labels":{"a":"\"" },"generateName":"other-""#,
            r#""name":"a","resourceVersion":"1","labels":null,"ownerReferences":[]"#,
            r#""name":"a","resourceVersion":"1","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":false,"blockOwnerDeletion":true}]"#,
            r#""name":"a","resourceVersion":"1","creationTimestamp":null"#,
            r#""name":"a","resourceVersion":"1","labels":{},"namespace":"""#,
        ] {
            there_and_back(metadata);
        }
    }

    #[test]
    fn a_raw_mark_is_no_json() {
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        let text = "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"},\"spec\":\"\u{1}n\"}";
        assert!(Cached::parse(&kind, text.into(), "").is_err());
    }
}
