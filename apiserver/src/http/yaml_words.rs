//! The words in which Go's YAML library complains about a text.

use super::json::{NULL_KEY, NULL_KEY_END};

/// Which line Go's library names: its scanner has moved on to the next when it complains, its parser has not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Scanner,
    Parser,
}

/// What our parser says, who says it in Go, and how.
const WORDS: &[(&str, By, &str)] = &[
    ("mismatched bracket", By::Parser, "did not find expected node content"),
    ("misplaced bracket", By::Parser, "did not find expected node content"),
    ("unclosed bracket '['", By::Parser, "did not find expected ',' or ']'"),
    ("unclosed bracket '{'", By::Parser, "did not find expected ',' or '}'"),
    (
        "mapping values are not allowed",
        By::Scanner,
        "mapping values are not allowed in this context",
    ),
    (
        "tabs disallowed",
        By::Scanner,
        "found character that cannot start any token",
    ),
    (
        "unexpected character",
        By::Scanner,
        "found character that cannot start any token",
    ),
    ("unclosed quote", By::Scanner, "found unexpected end of stream"),
    (
        "did not find expected '-' indicator",
        By::Parser,
        "did not find expected '-' indicator",
    ),
    ("did not find expected key", By::Parser, "did not find expected key"),
    (
        "illegal placement of ':'",
        By::Parser,
        "did not find expected ',' or ']'",
    ),
];

/// What is said of a text for which our parser says `error`; it adds an excerpt of the text.
pub(super) fn of(error: &str, text: &str) -> String {
    if let Some(at) = error.find(NULL_KEY) {
        let refusal = &error[at..];
        return refusal.split(NULL_KEY_END).next().unwrap_or(refusal).to_owned();
    }
    let line = error.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let (place, said) = line.split_once(": ").unwrap_or(("", line));
    let number = |word: &str| {
        let after = place.split_once(word)?.1;
        after.split(' ').next()?.parse::<usize>().ok()
    };
    let (row, column) = (number("line ").unwrap_or(1), number("column ").unwrap_or(1));
    if said.starts_with("alias references unknown anchor") {
        let name = anchor(text, row, column);
        return format!("yaml: unknown anchor '{name}' referenced");
    }
    let Some((_, by, words)) = WORDS.iter().find(|(ours, ..)| said.contains(ours)) else {
        return format!("yaml: {said}");
    };
    // What is never closed begins in a row, or is missed where the text ends.
    let open = said.starts_with("unclosed");
    let index = match row - 1 {
        0 if open => text.matches('\n').count(),
        index => index,
    };
    match (index, by) {
        (0, _) => format!("yaml: {words}"),
        (index, By::Scanner) => format!("yaml: line {}: {words}", index + 1),
        (index, By::Parser) => format!("yaml: line {index}: {words}"),
    }
}

/// The name of the anchor that is referred to in a place.
fn anchor(text: &str, row: usize, column: usize) -> &str {
    let line = text.lines().nth(row - 1).unwrap_or_default();
    let at = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
    let name = line[at..].trim_start_matches('*');
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .unwrap_or(name.len());
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::super::json::Twice;
    use super::super::yaml;

    #[test]
    fn texts_are_refused_in_gos_words() {
        for (text, words) in [
            ("{a: [}", "yaml: did not find expected node content"),
            (
                "a: 1\nb: c: d",
                "yaml: line 2: mapping values are not allowed in this context",
            ),
            ("a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
            ("a: 'x", "yaml: found unexpected end of stream"),
            ("a: [1,\n2\n", "yaml: line 2: did not find expected ',' or ']'"),
            ("- a\nb: c", "yaml: line 1: did not find expected '-' indicator"),
            ("a: *b", "yaml: unknown anchor 'b' referenced"),
            (
                "{1: one, null: four}",
                "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"four\"",
            ),
        ] {
            assert_eq!(
                yaml::parse(text.as_bytes(), Twice::Replace).unwrap_err(),
                words,
                "{text}"
            );
        }
    }
}
