//! Cron schedules: five fields, or one of the `@` names.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

/// When something is to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both a day of the month and a weekday are given: either is enough.
    either_day: bool,
    /// `@every`: seconds between two times.
    every: Option<i64>,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Schedules that never come true are given up after so many days.
const HORIZON: i32 = 366 * 5;

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// A sentence that says which field is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(every) = text.strip_prefix("@every ") {
            return Self::every(every);
        }
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: {text:?}", fields.len()));
        };
        let any = |field: &str| field.starts_with('*') || field.starts_with('?');
        Ok(Self {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            weekdays: field(weekdays, 0, 6, &WEEKDAYS)?,
            either_day: !any(days) && !any(weekdays),
            every: None,
        })
    }

    /// The first time after `after`, in `zone`; none if there is none within five years.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Some(every) = self.every {
            return Timestamp::from_second(after.as_second() + every).ok();
        }
        let local = zone.to_datetime(after);
        let start = local
            .date()
            .at(local.hour(), local.minute(), 0, 0)
            .checked_add(1.minute())
            .ok()?;
        let mut date = start.date();
        for offset in 0..HORIZON {
            if offset > 0 {
                date = date.tomorrow().ok()?;
            }
            if !self.is_day(date.at(0, 0, 0, 0)) {
                continue;
            }
            for hour in 0..24 {
                if !has(self.hours, i64::from(hour)) || (offset == 0 && hour < start.hour()) {
                    continue;
                }
                let first = if offset == 0 && hour == start.hour() {
                    start.minute()
                } else {
                    0
                };
                if let Some(minute) = (first..60).find(|m| has(self.minutes, i64::from(*m))) {
                    let found = zone.to_timestamp(date.at(hour, minute, 0, 0)).ok()?;
                    if found > after {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    fn every(text: &str) -> Result<Self, String> {
        let span: Span = text
            .parse()
            .map_err(|_| format!("failed to parse duration @every {text}"))?;
        let seconds = span.total(jiff::Unit::Second).ok().filter(|s| *s >= 1.0 && *s < 1e9);
        let seconds = seconds.ok_or_else(|| format!("failed to parse duration @every {text}"))?;
        #[allow(clippy::cast_possible_truncation, reason = "bounded above")]
        let every = Some(seconds as i64);
        Ok(Self {
            minutes: 0,
            hours: 0,
            days: 0,
            months: 0,
            weekdays: 0,
            either_day: false,
            every,
        })
    }

    fn is_day(&self, date: DateTime) -> bool {
        let day = has(self.days, i64::from(date.day()));
        let weekday = has(self.weekdays, i64::from(date.date().weekday().to_sunday_zero_offset()));
        has(self.months, i64::from(date.month()))
            && if self.either_day {
                day || weekday
            } else {
                day && weekday
            }
    }
}

fn has(set: u64, value: i64) -> bool {
    set & (1 << value) != 0
}

fn field(text: &str, least: i64, most: i64, names: &[&str]) -> Result<u64, String> {
    let mut set = 0;
    for piece in text.split(',') {
        let (range, step) = match piece.split_once('/') {
            Some((range, step)) => {
                let step = step
                    .parse()
                    .ok()
                    .filter(|s| *s > 0)
                    .ok_or_else(|| format!("step of range should be a positive number: {piece}"))?;
                (range, Some(step))
            }
            None => (piece, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (value(first, least, names)?, value(last, least, names)?),
            None if range == "*" || range == "?" => (least, most),
            None => {
                let first = value(range, least, names)?;
                (first, if step.is_some() { most } else { first })
            }
        };
        if first < least || last > most || first > last {
            return Err(format!("{piece:?} is not within {least} to {most}"));
        }
        let step: i64 = step.unwrap_or(1);
        let mut at = first;
        while at <= last {
            set |= 1 << at;
            at += step.min(most + 1);
        }
    }
    Ok(set)
}

fn value(text: &str, least: i64, names: &[&str]) -> Result<i64, String> {
    let lower = text.to_ascii_lowercase();
    if let Some(at) = names.iter().position(|n| *n == lower) {
        return Ok(least + i64::try_from(at).unwrap_or(0));
    }
    text.parse()
        .ok()
        .filter(|v: &i64| (0..64).contains(v))
        .ok_or_else(|| format!("failed to parse int from {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule = Schedule::parse(schedule).expect("a schedule");
        schedule
            .next(after.parse().expect("a time"), &TimeZone::UTC)
            .map_or_else(String::new, |t| t.to_string())
    }

    #[test]
    fn fields_lists_ranges_steps_and_names_are_understood() {
        assert_eq!(next("* * * * *", "2026-01-01T00:00:30Z"), "2026-01-01T00:01:00Z");
        assert_eq!(
            next("*/15 8-10 * * MON", "2026-01-01T00:00:00Z"),
            "2026-01-05T08:00:00Z"
        );
        assert_eq!(next("5,50 * * * *", "2026-01-01T00:05:00Z"), "2026-01-01T00:50:00Z");
        assert_eq!(next("@daily", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
        assert_eq!(next("0 0 29 feb *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert_eq!(next("0 0 31 2 *", "2026-01-01T00:00:00Z"), "");
    }

    #[test]
    fn a_day_and_a_weekday_together_mean_either() {
        assert_eq!(next("0 0 13 * fri", "2026-01-03T00:00:00Z"), "2026-01-09T00:00:00Z");
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for bad in [
            "",
            "* * * *",
            "61 * * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "x * * * *",
            "@every soon",
        ] {
            assert!(Schedule::parse(bad).is_err(), "{bad}");
        }
    }
}
