//! What differs between two texts, for people.

use similar::TextDiff;

/// The lines that differ, `-` before those of `before` and `+` before those of `after`, with two lines around them.
pub(crate) fn lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = diff
        .unified_diff()
        .context_radius(2)
        .missing_newline_hint(false)
        .to_string();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_with_what_is_around_it() {
        let before = "a\nb\nc\nd\ne\nf\n";
        let text = lines(before, &before.replace('e', "x"));
        assert!(text.contains("-e\n+x\n"), "{text}");
        assert!(text.contains(" d\n") && !text.contains(" a\n"), "{text}");
        assert_eq!(lines(before, before), "");
    }
}
