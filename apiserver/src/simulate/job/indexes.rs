//! Sets of completion indexes, as status and annotations write them: `0-2,5`.

use std::collections::BTreeSet;

/// The indexes in a text; what cannot be read, or lies beyond `limit`, is left out.
pub(super) fn parse(text: &str, limit: i64) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for piece in text.split(',').filter(|p| !p.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) else {
            continue;
        };
        found.extend(first.max(0)..=last.min(limit - 1));
    }
    found
}

/// The text of a set. Two or more neighbours are written as a range, except that two are listed (`3,4`).
pub(super) fn format(indexes: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let write = |(first, last): &(i64, i64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(write).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_survive_being_written_and_read() {
        let set: BTreeSet<i64> = [0, 1, 2, 4, 6, 7].into();
        assert_eq!(format(&set), "0-2,4,6,7");
        assert_eq!(parse("0-2,4,6,7", 10), set);
        assert_eq!(parse("0-2,9-99999999999", 5), [0, 1, 2].into());
    }
}
