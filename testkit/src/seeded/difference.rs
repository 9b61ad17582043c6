//! Where two stories part.

use std::fmt::Write as _;

/// Lines shown before the place, and of each story from there on.
const BEFORE: usize = 4;
const AFTER: usize = 3;

/// The place at which two texts part, for people: the lines before it, then both. `None` where they are the same.
pub(super) fn between(first: &str, second: &str) -> Option<String> {
    let (first, second): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    let same = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
    if same == first.len() && same == second.len() {
        return None;
    }
    let width = (same + AFTER).to_string().len().max(3);
    let mut text = String::new();
    for (index, line) in first.iter().enumerate().take(same).skip(same.saturating_sub(BEFORE)) {
        let _ = writeln!(text, "{:>width$}   {line}", index + 1);
    }
    for (run, lines) in [(1, &first), (2, &second)] {
        for (index, line) in lines.iter().enumerate().skip(same).take(AFTER) {
            let _ = writeln!(text, "{:>width$} {run} {line}", index + 1);
        }
        if lines.len() == same {
            let _ = writeln!(text, "{:>width$} {run} (the story ends here)", same + 1);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_at_which_they_part_is_shown_with_what_went_before() {
        let first = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
        let second = "a\nb\nc\nd\ne\nX\ng\nh\ni\n";
        let expected = "  2   b\n  3   c\n  4   d\n  5   e\n  6 1 f\n  7 1 g\n  8 1 h\n  6 2 X\n  7 2 g\n  8 2 h\n";
        assert_eq!(between(first, second).as_deref(), Some(expected));
    }

    #[test]
    fn a_story_that_is_the_beginning_of_the_other_ends_there() {
        let expected = "  1   a\n  2 1 (the story ends here)\n  2 2 b\n";
        assert_eq!(between("a\n", "a\nb\n").as_deref(), Some(expected));
        assert_eq!(between("a\n", "a\n"), None);
    }
}
