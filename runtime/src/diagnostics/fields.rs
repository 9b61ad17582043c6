//! Which fields differ between two versions of an object: paths, never values.

use std::borrow::Cow;
use std::fmt;

use crate::cache::{Cached, Cursor, JsonError};

/// How deep paths go; what differs below is told by the path above it.
const DEPTH: usize = 12;

/// What differs between the first and the last version that a change stands for.
///
/// While a key waits this holds both versions, as the cache holds them; when its run starts, and for whoever asks
/// before that, the paths are worked out. They name fields, so nothing that an object holds ever shows in them.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    paths: Vec<Cow<'static, str>>,
    more: usize,
    /// The versions whose difference has not been worked out.
    between: Option<Box<(Cached, Cached)>>,
}

impl Fields {
    /// How many paths are kept; of the others only the number is.
    pub const LIMIT: usize = 8;

    /// Paths that are known.
    pub fn new(paths: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        let mut fields = Self::default();
        for path in paths {
            fields.push(path.into());
        }
        fields
    }

    /// What differs between two versions. Costs nothing before somebody asks.
    #[must_use]
    pub fn between(old: &Cached, new: &Cached) -> Self {
        Self {
            between: Some(Box::new((old.clone(), new.clone()))),
            ..Self::default()
        }
    }

    /// The paths, as `spec.replicas`, `spec.containers[0].image`, `metadata.labels[example.com/tier]`; at most
    /// [`Fields::LIMIT`], in the object's order. Empty where nothing differs but what the server keeps for itself.
    #[must_use]
    pub fn paths(&self) -> Cow<'_, [Cow<'static, str>]> {
        if self.between.is_none() {
            return Cow::Borrowed(&self.paths);
        }
        let mut settled = self.clone();
        settled.settle();
        Cow::Owned(settled.paths)
    }

    /// How many paths came on top of those kept, once they have been worked out.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Whether two versions differ at `path` or below it. A path through a list ends at the list.
    pub(crate) fn differ_at(old: &Cached, new: &Cached, path: &str) -> bool {
        let (old, new) = (old.json(), new.json());
        let found = |object| at(object, path).ok().flatten();
        found(&old) != found(&new)
    }

    /// Works the paths out and lets go of the two versions.
    pub(crate) fn settle(&mut self) {
        let Some(between) = self.between.take() else { return };
        let (old, new) = *between;
        let (old, new) = (old.json(), new.json());
        // A body that cannot be read is told when it is decoded.
        let _ = self.compare(&old, &new);
    }

    /// Takes in what a later change of the same object changed.
    pub(crate) fn merge(&mut self, later: Self) {
        if let (Some(mine), Some(theirs)) = (&mut self.between, &later.between) {
            mine.1 = theirs.1.clone();
            return;
        }
        let mut later = later;
        self.settle();
        later.settle();
        for path in later.paths {
            self.push(path);
        }
        self.more += later.more;
    }

    fn push(&mut self, path: Cow<'static, str>) {
        if self.paths.contains(&path) {
            return;
        }
        if self.paths.len() < Self::LIMIT {
            self.paths.push(path);
        } else {
            self.more += 1;
        }
    }

    fn compare(&mut self, old: &[u8], new: &[u8]) -> Result<(), JsonError> {
        let mut at = String::new();
        self.members(old, new, &mut at, 0)
    }

    fn value(&mut self, old: &[u8], new: &[u8], at: &mut String, depth: usize) -> Result<(), JsonError> {
        if old == new || is_the_servers(at) {
            return Ok(());
        }
        match (old.first(), new.first()) {
            (Some(b'{'), Some(b'{')) if depth < DEPTH => self.members(old, new, at, depth),
            (Some(b'['), Some(b'[')) if depth < DEPTH => self.elements(old, new, at, depth),
            _ => {
                self.push(Cow::Owned(at.clone()));
                Ok(())
            }
        }
    }

    fn members(&mut self, old: &[u8], new: &[u8], at: &mut String, depth: usize) -> Result<(), JsonError> {
        let (old, new) = (members(old)?, members(new)?);
        let end = at.len();
        for (place, (key, value)) in new.iter().enumerate() {
            push_key(at, key);
            // Most often the members are the same, in the same order.
            let before = old.get(place).filter(|(other, _)| other == key);
            let before = before.or_else(|| old.iter().find(|(other, _)| other == key));
            match before {
                Some((_, before)) => self.value(before, value, at, depth + 1)?,
                None if is_the_servers(at) => {}
                None => self.push(Cow::Owned(at.clone())),
            }
            at.truncate(end);
        }
        for (key, _) in old.iter().filter(|(key, _)| new.iter().all(|(other, _)| other != key)) {
            push_key(at, key);
            if !is_the_servers(at) {
                self.push(Cow::Owned(at.clone()));
            }
            at.truncate(end);
        }
        Ok(())
    }

    fn elements(&mut self, old: &[u8], new: &[u8], at: &mut String, depth: usize) -> Result<(), JsonError> {
        let (old, new) = (elements(old)?, elements(new)?);
        if old.len() != new.len() {
            self.push(Cow::Owned(at.clone()));
            return Ok(());
        }
        let end = at.len();
        for (index, (old, new)) in old.into_iter().zip(new).enumerate() {
            at.push_str(&format!("[{index}]"));
            self.value(old, new, at, depth + 1)?;
            at.truncate(end);
        }
        Ok(())
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.paths() == other.paths()
    }
}

