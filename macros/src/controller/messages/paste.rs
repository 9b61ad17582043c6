//! Does what a message says: takes what stands in backticks after `write`, `add`, `as in` or `did you mean`, and puts it
//! where it belongs.

use std::ops::Range;

use crate::controller::keys;

/// The attribute as the message would have it; `None` where it leaves that to the reader.
pub(super) fn mend(wrong: &str, place: &str, message: &str) -> Option<String> {
    if message.starts_with("`for` is missing") {
        return Some(format!("for = App, {wrong}"));
    }
    if message.starts_with("nothing stands before this comma") {
        return Some(wrong.replacen(", ,", ",", 1).trim_start_matches([',', ' ']).to_owned());
    }
    let at = find(wrong, place)?;
    if message.contains("remove this") {
        return Some(replaced(wrong, &at, ""));
    }
    if message.contains("alone, or leave it out") {
        return Some(replaced(wrong, &part(wrong, &at), after(message, "write `")?));
    }
    if message.ends_with("is given twice: keep one")
        && (message.starts_with("`owns = ") || message.starts_with("`watches("))
    {
        let range = part(wrong, &at);
        let in_list = wrong[..range.start].ends_with('[') || wrong[range.end..].starts_with(']');
        return Some(without(wrong, &if in_list { range } else { whole(wrong, &at) }));
    }
    if message.contains("remove it") || message.contains("keep one") || message.contains("remove `") {
        return Some(without(wrong, &part(wrong, &at)));
    }
    if message.starts_with("expected `,` before") {
        return Some(format!("{}, {}", &wrong[..at.start], &wrong[at.start..]));
    }
    if message.starts_with("expected `,`, found") {
        return Some(replaced(wrong, &at, ","));
    }
    if message.contains(": add `") {
        return after(message, "add `").map(|proposal| added(wrong, &at, proposal));
    }
    let proposal = ["as in `", "write `", "did you mean `", "write \"", "as in \""]
        .iter()
        .find_map(|lead| Some((lead, after(message, lead)?)));
    let (lead, proposal) = proposal?;
    let quoted = wrong[at.clone()].starts_with('"');
    if lead.ends_with('"') || (quoted && proposal.starts_with('"')) {
        return Some(replaced(wrong, &at, &format!("\"{}\"", proposal.trim_matches('"'))));
    }
    let key: String = proposal
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let is_argument = proposal.len() > key.len() && proposal[key.len()..].trim_start().starts_with(['=', '(']);
    if !is_argument {
        let proposal = if quoted && *lead == "did you mean `" {
            format!("\"{proposal}\"")
        } else {
            proposal.to_owned()
        };
        return Some(replaced(wrong, &at, &proposal));
    }
    let mended = if keys::CONTROLLER.iter().any(|(known, _)| *known == key) && !is_inner(wrong, &at, &key) {
        replaced(wrong, &whole(wrong, &at), proposal)
    } else {
        replaced(wrong, &part(wrong, &at), proposal)
    };
    match after(message, "in place of `") {
        Some(other) => Some(without(&mended, &find(&mended, other)?)),
        None => Some(mended),
    }
}

/// What stands in backticks, or quotes, after `lead`.
fn after<'a>(message: &'a str, lead: &str) -> Option<&'a str> {
    let end = if lead.ends_with('"') { '"' } else { '`' };
    let rest = &message[message.find(lead)? + lead.len()..];
    rest.split(end).next()
}

/// Where the tokens of `place` stand, spaces apart: the last time.
fn find(wrong: &str, place: &str) -> Option<Range<usize>> {
    let place: String = place.split_whitespace().collect();
    if place.is_empty() {
        return None;
    }
    let letters: Vec<(usize, char)> = wrong.char_indices().filter(|(_, c)| !c.is_whitespace()).collect();
    let plain: String = letters.iter().map(|(_, c)| *c).collect();
    let start = plain[..plain.rfind(&place)?].chars().count();
    let end = start + place.chars().count();
    let (last, c) = letters[end - 1];
    Some(letters[start].0..last + c.len_utf8())
}

/// The element of the innermost list around `at`.
fn part(wrong: &str, at: &Range<usize>) -> Range<usize> {
    let start = edge(wrong[..at.start].char_indices().rev(), [')', ']'], ['(', '[']).map_or(0, |i| i + 1);
    let end = edge(wrong[at.end..].char_indices(), ['(', '['], [')', ']']).map_or(wrong.len(), |i| at.end + i);
    trimmed(wrong, start..end)
}

/// Where a list's element ends, seen from inside.
fn edge(letters: impl Iterator<Item = (usize, char)>, open: [char; 2], close: [char; 2]) -> Option<usize> {
    let mut depth = 0_i32;
    for (i, c) in letters {
        match c {
            c if open.contains(&c) => depth += 1,
            c if close.contains(&c) && depth == 0 => return Some(i),
            c if close.contains(&c) => depth -= 1,
            ',' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// The whole argument around `at`.
fn whole(wrong: &str, at: &Range<usize>) -> Range<usize> {
    let commas = wrong
        .match_indices(',')
        .map(|(i, _)| i)
        .filter(|i| !is_nested(wrong, *i));
    let ends: Vec<usize> = commas.chain([wrong.len()]).collect();
    let start = ends.iter().rev().find(|end| **end < at.start).map_or(0, |end| end + 1);
    let end = ends.iter().find(|end| **end >= at.end).copied().unwrap_or(wrong.len());
    trimmed(wrong, start..end)
}

fn is_nested(wrong: &str, at: usize) -> bool {
    let count = |c: [char; 2]| wrong[..at].matches(c).count();
    count(['(', '[']) > count([')', ']'])
}

/// Whether `key` is one of the list that `at` stands in: `labels` is a key of both.
fn is_inner(wrong: &str, at: &Range<usize>, key: &str) -> bool {
    is_nested(wrong, at.start) && keys::OWNS.iter().chain(keys::RBAC).any(|(known, _)| *known == key)
}

fn trimmed(wrong: &str, range: Range<usize>) -> Range<usize> {
    let text = &wrong[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

fn replaced(wrong: &str, range: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &wrong[..range.start], &wrong[range.end..])
}

fn without(wrong: &str, range: &Range<usize>) -> String {
    let (before, after) = (wrong[..range.start].trim_end(), wrong[range.end..].trim_start());
    match (before.strip_suffix(','), after.strip_prefix(',')) {
        (Some(before), _) => format!("{before}{after}"),
        (None, Some(after)) => format!("{before}{}", after.trim_start()),
        (None, None) => format!("{before}{after}"),
    }
}

/// `proposal` beside what stands at `at`: inside, where that is a list.
fn added(wrong: &str, at: &Range<usize>, proposal: &str) -> String {
    if wrong[at.clone()].starts_with('(') {
        return format!("{}, {proposal}{}", &wrong[..at.end - 1], &wrong[at.end - 1..]);
    }
    let end = part(wrong, at).end;
    format!("{}, {proposal}{}", &wrong[..end], &wrong[end..])
}
