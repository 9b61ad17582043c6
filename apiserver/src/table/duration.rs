//! Durations in the short form of ages: `5s`, `3m20s`, `4h`, `2d3h`, `3y`.

use jiff::SignedDuration;

/// The duration, the coarser the longer it is; `<invalid>` for one below zero.
pub(super) fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if duration.is_negative() {
        return "0s".to_owned();
    }
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |first: i64, unit: char, rest: i64, smaller: char| {
        if rest == 0 {
            format!("{first}{unit}")
        } else {
            format!("{first}{unit}{rest}{smaller}")
        }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, 'd', hours % 24, 'h')
    } else if days < 2 * 365 {
        format!("{days}d")
    } else if days < 8 * 365 {
        two(days / 365, 'y', days % 365, 'd')
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_duration_the_coarser_it_is_shown() {
        let shown = |seconds: i64| human(SignedDuration::from_secs(seconds));
        assert_eq!(shown(-5), "<invalid>");
        assert_eq!(shown(-1), "0s");
        assert_eq!(shown(119), "119s");
        assert_eq!(shown(120), "2m");
        assert_eq!(shown(200), "3m20s");
        assert_eq!(shown(11 * 60 + 5), "11m");
        assert_eq!(shown(3 * 3600), "3h");
        assert_eq!(shown(3 * 3600 + 300), "3h5m");
        assert_eq!(shown(9 * 3600 + 300), "9h");
        assert_eq!(shown(3 * 86_400 + 7200), "3d2h");
        assert_eq!(shown(100 * 86_400), "100d");
        assert_eq!(shown(3 * 365 * 86_400), "3y");
        assert_eq!(shown(9 * 365 * 86_400 + 86_400), "9y");
    }
}