impl Eq for Fields {}

/// `spec.replicas, status.seen`.
impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settled = Cow::Borrowed(self);
        if self.between.is_some() {
            settled.to_mut().settle();
        }
        f.write_str(&settled.paths.join(", "))?;
        if settled.more > 0 {
            write!(f, " and {} more", settled.more)?;
        }
        Ok(())
    }
}

/// What the server changes with every write; it says nothing that another path does not.
fn is_the_servers(path: &str) -> bool {
    matches!(
        path,
        "metadata.resourceVersion" | "metadata.managedFields" | "metadata.generation"
    )
}

fn push_key(at: &mut String, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    if key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    {
        if !at.is_empty() {
            at.push('.');
        }
        at.push_str(&key);
    } else {
        at.push('[');
        at.push_str(&key);
        at.push(']');
    }
}

/// The value at a path, as text; `None` where there is none.
fn at<'a>(object: &'a [u8], path: &str) -> Result<Option<&'a [u8]>, JsonError> {
    if path.is_empty() {
        return Ok(Some(object));
    }
    if object.first() != Some(&b'{') {
        return Ok(Some(object));
    }
    for (key, value) in members(object)? {
        let mut word = String::new();
        push_key(&mut word, key);
        let rest = path.strip_prefix('.').unwrap_or(path).strip_prefix(&*word);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
            return at(value, rest);
        }
    }
    Ok(None)
}

/// A key and what it holds, both as they are written.
type Member<'a> = (&'a [u8], &'a [u8]);

fn members(object: &[u8]) -> Result<Vec<Member<'_>>, JsonError> {
    let mut found = Vec::new();
    Cursor::new(object).members(|key, value| {
        found.push((key, value.raw()?));
        Ok::<(), JsonError>(())
    })?;
    Ok(found)
}

