//! When a certificate is valid, read from its DER: no more of X.509 is needed here.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The time in which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first instant.
    pub from: Timestamp,
    /// The last.
    pub until: Timestamp,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// That of a certificate; `None` if it is none.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Option<Self> {
        // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serial, signature, issuer, validity, … } … }
        let (mut fields, _) = inside(SEQUENCE, inside(SEQUENCE, certificate)?.0)?;
        if fields.first() == Some(&VERSION) {
            fields = element(fields)?.2;
        }
        for _ in ["serialNumber", "signature", "issuer"] {
            fields = element(fields)?.2;
        }
        let (times, _) = inside(SEQUENCE, fields)?;
        let (tag, from, rest) = element(times)?;
        let from = instant(tag, from)?;
        let (tag, until, _) = element(rest)?;
        Some(Self {
            from,
            until: instant(tag, until)?,
        })
    }
}

/// The content of the first element, which has that tag, and what follows it.
fn inside(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(der)?;
    (found == tag).then_some((content, rest))
}

/// The first element: tag, content, what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, der) = der.split_first()?;
    let (first, mut der) = der.split_first()?;
    let mut length = usize::from(*first);
    if *first & 0x80 != 0 {
        let bytes = usize::from(first & 0x7f);
        if bytes > size_of::<usize>() / 2 {
            return None;
        }
        let (of_length, rest) = der.split_at_checked(bytes)?;
        length = of_length
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte));
        der = rest;
    }
    let (content, rest) = der.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// `YYMMDDHHMMSSZ`, or the same with four digits of the year.
fn instant(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: i16 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    if rest.len() != 10 {
        return None;
    }
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i8>().ok();
    let time = DateTime::new(year, part(0)?, part(2)?, part(4)?, part(6)?, part(8)?, 0).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
