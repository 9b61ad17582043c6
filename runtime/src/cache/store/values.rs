//! Values that Kubernetes writes as text and that take less as numbers: uids and times.

use std::sync::Arc;

use super::packed::{put, put_text};

/// A uid, in 16 bytes where it is a UUID as Kubernetes writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uid<'a> {
    Uuid(u128),
    Text(&'a str),
}

impl<'a> Uid<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        uuid(text).map_or(Self::Text(text), Self::Uuid)
    }

    pub(crate) fn to_text(self) -> Arc<str> {
        match self {
            Self::Text(text) => Arc::from(text),
            Self::Uuid(number) => {
                let mut text = [0; 36];
                let mut at = 0;
                for digit in 0..32 {
                    if matches!(digit, 8 | 12 | 16 | 20) {
                        text[at] = b'-';
                        at += 1;
                    }
                    let nibble = (number >> (124 - 4 * digit)) & 0xf;
                    text[at] = b"0123456789abcdef"[usize::try_from(nibble).unwrap_or_default()];
                    at += 1;
                }
                Arc::from(std::str::from_utf8(&text).unwrap_or_default())
            }
        }
    }
}

/// The number of a UUID that prints as it was.
fn uuid(text: &str) -> Option<u128> {
    let bytes: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut number = 0_u128;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | u128::from(digit);
    }
    Some(number)
}

/// A moment as the server writes it, to the second, as a number of 14 digits.
pub(super) enum Time<'a> {
    None,
    Digits(u64),
    Text(&'a str),
}

impl<'a> Time<'a> {
    pub(super) fn of(text: Option<&'a str>) -> Self {
        let Some(text) = text else { return Self::None };
        let digits = text.bytes().filter(u8::is_ascii_digit);
        let number = digits.fold(0_u64, |number, digit| {
            number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
        });
        if text.len() == 20 && *Self::print(number) == *text {
            Self::Digits(number)
        } else {
            Self::Text(text)
        }
    }

    /// Of two flags, the one that says how it is written.
    pub(super) fn flags(&self, is: u16, is_text: u16) -> u16 {
        match self {
            Self::None => 0,
            Self::Digits(_) => is,
            Self::Text(_) => is_text,
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Digits(number) => put(out, *number),
            Self::Text(text) => put_text(out, text),
        }
    }

    pub(super) fn print(mut number: u64) -> Arc<str> {
        let mut text = *b"0000-00-00T00:00:00Z";
        for at in [18, 17, 15, 14, 12, 11, 9, 8, 6, 5, 3, 2, 1, 0] {
            text[at] = b"0123456789"[usize::try_from(number % 10).unwrap_or_default()];
            number /= 10;
        }
        Arc::from(std::str::from_utf8(&text).unwrap_or_default())
    }
}
