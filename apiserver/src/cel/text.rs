//! Errors with their place in the expression, the way the compiler prints them.

use kube_cel::cel::ParseErrors;

/// The longest expression that is parsed.
pub(super) const LONGEST: usize = 64 * 1024;

/// `ERROR: <input>:1:5: message` with the line and a mark below it. `at` counts bytes.
pub(super) fn error(text: &str, at: usize, message: &str) -> String {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    marked(text, line, column, message)
}

/// Everything that the parser found.
pub(super) fn syntax(text: &str, errors: &ParseErrors) -> String {
    let lines = errors.errors.iter().map(|error| {
        let (line, column) = (
            usize::try_from(error.pos.0).unwrap_or(1),
            usize::try_from(error.pos.1).unwrap_or(1),
        );
        let message = if error.msg.starts_with("Syntax error") {
            error.msg.clone()
        } else {
            format!("Syntax error: {}", error.msg)
        };
        marked(text, line.saturating_sub(1), column.saturating_sub(1), &message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Where a name first stands on its own in an expression.
pub(super) fn position(text: &str, name: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .find(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(|c| part(c) || c == '.') && !after.is_some_and(part)
        })
        .map_or(0, |(at, _)| at)
}

fn marked(text: &str, line: usize, column: usize, message: &str) -> String {
    let source = text.lines().nth(line).unwrap_or_default();
    format!(
        "ERROR: <input>:{}:{}: {message}\n | {source}\n | {}^",
        line + 1,
        column + 1,
        ".".repeat(column)
    )
}
