/// Checks a time as RFC 3339 writes it in UTC: `2026-03-01T12:00:00Z`.
pub(crate) fn check_timestamp(text: &str) -> Result<(), String> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00Z";
    let fits = |(found, shape): (u8, u8)| {
        if shape == b'0' {
            found.is_ascii_digit()
        } else {
            found == shape
        }
    };
    if text.len() != SHAPE.len() || !text.bytes().zip(SHAPE.iter().copied()).all(fits) {
        return Err(format!(
            "\"{text}\" is no time in UTC: write it as in \"2026-03-01T12:00:00Z\""
        ));
    }
    let part = |from: usize, to: usize| text[from..to].parse::<u32>().unwrap_or(u32::MAX);
    let limits = [
        ("month", part(5, 7), 1, 12),
        ("day", part(8, 10), 1, days(part(0, 4), part(5, 7))),
        ("hour", part(11, 13), 0, 23),
        ("minute", part(14, 16), 0, 59),
        ("second", part(17, 19), 0, 59),
    ];
    for (name, value, least, most) in limits {
        if !(least..=most).contains(&value) {
            return Err(format!(
                "\"{text}\" has no {name} {value:02}: it goes from {least} to {most}"
            ));
        }
    }
    Ok(())
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc_and_exist() {
        assert_eq!(check_timestamp("2028-02-29T23:59:59Z"), Ok(()));
        let wrong = |text| check_timestamp(text).expect_err("no time");
        assert!(wrong("2026-03-01").contains("is no time in UTC"));
        assert!(wrong("2026-03-01T12:00:00+01:00").contains("is no time in UTC"));
        assert!(wrong("2026-02-29T00:00:00Z").contains("no day 29: it goes from 1 to 28"));
        assert!(wrong("2026-13-01T00:00:00Z").contains("no month 13"));
        assert!(wrong("2026-01-01T24:00:00Z").contains("no hour 24"));
    }
}
