//! YAML bodies and answers, in the dialect of Kubernetes: YAML 1.1 booleans, only the first document.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::json::{Complaint, EntryKey, Key, Parsed, Twice, collect};
use super::yaml_words;
use crate::error::quoted;
use serde_saphyr::Spanned;

/// Parses the first document of a body.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn parse(text: &[u8], twice: Twice) -> Result<Parsed, String> {
    // Most clients apply JSON, which is YAML too; what is wrong with it, YAML's parser says.
    if text.first() == Some(&b'{')
        && let Ok(parsed) = super::json::parse(text, twice)
        && parsed.duplicates.is_empty()
    {
        return Ok(parsed);
    }
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    serde_saphyr::with_deserializer_from_str_with_options(first_document(text), options, |deserializer| {
        collect::<Spanned<Key>, _>(deserializer, twice)
    })
    .map_err(|error| yaml_words::of(&error.to_string(), text))
}

impl EntryKey<'_> for Spanned<Key> {
    fn split(self) -> (Complaint, String) {
        let Key { text, bare } = self.value;
        let shown = if bare { text.clone() } else { quoted(&text) };
        (Complaint::Line(self.referenced.line(), shown), text)
    }
}

/// Writes a value as the real server does: keys sorted, lists not indented.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn first_document(text: &str) -> &str {
    let body = text.strip_prefix("---\n").unwrap_or(text);
    body.split_once("\n---").map_or(body, |(first, _)| first)
}

fn block(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    indent(depth, text);
                }
                text.push_str(&scalar(key, depth));
                text.push(':');
                member(value, depth, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    indent(depth, text);
                }
                text.push_str("- ");
                block(item, depth + 1, text);
            }
        }
        Value::Object(_) => text.push_str("{}\n"),
        Value::Array(_) => text.push_str("[]\n"),
        Value::String(word) => {
            text.push_str(&scalar(word, depth));
            text.push('\n');
        }
        other => {
            text.push_str(&other.to_string());
            text.push('\n');
        }
    }
}

/// What follows a key: on the same line for scalars and empty containers, else below it.
fn member(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            indent(depth + 1, text);
            block(value, depth + 1, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            indent(depth, text);
            block(value, depth, text);
        }
        _ => {
            text.push(' ');
            block(value, depth, text);
        }
    }
}

fn indent(depth: usize, text: &mut String) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}

/// A text as a YAML scalar: plain where that reads back as the same text, else quoted or as a literal block.
fn scalar(word: &str, depth: usize) -> String {
    if word.contains('\n') && !word.starts_with([' ', '\n']) && word.chars().all(|c| c == '\n' || !c.is_control()) {
        let chomping = match word.len() - word.trim_end_matches('\n').len() {
            0 => "-",
            1 => "",
            _ => "+",
        };
        let mut block = format!("|{chomping}");
        for line in word.strip_suffix('\n').unwrap_or(word).split('\n') {
            block.push('\n');
            if !line.is_empty() {
                indent(depth + 1, &mut block);
                block.push_str(line);
            }
        }
        return block;
    }
    if is_plain(word) {
        word.to_owned()
    } else {
        Value::from(word).to_string()
    }
}

/// Texts that YAML 1.1 reads as something else: numbers, sexagesimal ones included, dates, infinities.
static NO_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let numbers =
        r"[-+]?(0x[0-9a-fA-F_]+|0o?[0-7_]+|0b[01_]+|[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?([eE][-+]?[0-9]+)?)";
    let others =
        r"[-+]?\.([0-9][0-9_]*([eE][-+]?[0-9]+)?|inf|Inf|INF)|\.(nan|NaN|NAN)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?";
    Regex::new(&format!("^({numbers}|{others})$")).ok()
});

fn is_plain(word: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ""];
    let first = word.chars().next().unwrap_or(' ');
    let lone = matches!(word, "-" | "?" | ":" | "=" | "<<") || word.starts_with("- ") || word.starts_with("? ");
    let unsafe_first = ",[]{}#&*!|>'\"%@`".contains(first) || first.is_whitespace();
    !(unsafe_first
        || lone
        || word.ends_with([' ', ':'])
        || word.contains(": ")
        || word.contains(" #")
        || word.starts_with("---")
        || word.chars().any(char::is_control)
        || WORDS.contains(&word.to_ascii_lowercase().as_str())
        || NO_TEXT.as_ref().is_none_or(|pattern| pattern.is_match(word)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let value = json!({
            "a": { "b": [1, { "c": "x", "d": [] }, "two\nlines\n"], "e": {} },
            "no": "yes", "n": null, "t": "2024-01-01T00:00:00Z", "q": ": #", "m": "a\n\nb", "i": "12", "f": 1.5,
        });
        let text = write(&value);
        assert_eq!(parse(text.as_bytes(), Twice::Merge).unwrap().value, value, "{text}");
    }

    #[test]
    fn only_what_reads_as_something_else_is_quoted() {
        let shown = |word: &str| scalar(word, 0);
        for plain in [".", "63d42372-6604-44d4", "1.36.0", "a:b", "-x", "10.0.0.1", "f:data"] {
            assert_eq!(shown(plain), plain);
        }
        for quoted in [
            "12",
            "1e5",
            "12:30:45",
            "2024-01-01T00:00:00Z",
            "0x1F",
            ".5",
            "yes",
            "- a",
            "a: b",
            "1_000",
        ] {
            assert_eq!(shown(quoted), format!("{quoted:?}"));
        }
    }

    #[test]
    fn bare_words_of_yaml_1_1_are_booleans() {
        let parsed = parse(b"on: off\nn: 'no'\nx: y\n", Twice::Merge).unwrap();
        assert_eq!(parsed.value, json!({ "true": false, "false": "no", "x": true }));
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(
            parse(b"---\na: 1\n---\nb: [", Twice::Merge).unwrap().value,
            json!({ "a": 1 })
        );
    }
}