fn elements(array: &[u8]) -> Result<Vec<&[u8]>, JsonError> {
    let mut found = Vec::new();
    Cursor::new(array).elements(|value| {
        found.push(value.raw()?);
        Ok::<(), JsonError>(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kind::Kind;

    fn object(rest: &Value) -> Cached {
        let mut object = json!({
            "apiVersion": "demo.dev/v1", "kind": "App",
            "metadata": { "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1" },
        });
        for (member, value) in rest.as_object().expect("an object") {
            match (member.as_str(), value.as_object()) {
                ("metadata", Some(metadata)) => {
                    for (field, value) in metadata {
                        object["metadata"][field] = value.clone();
                    }
                }
                _ => object[member] = value.clone(),
            }
        }
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        Cached::parse(&kind, object.to_string().into(), "").expect("an object")
    }

    fn differ(old: &Value, new: &Value) -> String {
        Fields::between(&object(old), &object(new)).to_string()
    }

    #[test]
    fn paths_name_the_innermost_field_that_differs() {
        let old = json!({ "spec": { "replicas": 1, "containers": [{ "image": "a", "name": "x" }], "gone": true },
            "status": { "seen": "1" } });
        let new = json!({ "spec": { "replicas": 2, "containers": [{ "image": "b", "name": "x" }], "come": {} },
            "status": { "seen": "1" } });
        assert_eq!(
            differ(&old, &new),
            "spec.come, spec.containers[0].image, spec.replicas, spec.gone"
        );
        let longer = json!({ "spec": { "containers": [1, 2] } });
        assert_eq!(
            differ(&json!({ "spec": { "containers": [1] } }), &longer),
            "spec.containers"
        );
    }

    #[test]
    fn keys_that_are_no_words_stand_in_brackets_and_what_the_server_counts_is_left_out() {
        let old = json!({ "metadata": { "generation": 1, "labels": { "example.com/tier": "x" } } });
        let new = json!({ "metadata": { "generation": 2, "labels": { "example.com/tier": "y" },
            "resourceVersion": "9" } });
        assert_eq!(differ(&old, &new), "metadata.labels[example.com/tier]");
    }

    #[test]
    fn values_never_show_and_many_paths_are_counted() {
        let fields = |value: &str| -> Value {
            let all = (0..20).map(|n| (format!("f{n:02}"), json!(value)));
            json!({ "data": Value::Object(all.collect()) })
        };
        let told = differ(&fields("hidden-before"), &fields("hidden-after"));
        assert!(!told.contains("hidden"), "{told}");
        assert!(
            told.starts_with("data.f00, data.f01") && told.ends_with(" and 12 more"),
            "{told}"
        );
    }

    #[test]
    fn changes_in_a_row_are_told_from_the_first_version_to_the_last() {
        let [a, b, c] = [1, 2, 3].map(|n| object(&json!({ "spec": { "first": n.min(2), "second": n } })));
        let mut fields = Fields::between(&a, &b);
        fields.merge(Fields::between(&b, &c));
        assert_eq!(fields.to_string(), "spec.first, spec.second");
        fields.settle();
        fields.merge(Fields::new(["status"]));
        assert_eq!(fields.to_string(), "spec.first, spec.second, status");
    }

    #[test]
    fn a_field_is_found_by_the_path_that_names_it() {
        let old = object(&json!({ "spec": { "a": 1, "b": { "c": 1 }, "list": [1, 2] },
            "metadata": { "labels": { "x.dev/y": "1" } } }));
        let new = object(&json!({ "spec": { "a": 1, "b": { "c": 2 }, "list": [1, 3] },
            "metadata": { "labels": { "x.dev/y": "2" } } }));
        for path in [
            "spec",
            "spec.b",
            "spec.b.c",
            "spec.list",
            "spec.list[0]",
            "metadata.labels[x.dev/y]",
        ] {
            assert!(Fields::differ_at(&old, &new, path), "{path}");
        }
        for path in [
            "spec.a",
            "spec.bb",
            "status",
            "spec.b.d",
            "metadata.name",
            "metadata.labels[x.dev]",
        ] {
            assert!(!Fields::differ_at(&old, &new, path), "{path}");
        }
    }

    #[test]
    fn json_that_cannot_be_read_is_no_panic() {
        let mut fields = Fields::default();
        let whole = br#"{"a":{"b":[1,2]}}"#;
        for end in 0..whole.len() {
            let _ = fields.compare(&whole[..end], br#"{"a":{"b":[1,3]}}"#);
        }
    }
}
