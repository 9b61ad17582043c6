//! Cron schedules: whether one is well-formed, in the words of the parser that the real server uses.

/// The areas that names of time zones begin with.
pub(super) const AREAS: [&str; 11] = [
    "Africa/",
    "America/",
    "Antarctica/",
    "Arctic/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Etc/",
    "Europe/",
    "Indian/",
    "Pacific/",
];

const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What is wrong with a schedule; `None` when nothing is.
pub(super) fn fault(schedule: &str) -> Option<String> {
    if schedule.starts_with('@') {
        let every = schedule.strip_prefix("@every ");
        if let Some(duration) = every {
            let known = crate::schema::format::go_duration(duration).is_some();
            return (!known)
                .then(|| format!("failed to parse duration {schedule}: time: invalid duration {duration:?}"));
        }
        return (!DESCRIPTORS.contains(&schedule)).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let bounds: [(u32, u32, &[&str]); 5] = [
        (0, 59, &[]),
        (0, 23, &[]),
        (1, 31, &[]),
        (1, 12, &MONTHS),
        (0, 6, &DAYS),
    ];
    fields
        .iter()
        .zip(bounds)
        .find_map(|(field, bound)| field.split(',').find_map(|part| part_fault(part, bound)))
}

fn part_fault(part: &str, (least, most, names): (u32, u32, &[&str])) -> Option<String> {
    let (range, step) = part
        .split_once('/')
        .map_or((part, None), |(range, step)| (range, Some(step)));
    if part.matches('/').count() > 1 {
        return Some(format!("too many slashes: {part}"));
    }
    let number = |text: &str| -> Result<u32, String> {
        if let Some(at) = names.iter().position(|name| text.eq_ignore_ascii_case(name)) {
            return Ok(least + u32::try_from(at).unwrap_or(0));
        }
        text.parse::<u32>()
            .map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let (start, end) = match range {
        "*" | "?" => (least, most),
        _ => {
            if range.matches('-').count() > 1 {
                return Some(format!("too many hyphens: {part}"));
            }
            let (first, last) = range.split_once('-').map_or((range, None), |(a, b)| (a, Some(b)));
            let start = match number(first) {
                Ok(start) => start,
                Err(why) => return Some(why),
            };
            let end = match last.map(number) {
                Some(Ok(end)) => end,
                Some(Err(why)) => return Some(why),
                None if step.is_some() => most,
                None => start,
            };
            (start, end)
        }
    };
    if let Some(step) = step {
        match number(step) {
            Ok(0) => return Some(format!("step of range should be a positive number: {part}")),
            Ok(_) => {}
            Err(why) => return Some(why),
        }
    }
    if start < least {
        return Some(format!("beginning of range ({start}) below minimum ({least}): {part}"));
    }
    if end > most {
        return Some(format!("end of range ({end}) above maximum ({most}): {part}"));
    }
    (start > end).then(|| format!("beginning of range ({start}) beyond end of range ({end}): {part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_told_from_what_is_none() {
        for good in [
            "*/5 * * * *",
            "0 9-17 * * mon-fri",
            "@daily",
            "@every 5m",
            "0,30 1 1 jan *",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
        for (bad, why) in [
            ("every day", "expected exactly 5 fields, found 2: [every day]"),
            ("61 * * * *", "end of range (61) above maximum (59): 61"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("@never", "unrecognized descriptor: @never"),
        ] {
            assert_eq!(fault(bad).as_deref(), Some(why));
        }
    }
}
