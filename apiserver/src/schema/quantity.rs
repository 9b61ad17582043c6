//! Resource quantities: reading, comparing, and the canonical spelling.

use std::cmp::Ordering;

/// What the real server says of text that is no quantity.
pub(crate) const MALFORMED: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// A number with a suffix: `500m`, `1Gi`, `1e3`. Kept in nanos, which is as fine as quantities go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    nanos: i128,
    family: Family,
}

/// What kind of suffix the quantity was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Binary,
    Decimal,
    Exponent,
}

const NANO: i128 = 1_000_000_000;
/// Beyond this the real server caps, too.
const MOST: i128 = (i64::MAX as i128) * NANO;

impl Quantity {
    /// Reads a quantity; `None` for text that is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (scale, family) = scale(suffix)?;
        let mut nanos: i128 = 0;
        let digits = whole.bytes().chain(fraction.bytes());
        let mut mantissa: i128 = 0;
        let mut places = i32::try_from(fraction.len()).ok()?;
        for digit in digits {
            match mantissa
                .checked_mul(10)
                .and_then(|m| m.checked_add(i128::from(digit - b'0')))
            {
                Some(next) => mantissa = next,
                // More digits than anything can hold: what follows the point is dropped, the rest is capped below.
                None if places > 0 => places -= 1,
                None => mantissa = MOST,
            }
        }
        if mantissa != 0 {
            nanos = scaled(mantissa, scale, places).min(MOST);
        }
        Some(Self {
            nanos: if negative { -nanos } else { nanos },
            family,
        })
    }

    /// The canonical spelling: the suffix family stays, the number is whole, the suffix as large as that allows.
    /// Finer parts than milli are rounded up, away from zero, where the family is not the exponent one.
    pub(crate) fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let sign = if self.nanos < 0 { "-" } else { "" };
        let nanos = self.nanos.abs();
        if self.family == Family::Binary && nanos % NANO == 0 && nanos / NANO >= 1024 {
            let (number, suffix) = largest(nanos / NANO, 1024, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]);
            return format!("{sign}{number}{suffix}");
        }
        if self.family == Family::Exponent {
            let (number, exponent) = largest_exponent(nanos);
            return if exponent == 0 {
                format!("{sign}{number}")
            } else {
                format!("{sign}{number}e{exponent}")
            };
        }
        if nanos % NANO == 0 {
            let (number, suffix) = largest(nanos / NANO, 1000, &["", "k", "M", "G", "T", "P", "E"]);
            return format!("{sign}{number}{suffix}");
        }
        let (number, suffix) = largest(nanos, 1000, &["n", "u", "m"]);
        format!("{sign}{number}{suffix}")
    }

    /// The quantity in thousandths, rounded up.
    pub(crate) fn milli(self) -> i128 {
        let (quotient, rest) = (self.nanos / 1_000_000, self.nanos % 1_000_000);
        if rest > 0 { quotient + 1 } else { quotient }
    }

    /// The quantity in nanos.
    pub(crate) fn nanos(self) -> i128 {
        self.nanos
    }

    /// The sum, in the first one's family unless that is zero.
    pub(crate) fn plus(self, other: Self) -> Self {
        let family = if self.nanos == 0 { other.family } else { self.family };
        Self {
            nanos: self.nanos.saturating_add(other.nanos).clamp(-MOST, MOST),
            family,
        }
    }

    /// Whether it is below zero.
    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether it is a whole number.
    pub(crate) fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// The order by value.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// How the real server spells what it has read: short numbers keep their spelling where it is canonical already or
/// carries a sign or exponent, which it does not touch.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let parsed = Quantity::parse(text)?;
    let plain = text.trim_start_matches(['+', '-']);
    let exponent = matches!(parsed.family, Family::Exponent);
    let whole_number = plain.bytes().all(|b| b.is_ascii_digit());
    if parsed.nanos != 0 && (exponent || (text.starts_with('+') && whole_number)) && !plain.contains('.') {
        return Some(text.to_owned());
    }
    let milli = Quantity {
        nanos: round_up_to_milli(parsed.nanos),
        ..parsed
    };
    let rounded = if parsed.nanos % 1_000_000 == 0 { parsed } else { milli };
    Some(rounded.canonical())
}

fn round_up_to_milli(nanos: i128) -> i128 {
    let rest = nanos % 1_000_000;
    match rest.cmp(&0) {
        Ordering::Equal => nanos,
        Ordering::Greater => nanos - rest + 1_000_000,
        Ordering::Less => nanos - rest - 1_000_000,
    }
}

/// The factor of a suffix, as base and exponent.
fn scale(suffix: &str) -> Option<((i128, i32), Family)> {
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(at) = binary.iter().position(|s| *s == suffix) {
        return Some(((2, 10 * (i32::try_from(at).ok()? + 1)), Family::Binary));
    }
    let decimal = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    if let Some((_, exponent)) = decimal.iter().find(|(s, _)| *s == suffix) {
        return Some(((10, *exponent), Family::Decimal));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    Some(((10, exponent), Family::Exponent))
}

/// `mantissa` × base^exponent ÷ 10^places in nanos, rounded up.
fn scaled(mantissa: i128, (base, exponent): (i128, i32), places: i32) -> i128 {
    let mut value = mantissa;
    let mut tens = 9 - places;
    if base == 10 {
        tens = tens.saturating_add(exponent);
    } else {
        for _ in 0..exponent {
            value = value.saturating_mul(base);
        }
    }
    if tens >= 0 {
        for _ in 0..tens.min(60) {
            value = value.saturating_mul(10);
        }
        return value;
    }
    let mut inexact = false;
    for _ in 0..tens.unsigned_abs().min(60) {
        inexact |= value % 10 != 0;
        value /= 10;
    }
    if inexact { value + 1 } else { value }
}

fn largest<'s>(mut number: i128, step: i128, suffixes: &[&'s str]) -> (i128, &'s str) {
    let mut at = 0;
    while at + 1 < suffixes.len() && number % step == 0 {
        number /= step;
        at += 1;
    }
    (number, suffixes[at])
}

fn largest_exponent(nanos: i128) -> (i128, i32) {
    let (mut number, mut exponent) = (nanos, -9);
    while number % 1000 == 0 && exponent < 18 {
        number /= 1000;
        exponent += 3;
    }
    (number, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_come_out_canonical() {
        for (text, expected) in [
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1000m", "1"),
            ("1e3", "1e3"),
            ("100000000", "100M"),
            ("1.5Gi", "1536Mi"),
            ("0", "0"),
            ("1000Ki", "1000Ki"),
            ("0.1Mi", "104857600m"),
            ("+2", "+2"),
            ("12e-3", "12e-3"),
            ("1500", "1500"),
            ("0.0000000001", "1m"),
            ("-0", "0"),
            ("-500m", "-500m"),
            ("0.5Gi", "512Mi"),
            ("512", "512"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "x", "1x", "1.2.3", "Gi", "1 Gi", "--1"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
