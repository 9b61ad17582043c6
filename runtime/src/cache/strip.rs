//! Parts of objects that are never read, and so never kept.

use std::fmt;

use crate::cache::json::{Cursor, JsonError};

/// Where a part of an object lies: `status`, `spec.containers[*].env`,
/// `metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripPath(Box<[Step]>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Member(Box<str>),
    /// `[*]`
    Elements,
}

/// A path that leads nowhere, or to what the cache cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no path to strip: {cause}; write it as `status`, `spec.containers[*].env` or \
     `metadata.annotations['example.com/large']`"
)]
pub struct StripError {
    text: String,
    cause: &'static str,
}

/// Of the metadata, only these may be left out: all else tells objects and their owners apart.
const OF_METADATA: [&str; 2] = ["annotations", "managedFields"];

impl StripPath {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// The text is no path, or names what the cache cannot do without.
    pub fn parse(text: &str) -> Result<Self, StripError> {
        let wrong = |cause| StripError {
            text: text.to_owned(),
            cause,
        };
        let path = Self(steps(text).map_err(wrong)?.into());
        match &*path.0 {
            [Step::Elements, ..] => Err(wrong("an object is no list")),
            [Step::Member(first)] if matches!(&**first, "apiVersion" | "kind" | "metadata") => {
                Err(wrong("the cache cannot do without it"))
            }
            [Step::Member(first), Step::Member(second), ..]
                if **first == *"metadata" && !OF_METADATA.contains(&&**second) =>
            {
                Err(wrong("of the metadata only annotations can be left out"))
            }
            _ => Ok(path),
        }
    }
}

impl fmt::Display for StripPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Elements => f.write_str("[*]")?,
                Step::Member(name) if name.bytes().all(is_plain) => {
                    write!(f, "{}{name}", if index == 0 { "" } else { "." })?;
                }
                Step::Member(name) => write!(f, "['{name}']")?,
            }
        }
        Ok(())
    }
}

/// Copies an object without what lies at the paths.
///
/// # Errors
///
/// The text is not JSON.
pub(crate) fn strip(text: &[u8], paths: &[StripPath], out: &mut Vec<u8>) -> Result<(), JsonError> {
    out.clear();
    out.reserve(text.len());
    let steps: Vec<&[Step]> = paths.iter().map(|path| &*path.0).collect();
    copy(&mut Cursor::new(text), &steps, out)
}

/// Copies the value at the cursor; each path has at least one step.
fn copy<'a>(cursor: &mut Cursor<'a>, paths: &[&[Step]], out: &mut Vec<u8>) -> Result<(), JsonError> {
    let mut ahead = cursor.clone();
    let raw = ahead.raw()?;
    match raw.first() {
        Some(b'{') => members(cursor, paths, out),
        Some(b'[') if paths.iter().any(|path| path[0] == Step::Elements) => elements(cursor, paths, out),
        _ => {
            out.extend_from_slice(raw);
            *cursor = ahead;
            Ok(())
        }
    }
}

fn members(cursor: &mut Cursor<'_>, paths: &[&[Step]], out: &mut Vec<u8>) -> Result<(), JsonError> {
    out.push(b'{');
    let mut first = true;
    cursor.members(|name, value| {
        let Some(deeper) = below(
            paths,
            |step| matches!(step, Step::Member(own) if own.as_bytes() == name),
        ) else {
            value.skip()?;
            return Ok(());
        };
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        follow(value, &deeper, out)
    })?;
    out.push(b'}');
    Ok(())
}

fn elements(cursor: &mut Cursor<'_>, paths: &[&[Step]], out: &mut Vec<u8>) -> Result<(), JsonError> {
    out.push(b'[');
    let mut first = true;
    cursor.elements(|value| {
        let Some(deeper) = below(paths, |step| *step == Step::Elements) else {
            value.skip()?;
            return Ok(());
        };
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        follow(value, &deeper, out)
    })?;
    out.push(b']');
    Ok(())
}

