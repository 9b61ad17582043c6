//! Paths into values, variables in steps, and how two values differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;

/// The value at a dotted path; a tilde in a part stands for a dot.
pub(crate) fn at(value: &Json, path: &str) -> Json {
    let mut here = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        here = match here {
            Json::Array(items) => match index(part, items.len()) {
                Some(index) => &items[index],
                None => return Json::Null,
            },
            Json::Object(_) => here.get(&part.replace('~', ".")),
            _ => return Json::Null,
        };
    }
    here.clone()
}

fn index(part: &str, length: usize) -> Option<usize> {
    let number: i64 = part.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if number < 0 { number + length } else { number };
    (0..length)
        .contains(&index)
        .then(|| usize::try_from(index).ok())
        .flatten()
}

/// Sets the value at a dotted path, making the objects on the way.
pub(crate) fn set_at(value: &mut Json, path: &str, new: Json) {
    let (part, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = part.replace('~', ".");
    if rest.is_empty() {
        return value.set(&name, new);
    }
    let mut below = value.get(&name).clone();
    if below.is_null() {
        below = Json::Object(Vec::new());
    }
    set_at(&mut below, rest, new);
    value.set(&name, below);
}

/// Takes out the value at a dotted path through objects.
pub(crate) fn take_at(value: &mut Json, path: &str) -> Option<Json> {
    let Json::Object(fields) = value else { return None };
    let (part, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = part.replace('~', ".");
    let place = fields.iter().position(|(field, _)| *field == name)?;
    if rest.is_empty() {
        return Some(fields.remove(place).1);
    }
    take_at(&mut fields[place].1, rest)
}

/// Removes what a dotted path names; `*` stands for every field or item.
pub(crate) fn drop(value: &mut Json, path: &str) {
    let parts: Vec<&str> = path.split('.').collect();
    drop_parts(value, &parts);
}

fn drop_parts(value: &mut Json, parts: &[&str]) {
    let Some((part, rest)) = parts.split_first() else {
        return;
    };
    match value {
        Json::Array(items) => {
            let rest = if *part == "*" { rest } else { parts };
            items.iter_mut().for_each(|item| drop_parts(item, rest));
        }
        Json::Object(fields) => {
            let wanted = part.replace('~', ".");
            if rest.is_empty() {
                fields.retain(|(name, _)| *part != "*" && *name != wanted);
            } else {
                for (_, field) in fields.iter_mut().filter(|(name, _)| *part == "*" || *name == wanted) {
                    drop_parts(field, rest);
                }
            }
        }
        _ => {}
    }
}

/// The values at some paths, by their paths.
pub(crate) fn keep(value: &Json, paths: &[Json]) -> Json {
    let kept = paths
        .iter()
        .filter_map(Json::as_str)
        .map(|path| (path.to_owned(), at(value, path)));
    Json::Object(kept.collect())
}

/// Variables of a case.
pub(crate) type Variables = BTreeMap<String, Json>;

/// The value with its `${variables}` filled in.
///
/// # Errors
///
/// The name of a variable that does not exist.
pub(crate) fn fill(value: &Json, variables: &Variables) -> Result<Json, String> {
    Ok(match value {
        Json::Object(fields) => {
            let mut filled = Json::Object(Vec::new());
            for (name, value) in fields {
                filled.set(&text(&fill_text(name, variables)?), fill(value, variables)?);
            }
            filled
        }
        Json::Array(items) => Json::Array(
            items
                .iter()
                .map(|item| fill(item, variables))
                .collect::<Result<_, _>>()?,
        ),
        Json::String(text) => fill_text(text, variables)?,
        other => other.clone(),
    })
}

fn fill_text(template: &str, variables: &Variables) -> Result<Json, String> {
    let whole = template.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(expression) = whole.filter(|e| !e.contains('}')) {
        return look_up(expression, variables);
    }
    let (mut out, mut rest) = (String::new(), template);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        out.push_str(&rest[..start]);
        out.push_str(&text(&look_up(&rest[start + 2..start + length], variables)?));
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    Ok(Json::String(out))
}

fn look_up(expression: &str, variables: &Variables) -> Result<Json, String> {
    let (head, path) = expression.split_once('.').unwrap_or((expression, ""));
    let value = variables
        .get(head)
        .ok_or_else(|| format!("unknown variable ${{{expression}}}"))?;
    Ok(at(value, path))
}

/// A value as text inside a longer one.
pub(crate) fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How `got` differs from `want`, one line per difference.
pub(crate) fn differences(want: &Json, got: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    compare(want, got, "", &mut lines);
    lines
}

fn compare(want: &Json, got: &Json, path: &str, lines: &mut Vec<String>) {
    let below = |part: &str| {
        if path.is_empty() {
            part.to_owned()
        } else {
            format!("{path}.{part}")
        }
    };
    match (want, got) {
        (Json::Object(wanted), Json::Object(gotten)) => {
            let names: BTreeSet<&String> = wanted.iter().chain(gotten).map(|(name, _)| name).collect();
            for name in names {
                match (want.has(name), got.has(name)) {
                    (true, true) => compare(want.get(name), got.get(name), &below(name), lines),
                    (true, false) => lines.push(format!("{}: missing, want {}", below(name), want.get(name).short())),
                    _ => lines.push(format!("{}: unexpected {}", below(name), got.get(name).short())),
                }
            }
        }
        (Json::Array(wanted), Json::Array(gotten)) => {
            if wanted.len() != gotten.len() {
                lines.push(format!("{path}: want {} items, got {}", wanted.len(), gotten.len()));
            }
            for (index, (want, got)) in wanted.iter().zip(gotten).enumerate() {
                compare(want, got, &below(&index.to_string()), lines);
            }
        }
        _ if want == got => {}
        _ => lines.push(format!("{path}: want {}, got {}", want.short(), got.short())),
    }
}
