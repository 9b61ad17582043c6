//! Turns what differs from run to run into names by order of first appearance: `<uid 1>`, `<rv 2>`, `<time>`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::json::Json;

static UUID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"([rR][eE][sS][oO][uU][rR][cC][eE] ?[vV][eE][rR][sS][iI][oO][nN]\D{0,12}|[cC]urrent: )\d+( \(\d+\))?")
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a literal")
}

/// The names given so far in one case.
pub(crate) struct Names {
    literals: Vec<(String, String)>,
    seen: BTreeMap<(&'static str, String), String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    /// Names with texts to be replaced wherever they show.
    pub(crate) fn new(literals: Vec<(String, String)>) -> Self {
        Self {
            literals,
            seen: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Gives the names that were made from `generateName` their names before any text is looked at: a review tells one
    /// before the object that has it.
    pub(crate) fn note_all_generated(&mut self, value: &Json) {
        self.note_generated(value);
        match value {
            Json::Object(fields) => fields.iter().for_each(|(_, value)| self.note_all_generated(value)),
            Json::Array(items) => items.iter().for_each(|item| self.note_all_generated(item)),
            _ => {}
        }
    }

    /// A text without what differs from run to run, to sort by.
    pub(crate) fn scrubbed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, label) in &self.literals {
            text = text.replace(value, label);
        }
        let text = UUID.replace_all(&text, "<uid>");
        let text = TIME.replace_all(&text, "<time>");
        static REVISION: LazyLock<Regex> = LazyLock::new(|| regex(r#""resourceVersion":"\d+""#));
        REVISION.replace_all(&text, r#""resourceVersion":"n""#).into_owned()
    }

    /// The value with names in it.
    pub(crate) fn clean(&mut self, value: &Json) -> Json {
        self.clean_field(value, "")
    }

    fn clean_field(&mut self, value: &Json, field: &str) -> Json {
        match value {
            Json::Object(fields) => {
                self.note_generated(value);
                let mut cleaned = Json::Object(Vec::new());
                for (name, value) in fields {
                    let key = self.text(name);
                    let value = self.clean_field(value, name);
                    cleaned.set(&key, value);
                }
                cleaned
            }
            Json::Array(items) => Json::Array(items.iter().map(|item| self.clean(item)).collect()),
            Json::String(text) => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                match field {
                    "resourceVersion" if digits && text != "0" => Json::String(self.name("rv", text)),
                    "continue" if !text.is_empty() => Json::String(self.name("continue", text)),
                    _ => Json::String(self.text(text)),
                }
            }
            other => other.clone(),
        }
    }

    /// A name made from `generateName` gets a name of its own.
    fn note_generated(&mut self, object: &Json) {
        let (Some(base), Some(name)) = (object.get("generateName").as_str(), object.get("name").as_str()) else {
            return;
        };
        if name.starts_with(base) && name.len() > base.len() && self.literals.iter().all(|(value, _)| value != name) {
            let count = self.count("generated");
            self.literals
                .push((name.to_owned(), format!("{base}<generated {count}>")));
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, label) in &self.literals {
            text = text.replace(value, label);
        }
        let text = UUID
            .replace_all(&text, |found: &Captures<'_>| self.name("uid", &found[0]))
            .into_owned();
        let text = TIME.replace_all(&text, "<time>");
        VERSION.replace_all(&text, "${1}<n>").into_owned()
    }

    fn name(&mut self, kind: &'static str, value: &str) -> String {
        let key = (kind, value.to_owned());
        if let Some(name) = self.seen.get(&key) {
            return name.clone();
        }
        let name = format!("<{kind} {}>", self.count(kind));
        self.seen.insert(key, name.clone());
        name
    }

    fn count(&mut self, kind: &'static str) -> usize {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        *count
    }
}
