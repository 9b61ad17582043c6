//! A cursor over raw JSON: finds members and skips values without building anything.
//!
//! It checks only what it must to find its way; other faults of a text show when it is decoded.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// JSON in which the way was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed JSON at byte {at}: expected {expected}")]
pub struct JsonError {
    /// Where.
    pub at: usize,
    /// What should have been there.
    pub expected: &'static str,
}

type Result<T> = std::result::Result<T, JsonError>;

/// A position in a JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Where the cursor stands.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Visits the members of the object that starts here: key (escapes left as they are) and a cursor at the value.
    /// The visitor must step over the value.
    pub(crate) fn members<E: From<JsonError>>(
        &mut self,
        mut visit: impl FnMut(&'a [u8], &mut Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.expect(b'{', "an object")?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':', "`:`")?;
            self.space();
            visit(&self.text[key], self)?;
            if !self.take(b',') {
                self.expect(b'}', "`,` or `}`")?;
                return Ok(());
            }
        }
    }

    /// Visits the elements of the array that starts here. The visitor must step over the value.
    pub(crate) fn elements<E: From<JsonError>>(
        &mut self,
        mut visit: impl FnMut(&mut Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.expect(b'[', "an array")?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.space();
            visit(self)?;
            if !self.take(b',') {
                self.expect(b']', "`,` or `]`")?;
                return Ok(());
            }
        }
    }

    /// Steps over the value and gives its span.
    pub(crate) fn skip(&mut self) -> Result<Range<usize>> {
        self.space();
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',' | b':' | b' ' | b'\n' | b'\r' | b'\t') if depth > 0 => self.at += 1,
                Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => self.scalar(),
                _ => return Err(self.lost("a value")),
            }
            if depth == 0 {
                return Ok(start..self.at);
            }
        }
    }

    /// The value as raw text.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8]> {
        let span = self.skip()?;
        Ok(&self.text[span])
    }

    /// The string here; `None` for null.
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'a, str>>> {
        let start = self.at;
        let raw = self.raw()?;
        match raw {
            b"null" => Ok(None),
            [b'"', inner @ .., b'"'] => {
                if inner.contains(&b'\\') {
                    return serde_json::from_slice::<String>(raw)
                        .map(|text| Some(Cow::Owned(text)))
                        .map_err(|_| lost_at(start, "a string"));
                }
                std::str::from_utf8(inner)
                    .map(|text| Some(Cow::Borrowed(text)))
                    .map_err(|_| lost_at(start, "UTF-8"))
            }
            _ => Err(lost_at(start, "a string")),
        }
    }

    /// The integer here; `None` for null.
    pub(crate) fn integer(&mut self) -> Result<Option<i64>> {
        let start = self.at;
        let raw = self.raw()?;
        if raw == b"null" {
            return Ok(None);
        }
        std::str::from_utf8(raw)
            .ok()
            .and_then(|text| text.parse().ok())
            .map(Some)
            .ok_or_else(|| lost_at(start, "an integer"))
    }

    /// The boolean here; false for null.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        Ok(self.raw()? == b"true")
    }

    /// Whether the value here is null.
    pub(crate) fn is_null(&mut self) -> bool {
        self.space();
        self.text[self.at.min(self.text.len())..].starts_with(b"null")
    }

    fn string(&mut self) -> Result<Range<usize>> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else {
                self.at = self.text.len();
                return Err(self.lost("the end of a string"));
            };
            self.at += found;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(start..self.at - 1);
            }
            self.at += 2;
        }
    }

    fn scalar(&mut self) {
        while let Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.lost(expected))
        }
    }

    fn lost(&self, expected: &'static str) -> JsonError {
        lost_at(self.at, expected)
    }
}

fn lost_at(at: usize, expected: &'static str) -> JsonError {
    JsonError { at, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn top(text: &str) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.members(|key, value| {
            let raw = value.raw()?;
            found.push((
                String::from_utf8_lossy(key).into_owned(),
                String::from_utf8_lossy(raw).into_owned(),
            ));
            Ok::<(), JsonError>(())
        })?;
        Ok(found)
    }

    #[test]
    fn members_are_found_whatever_their_values_hold() {
        let found = top(r#" {"a" : "x\"}]" , "b":[1,{"c":"]"}], "d":-1.5e3,"e":null,"f":{} }"#).expect("valid");
        let values: Vec<_> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            values,
            [r#"a="x\"}]""#, r#"b=[1,{"c":"]"}]"#, "d=-1.5e3", "e=null", "f={}"]
        );
    }

    #[test]
    fn truncated_text_is_an_error_and_never_a_panic() {
        let text = r#"{"a":"x\\","b":[1,{"c":"]"}],"d":-1.5e3,"e":{"f":null}}"#;
        for end in 0..text.len() {
            assert!(top(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.skip();
            let _ = Cursor::new(&bytes).members(|_, value| value.text().map(drop));
            let _ = Cursor::new(&bytes).elements(|value| value.integer().map(drop));
        }
    }
}
