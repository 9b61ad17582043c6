use std::time::Duration;

const UNITS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// What people write for a unit.
const OTHER_UNITS: [(&str, &str); 22] = [
    ("microseconds", "us"),
    ("microsecond", "us"),
    ("micros", "us"),
    ("µs", "us"),
    ("milliseconds", "ms"),
    ("millisecond", "ms"),
    ("millis", "ms"),
    ("msec", "ms"),
    ("seconds", "s"),
    ("second", "s"),
    ("secs", "s"),
    ("sec", "s"),
    ("minutes", "m"),
    ("minute", "m"),
    ("mins", "m"),
    ("min", "m"),
    ("hours", "h"),
    ("hour", "h"),
    ("hrs", "h"),
    ("hr", "h"),
    ("days", "d"),
    ("day", "d"),
];

/// Reads `5ms`, `90s`, `1h30m`: whole numbers, each with a unit, larger units first or not.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    parse(text).map_err(|why| match meant(text) {
        Some(meant) => format!("{why}: write \"{meant}\""),
        None => format!("{why}: write it as in \"500ms\", \"90s\", \"1h30m\""),
    })
}

fn parse(text: &str) -> Result<Duration, String> {
    if text.trim().is_empty() {
        return Err("an empty duration".to_owned());
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() {
            let wrong = rest.chars().next().unwrap_or_default();
            return Err(format!("`{wrong}` in \"{text}\" is no number"));
        }
        if after.starts_with('.') {
            return Err(format!(
                "the numbers of a duration are whole, unlike `{number}.` in \"{text}\""
            ));
        }
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        if unit.is_empty() {
            return Err(format!(
                "no unit after `{number}` in \"{text}\"; units are us, ms, s, m, h, d"
            ));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!(
                "`{unit}` in \"{text}\" is no unit; units are us, ms, s, m, h, d"
            ));
        };
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(*nanos))
            .and_then(|n| total.checked_add(n))
            .ok_or_else(|| format!("\"{text}\" is longer than 500 years"))?;
        rest = next;
    }
    Ok(Duration::from_nanos(total))
}

/// The duration that was probably meant: without spaces, by our names of units, and in seconds where none is given.
fn meant(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut plain = plain.to_lowercase();
    for (other, unit) in OTHER_UNITS {
        plain = plain.replace(other, unit);
    }
    let seconds = format!("{plain}s");
    [plain, seconds]
        .into_iter()
        .find(|text| parse(text).is_ok_and(|duration| !duration.is_zero()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        assert_eq!(parse_duration("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("2d"), Ok(Duration::from_secs(172_800)));
    }

    #[test]
    fn what_is_no_duration_is_told_by_its_characters_with_what_to_write() {
        for (text, says) in [
            (
                "5 m",
                "no unit after `5` in \"5 m\"; units are us, ms, s, m, h, d: write \"5m\"",
            ),
            (
                "5min",
                "`min` in \"5min\" is no unit; units are us, ms, s, m, h, d: write \"5m\"",
            ),
            (
                "90 seconds",
                "no unit after `90` in \"90 seconds\"; units are us, ms, s, m, h, d: write \"90s\"",
            ),
            (
                "10",
                "no unit after `10` in \"10\"; units are us, ms, s, m, h, d: write \"10s\"",
            ),
            (
                "-5s",
                "`-` in \"-5s\" is no number: write it as in \"500ms\", \"90s\", \"1h30m\"",
            ),
            ("", "an empty duration: write it as in \"500ms\", \"90s\", \"1h30m\""),
        ] {
            assert_eq!(parse_duration(text), Err(says.to_owned()));
        }
        assert!(parse_duration("99999999999d").is_err_and(|why| why.contains("500 years")));
        assert!(parse_duration("1.5h").is_err_and(|why| why.contains("whole")));
    }
}
