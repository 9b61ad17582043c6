//! One line of a watch.

use bytes::Bytes;

use crate::cache::{Cursor, ScanError};
use crate::delta::Version;

/// What a line says. Objects share the line's buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// `ADDED` or `MODIFIED`: the object is there.
    Changed(Bytes),
    /// `DELETED`: the object is gone, or has left the selector.
    Deleted(Bytes),
    /// `BOOKMARK`: nothing else happened up to this version.
    Bookmark { version: Version, initial_end: bool },
    /// `ERROR`: a `Status`.
    Error(Bytes),
}

impl Event {
    pub(super) fn parse(line: &Bytes) -> Result<Self, ScanError> {
        match split(line) {
            Some((kind, object)) => Self::of(kind, object),
            None => Self::search(line),
        }
    }

    /// The event of a line whose members come in another order than servers write them in.
    fn search(line: &Bytes) -> Result<Self, ScanError> {
        let mut kind: &[u8] = b"";
        let mut object = None;
        Cursor::new(line).members(|name, value| {
            match name {
                b"type" => kind = value.raw()?,
                b"object" => object = Some(line.slice(value.skip()?)),
                _ => {
                    value.skip()?;
                }
            }
            Ok::<(), ScanError>(())
        })?;
        Self::of(kind, object.ok_or(ScanError::Missing("object"))?)
    }

    fn of(kind: &[u8], object: Bytes) -> Result<Self, ScanError> {
        match kind {
            b"\"ADDED\"" | b"\"MODIFIED\"" => Ok(Self::Changed(object)),
            b"\"DELETED\"" => Ok(Self::Deleted(object)),
            b"\"BOOKMARK\"" => bookmark(&object),
            b"\"ERROR\"" => Ok(Self::Error(object)),
            _ => Err(ScanError::Missing("type that a watch knows")),
        }
    }
}

/// Type and object of a line as servers write it, `{"type":…,"object":…}`, without a look into the object: who reads it
/// finds out whether it is one.
fn split(line: &Bytes) -> Option<(&[u8], Bytes)> {
    const HEAD: &[u8] = b"{\"type\":";
    const MIDDLE: &[u8] = b",\"object\":";
    let rest = line.strip_prefix(HEAD)?;
    let comma = rest.iter().take(16).position(|byte| *byte == b',')?;
    let (kind, rest) = rest.split_at(comma);
    let object = rest.strip_prefix(MIDDLE)?.trim_ascii_end().strip_suffix(b"}")?;
    object.ends_with(b"}").then(|| (kind, line.slice_ref(object)))
}

fn bookmark(object: &[u8]) -> Result<Event, ScanError> {
    let mut version = None;
    let mut initial_end = false;
    Cursor::new(object).members(|name, value| {
        if name != b"metadata" {
            value.skip()?;
            return Ok(());
        }
        value.members(|name, value| {
            match name {
                b"resourceVersion" => version = value.text()?.map(|text| Version::parse(&text)),
                b"annotations" if !value.is_null() => value.members(|name, value| {
                    let value = value.text()?;
                    if name == b"k8s.io/initial-events-end" {
                        initial_end = value.as_deref() == Some("true");
                    }
                    Ok::<(), ScanError>(())
                })?,
                _ => {
                    value.skip()?;
                }
            }
            Ok::<(), ScanError>(())
        })
    })?;
    Ok(Event::Bookmark {
        version: version.ok_or(ScanError::Missing("metadata.resourceVersion"))?,
        initial_end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &'static str) -> Result<Event, ScanError> {
        Event::parse(&Bytes::from_static(line.as_bytes()))
    }

    #[test]
    fn lines_are_read_in_any_order_of_members() {
        assert_eq!(
            parse(r#"{"type":"ADDED","object":{"a":1}}"#),
            Ok(Event::Changed(Bytes::from_static(b"{\"a\":1}")))
        );
        assert_eq!(
            parse(r#"{"object":{"a":1},"type":"DELETED"}"#),
            Ok(Event::Deleted(Bytes::from_static(b"{\"a\":1}")))
        );
        let end = r#"{"type":"BOOKMARK","object":{"kind":"App","metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert_eq!(
            parse(end),
            Ok(Event::Bookmark {
                version: Version::parse("12"),
                initial_end: true
            })
        );
        assert!(parse(r#"{"type":"NEW","object":{}}"#).is_err());
        assert!(parse(r#"{"type":"ADDED"}"#).is_err());
    }
}
