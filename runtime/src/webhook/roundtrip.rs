//! Whether conversions lose anything: tried on samples before a webhook is registered.

use std::collections::BTreeSet;

use serde_json::Value;

use super::convert::{Conversion, Version};
use super::samples::{Fill, Samples};

/// Samples for each version, besides the full and the sparse one.
const MIXED: usize = 30;
/// How many lost fields a message names.
const MOST_NAMED: usize = 5;

impl Conversion {
    /// Converts samples of each version to another and back.
    ///
    /// # Errors
    ///
    /// Everything that is wrong: a conversion that fails, fields that come back changed or not at all.
    pub fn check(&self) -> Result<(), Vec<String>> {
        self.check_samples(1, MIXED)
    }

    /// As [`check`](Self::check), with other samples: for tests of one's own. `mixed` is how many there are of each version
    /// beside the one with everything and the one with nothing that is optional.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_samples(&self, seed: u64, mixed: usize) -> Result<(), Vec<String>> {
        let tries = Tries { seed, mixed };
        let mut wrong = Vec::new();
        for version in &self.others {
            let there = |object: &[u8]| version.to_hub(object);
            let back = |hub: Value| version.read_hub(hub);
            let name = version.kind.version();
            let hub = self.hub.kind.version();
            let forth_and_back = |object: &[u8]| back(there(object)?);
            tries.go(version, version, &[name, hub, name], forth_and_back, &mut wrong);
            let back_and_forth = |object: &[u8]| {
                let low = back(self.hub.to_hub(object)?)?;
                there(low.to_string().as_bytes())
            };
            tries.go(&self.hub, version, &[hub, name, hub], back_and_forth, &mut wrong);
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

/// Which samples are tried.
struct Tries {
    seed: u64,
    mixed: usize,
}

impl Tries {
    /// Tries one way there and back. `loses` is the version whose losses are declared.
    fn go(
        &self,
        version: &Version,
        loses: &Version,
        way: &[&str; 3],
        convert: impl Fn(&[u8]) -> Result<Value, String>,
        wrong: &mut Vec<String>,
    ) {
        let way = way.join(" → ");
        let mut lost: BTreeSet<String> = BTreeSet::new();
        let samples = samples(version, self.seed, self.mixed);
        if samples.is_empty() {
            wrong.push(format!(
                "no sample of {} can be made up from its schema: its patterns or rules are too narrow",
                version.kind.api_version()
            ));
        }
        for sample in samples {
            match convert(sample.to_string().as_bytes()) {
                Ok(mut back) => {
                    back["apiVersion"] = sample["apiVersion"].clone();
                    compare(&sample, &back, &mut String::new(), &mut lost);
                }
                Err(why) => {
                    wrong.push(format!("{way} fails: {why}; the object was {sample}"));
                    return;
                }
            }
        }
        let metadata = |path: &str| {
            path.starts_with("metadata.")
                && !["metadata.labels", "metadata.annotations"]
                    .iter()
                    .any(|kept| path.starts_with(kept))
        };
        lost.retain(|path| !metadata(path) && !loses.loses.iter().any(|declared| covers(declared, path)));
        if lost.is_empty() {
            return;
        }
        let named: Vec<&str> = lost.iter().take(MOST_NAMED).map(String::as_str).collect();
        let more = lost.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        wrong.push(format!(
            "{way} loses {}{more}: keep it, for example in an annotation (see `webhook::keep`), or declare the loss: \
         `.loses::<{}::{}>(\"{}\")`",
            named.join(", "),
            loses.kind.version(),
            loses.kind.kind(),
            named.first().copied().unwrap_or_default()
        ));
    }
}

/// Samples as the version's own type writes them, so that what it fills in or leaves out counts as no loss.
fn samples(version: &Version, seed: u64, mixed: usize) -> Vec<Value> {
    let definition = serde_json::to_value((version.definition)()).unwrap_or_default();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let (api_version, kind) = (version.kind.api_version(), version.kind.kind());
    let mut samples = Samples::new(seed);
    let fills = [Fill::Full, Fill::Sparse]
        .into_iter()
        .chain(std::iter::repeat_n(Fill::Mixed, mixed));
    fills
        .filter_map(|fill| {
            let sample = samples.object(schema, &api_version, kind, fill);
            version.rewritten(&sample).ok()
        })
        .collect()
}

/// `spec.a` covers `spec.a` and `spec.a.b`.
fn covers(declared: &str, path: &str) -> bool {
    path.strip_prefix(declared)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The paths at which two values differ.
fn compare(before: &Value, after: &Value, path: &mut String, differ: &mut BTreeSet<String>) {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let length = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                compare(&before[name.as_str()], &after[name.as_str()], path, differ);
                path.truncate(length);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let length = path.len();
            path.push_str("[]");
            for (a, b) in a.iter().zip(b) {
                compare(a, b, path, differ);
            }
            path.truncate(length);
        }
        _ if before == after => {}
        _ => {
            differ.insert(path.clone());
        }
    }
}
