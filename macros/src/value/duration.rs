use std::time::Duration;

const UNITS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// Reads `5ms`, `90s`, `1h30m`: whole numbers, each with a unit, larger units first or not.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const EXAMPLE: &str = "write it as in \"500ms\", \"90s\", \"1h30m\"";
    if text.is_empty() {
        return Err(format!("an empty duration: {EXAMPLE}"));
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() {
            let wrong = rest.chars().next().unwrap_or_default();
            return Err(format!("`{wrong}` in \"{text}\" is no number: {EXAMPLE}"));
        }
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        if unit.is_empty() {
            return Err(format!(
                "no unit after `{number}` in \"{text}\": units are us, ms, s, m, h, d; {EXAMPLE}"
            ));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!(
                "`{unit}` in \"{text}\" is no unit: units are us, ms, s, m, h, d"
            ));
        };
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(*nanos))
            .and_then(|n| total.checked_add(n))
            .ok_or_else(|| format!("\"{text}\" is longer than 500 years: shorten it"))?;
        rest = next;
    }
    Ok(Duration::from_nanos(total))
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
    fn what_is_no_duration_is_told_by_its_characters() {
        let wrong = |text| parse_duration(text).expect_err("no duration");
        assert!(wrong("5 m").starts_with("no unit after `5`"), "{}", wrong("5 m"));
        assert!(wrong("5min").starts_with("`min` in"));
        assert!(wrong("-5s").starts_with("`-` in"));
        assert!(wrong("10").starts_with("no unit after `10`"));
        assert!(wrong("").starts_with("an empty duration"));
        assert!(wrong("99999999999d").contains("500 years"));
    }
}
