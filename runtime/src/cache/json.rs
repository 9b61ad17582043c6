//! A cursor over raw JSON: finds members and skips values without building anything.
//!
//! It checks only what it must to find its way; other faults of a text show when it is decoded.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use crate::cache::fold::MARK;

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

    /// The text from an earlier position to here.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
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
        match self.text.get(self.at) {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{' | b'[') => self.nested()?,
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => self.scalar(),
            // A value that was folded, see there.
            Some(&MARK) if self.at + 1 < self.text.len() => self.at += 2,
            _ => return Err(self.lost("a value")),
        }
        Ok(start..self.at)
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

    /// Steps over an object or an array: to the brace that closes it.
    fn nested(&mut self) -> Result<()> {
        let text = self.text;
        let (mut at, mut depth, mut quoted, mut escaped) = (self.at, 0_usize, false, false);
        while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
            let mut marks = marks(block);
            if std::mem::take(&mut escaped) {
                marks &= !1;
            }
            while marks != 0 {
                let index = marks.trailing_zeros() as usize;
                marks &= marks - 1;
                match (block[index], quoted) {
                    (b'"', _) => quoted = !quoted,
                    (b'\\', _) => {
                        marks &= !(2 << index);
                        escaped = index + 1 == BLOCK;
                    }
                    (b'{' | b'[', false) => depth += 1,
                    (b'}' | b']', false) => {
                        depth -= 1;
                        if depth == 0 {
                            self.at = at + index + 1;
                            return Ok(());
                        }
                    }
                    _ => {}
                }
            }
            at += BLOCK;
        }
        for (index, byte) in text.iter().enumerate().skip(at) {
            match (byte, quoted) {
                _ if std::mem::take(&mut escaped) => {}
                (b'"', _) => quoted = !quoted,
                (b'\\', _) => escaped = true,
                (b'{' | b'[', false) => depth += 1,
                (b'}' | b']', false) => {
                    depth -= 1;
                    if depth == 0 {
                        self.at = index + 1;
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.at = text.len();
        Err(self.lost("the end of a value"))
    }

    fn string(&mut self) -> Result<Range<usize>> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        if let Some(end) = end_of_string(self.text, start) {
            self.at = end + 1;
            return Ok(start..end);
        }
        self.at = self.text.len();
        Err(self.lost("the end of a string"))
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

/// How much of a text is looked at at once.
const BLOCK: usize = 16;

/// One bit for each byte that changes what the bytes after it mean: quotes, backslashes, braces and brackets. Eight bytes
/// at a time, as the instructions for sixteen cannot be had without `unsafe`.
fn marks(block: &[u8; BLOCK]) -> u32 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const SEVEN: u64 = LOW * 0x7f;
    // The highest bit of each byte that is zero.
    let zero = |word: u64| !(((word & SEVEN) + SEVEN) | word | SEVEN);
    let of = |word: u64| {
        let folded = word | (LOW * 0x20);
        let found = zero(word ^ (LOW * 0x22))
            | zero(word ^ (LOW * 0x5c))
            | zero(folded ^ (LOW * 0x7b))
            | zero(folded ^ (LOW * 0x7d));
        // The bits of the bytes, side by side.
        u32::try_from((found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56).unwrap_or_default()
    };
    let [low, high] = halves(block);
    of(low) | of(high) << 8
}

fn halves(block: &[u8; BLOCK]) -> [u64; 2] {
    let half = |at: usize| block[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    [half(0), half(8)]
}

/// Where the quote stands that ends the string which begins at `at`.
fn end_of_string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += quote_or_backslash(text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Where the first quote or backslash stands. Most strings are short: eight bytes at a time find it sooner than a search
/// that must be called.
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while at < 32 {
        let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
            break;
        };
        let bytes = u64::from_le_bytes(*bytes);
        // The lowest bit that is set marks the first byte that is zero; above it there may be false ones.
        let zero = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
        let found = zero(bytes ^ (LOW * 0x22)) | zero(bytes ^ (LOW * 0x5c));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &text[at..]).map(|found| at + found)
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
        fn marks_are_found_wherever_they_are(block in proptest::array::uniform16(any::<u8>())) {
            let is = |byte: &u8| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b'[' | b']');
            let slow = (0..).zip(&block).map(|(at, byte)| u32::from(is(byte)) << at).sum::<u32>();
            prop_assert_eq!(marks(&block), slow);
        }

        #[test]
        fn a_value_is_stepped_over_to_its_last_brace(
            text in "\\{(\"([a-z{}]|\\\\[\\\\\"]){0,20}\":(\\[[0-9,]{0,9}\\]|\\{\\}),?){0,6}\\}",
            more in "[}\\]\"a]{0,20}",
        ) {
            let mut cursor_text = text.clone().into_bytes();
            cursor_text.extend_from_slice(more.as_bytes());
            let mut cursor = Cursor::new(&cursor_text);
            prop_assert_eq!(cursor.skip(), Ok(0..text.len()));
        }

        #[test]
        fn the_end_of_a_string_is_found_wherever_it_is(text in "[a-z\"\\\\é]{0,60}") {
            let slow = text.bytes().position(|byte| matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(quote_or_backslash(text.as_bytes()), slow);
        }

        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.skip();
            let _ = Cursor::new(&bytes).members(|_, value| value.text().map(drop));
            let _ = Cursor::new(&bytes).elements(|value| value.integer().map(drop));
        }
    }
}