fn follow(value: &mut Cursor<'_>, deeper: &[&[Step]], out: &mut Vec<u8>) -> Result<(), JsonError> {
    if deeper.is_empty() {
        out.extend_from_slice(value.raw()?);
        return Ok(());
    }
    copy(value, deeper, out)
}

/// What is left of the paths that go on by a step; `None` where one of them ends with it.
fn below<'a>(paths: &[&'a [Step]], is: impl Fn(&Step) -> bool) -> Option<Vec<&'a [Step]>> {
    let mut deeper = Vec::new();
    for path in paths.iter().filter(|path| is(&path[0])) {
        if path.len() == 1 {
            return None;
        }
        deeper.push(&path[1..]);
    }
    Some(deeper)
}

fn steps(text: &str) -> Result<Vec<Step>, &'static str> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(Step::Elements);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("['") {
            let (name, after) = after.split_once("']").ok_or("a quoted member lacks its `']`")?;
            if name.is_empty() || name.contains(['"', '\\']) {
                return Err("a quoted member is empty or holds a quote or a backslash");
            }
            steps.push(Step::Member(name.into()));
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() || !name.bytes().all(is_plain) {
                return Err("a member's name is letters, digits, `-` and `_`, or stands in `['…']`");
            }
            steps.push(Step::Member(name.into()));
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(steps),
            None if rest.starts_with('[') => {}
            None => return Err("a `.` is missing after `]`"),
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn stripped(object: &Value, paths: &[&str]) -> Value {
        let paths: Vec<StripPath> = paths
            .iter()
            .map(|path| StripPath::parse(path).expect("valid"))
            .collect();
        let mut out = Vec::new();
        strip(object.to_string().as_bytes(), &paths, &mut out).expect("JSON");
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn what_lies_at_a_path_is_left_out_and_nothing_else() {
        let object = json!({
            "metadata": { "name": "a", "annotations": { "example.com/large": "x", "small": "y" } },
            "spec": { "containers": [{ "name": "a", "env": [1] }, { "env": 2 }, 7], "env": 3 },
            "status": { "a": [], "b": { "c": {} } },
        });
        assert_eq!(
            stripped(
                &object,
                &[
                    "metadata.annotations['example.com/large']",
                    "spec.containers[*].env",
                    "status.b.c"
                ]
            ),
            json!({
                "metadata": { "name": "a", "annotations": { "small": "y" } },
                "spec": { "containers": [{ "name": "a" }, {}, 7], "env": 3 },
                "status": { "a": [], "b": {} },
            })
        );
        assert_eq!(stripped(&object, &["status", "status.a"])["status"], Value::Null);
        assert_eq!(
            stripped(&object, &["spec.env.deeper", "none[*].x", "status[*]"]),
            object
        );
        assert_eq!(
            stripped(&object, &["spec.containers[*]"])["spec"]["containers"],
            json!([])
        );
    }

    #[test]
    fn a_path_is_printed_as_it_was_read_and_nonsense_is_refused() {
        for path in [
            "status",
            "spec.a[*].b['x.y/z'].c",
            "metadata.annotations['a/b']",
            "data['x y']",
        ] {
            assert_eq!(StripPath::parse(path).map(|path| path.to_string()), Ok(path.to_owned()));
        }
        for path in [
            "",
            ".",
            "a.",
            "a..b",
            "[*].a",
            "a[0]",
            "a['b",
            "a['b']c",
            "metadata",
            "kind",
            "metadata.labels",
            "a b",
            "metadata.name",
            "metadata.ownerReferences[*]",
        ] {
            let error = StripPath::parse(path).map(|path| path.to_string());
            assert!(error.is_err(), "{path}: {error:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let paths = [StripPath::parse("a.b[*].c").expect("valid"), StripPath::parse("a").expect("valid")];
            let _ = strip(&bytes, &paths, &mut Vec::new());
        }
    }
}
