//! The named formats of strings that custom kinds may ask for. Unknown names hold for every string.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;

/// Whether `text` has the format `name`.
pub(super) fn holds(name: &str, text: &str) -> bool {
    match name {
        "date-time" | "datetime" => is_date_time(text),
        "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "uri" => is_uri(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(name, text),
        "mac" => is_mac(text),
        "hexcolor" => matches(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text),
        "rgbcolor" => matches(
            r"^rgb\(\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*(,\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*){2}\)$",
            text,
        ),
        "ssn" => matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text),
        "creditcard" => is_credit_card(text),
        "isbn" => is_isbn(text, 10) || is_isbn(text, 13),
        "isbn10" => is_isbn(text, 10),
        "isbn13" => is_isbn(text, 13),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "k8s-short-name" => is_label(text),
        "k8s-long-name" => text.len() <= 253 && text.split('.').all(is_label),
        _ => true,
    }
}

/// Go's duration (`1h30m`), or a number of units in words (`3 days`).
pub(crate) fn is_duration(text: &str) -> bool {
    go_duration(text).is_some()
        || matches(
            r"^\s*\d+\s*(ns|us|µs|ms|s|m|h|d|w|nanos?|nanoseconds?|micros?|microseconds?|millis?|milliseconds?|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|wks?|weeks?)\s*$",
            text,
        )
}

/// Go's duration in nanoseconds.
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let scale = match &rest[..unit] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        total += number * scale;
        rest = &rest[unit..];
    }
    // Beyond this Go's parser refuses, too.
    (total <= i64::MAX as f64).then(|| if negative { -(total as i64) } else { total as i64 })
}

fn is_date_time(text: &str) -> bool {
    matches(
        r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([Zz]|[+-]\d{2}:?\d{2})$",
        text,
    ) && text
        .get(..10)
        .is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok())
        && text.get(11..13).is_some_and(|h| h < "24")
        && text.get(14..16).is_some_and(|m| m < "60")
}

/// Whether `text` is an address and the length of its prefix.
pub(crate) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    if bits.is_empty() || (bits.len() > 1 && bits.starts_with('0')) || !bits.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let Ok(bits) = bits.parse::<u32>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    !local.is_empty()
        && !domain.is_empty()
        && !text.contains(char::is_whitespace)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && !domain.starts_with('.')
        && !domain.ends_with('.')
}

fn is_hostname(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        })
}

/// What Go's `url.ParseRequestURI` takes: an absolute path or a scheme.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return false;
    }
    text.starts_with('/') || matches(r"^[a-zA-Z][a-zA-Z0-9+.-]*:.*$", text)
}

fn is_uuid(name: &str, text: &str) -> bool {
    let plain: Vec<u8> = text
        .bytes()
        .filter(|b| *b != b'-')
        .map(|b| b.to_ascii_lowercase())
        .collect();
    let dashes = text.bytes().filter(|b| *b == b'-').count();
    let version = |v: u8| plain.get(12) == Some(&v);
    let variant = plain.get(16).is_some_and(|b| b"89ab".contains(b));
    plain.len() == 32
        && (dashes == 4 || dashes == 0)
        && plain.iter().all(u8::is_ascii_hexdigit)
        && match name {
            "uuid3" => version(b'3'),
            "uuid4" => version(b'4') && variant,
            "uuid5" => version(b'5') && variant,
            _ => true,
        }
}

fn is_mac(text: &str) -> bool {
    [':', '-'].iter().any(|separator| {
        let parts: Vec<&str> = text.split(*separator).collect();
        matches!(parts.len(), 6 | 8 | 20)
            && parts
                .iter()
                .all(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()))
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let luhn: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| {
            if i % 2 == 1 {
                if d * 2 > 9 { d * 2 - 9 } else { d * 2 }
            } else {
                *d
            }
        })
        .sum();
    (13..=16).contains(&digits.len()) && luhn.is_multiple_of(10)
}

fn is_isbn(text: &str, length: usize) -> bool {
    let plain: Vec<char> = text.chars().filter(|c| *c != '-' && *c != ' ').collect();
    let digits: Option<Vec<u32>> = plain
        .iter()
        .enumerate()
        .map(|(i, c)| {
            if *c == 'X' && length == 10 && i == 9 {
                Some(10)
            } else {
                c.to_digit(10)
            }
        })
        .collect();
    let Some(digits) = digits.filter(|d| d.len() == length) else {
        return false;
    };
    let weighted = digits.iter().zip(1u32..);
    match length {
        10 => weighted.map(|(d, i)| d * i).sum::<u32>() % 11 == 0,
        _ => weighted.map(|(d, i)| if i % 2 == 0 { d * 3 } else { *d }).sum::<u32>() % 10 == 0,
    }
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && matches(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", text)
}

fn matches(pattern: &'static str, text: &str) -> bool {
    static COMPILED: Mutex<BTreeMap<&str, Option<Regex>>> = Mutex::new(BTreeMap::new());
    let regex = COMPILED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(pattern)
        .or_insert_with(|| Regex::new(pattern).ok())
        .clone();
    regex.is_some_and(|regex| regex.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_good_from_bad() {
        for (name, good, bad) in [
            ("date-time", "2024-01-02T03:04:05Z", "yesterday"),
            ("date", "2024-12-01", "2024-13-01"),
            ("byte", "aGk=", "***"),
            ("duration", "5m30s", "soon"),
            ("duration", "3 days", "3 moons"),
            ("ipv4", "1.2.3.4", "1.2.3"),
            ("ipv6", "fe80::1", "1.2.3.4"),
            ("cidr", "10.0.0.0/8", "10.0.0.1"),
            ("email", "a@b.example", "nobody"),
            ("hostname", "a.example", "-x-"),
            ("uri", "https://a.example/x", "::"),
            ("uuid", "11111111-2222-3333-4444-555555555555", "x"),
            ("mac", "01:02:03:04:05:06", "01:02"),
        ] {
            assert!(holds(name, good), "{name} {good}");
            assert!(!holds(name, bad), "{name} {bad}");
        }
        assert!(holds("who-knows", "anything"));
    }

    #[test]
    fn durations_are_read_as_go_does() {
        assert_eq!(go_duration("1h2m3s"), Some(3_723_000_000_000));
        assert_eq!(go_duration("-1.5h"), Some(-5_400_000_000_000));
        assert_eq!(go_duration("1"), None);
    }
}
