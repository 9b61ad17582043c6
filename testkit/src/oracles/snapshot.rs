//! The end of a run, in a form that can be compared with the end of another.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Violation;
use super::world::living;
use crate::cluster::TestCluster;
use crate::diff;

/// Everything that is stored in a cluster, but for what differs from run to run: uids, versions, generations, times,
/// managers' names and times, addresses, and the random parts of generated names.
///
/// Left out whole are Events, Leases, Endpoints and EndpointSlices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, String>);

/// Fields of every object that differ from run to run.
const OF_METADATA: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionGracePeriodSeconds",
];

/// Fields that do, wherever they are.
const ANYWHERE: [&str; 9] = [
    "observedGeneration",
    "podIP",
    "podIPs",
    "hostIP",
    "hostIPs",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
];

impl Snapshot {
    /// What is stored now.
    #[must_use]
    pub fn of(cluster: &TestCluster) -> Self {
        let objects: Vec<Value> = living(cluster)
            .iter()
            .filter(|object| {
                let (plural, _) = object
                    .key
                    .resource
                    .split_once('.')
                    .unwrap_or((&object.key.resource, ""));
                !matches!(plural, "events" | "leases" | "endpoints" | "endpointslices")
            })
            .map(|object| object.value())
            .collect();
        let names = Names::of(&objects);
        let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for mut object in objects {
            let title = names.title(&object);
            if let Some(metadata) = object["metadata"].as_object_mut() {
                OF_METADATA.iter().for_each(|field| {
                    metadata.remove(*field);
                });
            }
            names.clean(&mut object);
            kept.entry(title).or_default().push(format!("{object:#}"));
        }
        let mut all = BTreeMap::new();
        for (title, mut objects) in kept {
            // Of several with a generated name the order of the names is chance; that of the contents is not.
            objects.sort_unstable();
            let several = objects.len() > 1;
            for (i, object) in objects.into_iter().enumerate() {
                let title = if several {
                    format!("{title} #{}", i + 1)
                } else {
                    title.clone()
                };
                all.insert(title, object);
            }
        }
        Self(all)
    }

    /// Leaves out the objects whose title (`Deployment default/hello`) begins so.
    #[must_use]
    pub fn without(mut self, prefix: &str) -> Self {
        self.0.retain(|title, _| !title.starts_with(prefix));
        self
    }

    /// The titles of the objects.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Every object under its title, as JSON.
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(title, object)| writeln!(f, "# {title}\n{object}"))
    }
}

/// Two runs ended in the same state.
///
/// # Errors
///
/// The objects that only one of them has, and a diff of those that differ; `-` is what was expected.
pub fn same_end_state(expected: &Snapshot, actual: &Snapshot) -> Result<(), Violation> {
    let mut found = Vec::new();
    for (title, object) in &expected.0 {
        match actual.0.get(title) {
            None => found.push(format!("{title} is missing")),
            Some(other) if other != object => {
                found.push(format!("{title} differs:\n{}", diff::lines(object, other)));
            }
            Some(_) => {}
        }
    }
    let surplus = actual.0.keys().filter(|title| !expected.0.contains_key(*title));
    found.extend(surplus.map(|title| format!("{title} should not be there")));
    Violation::unless_none("same_end_state", "the runs ended in different states", &found)
}

/// Names and uids of objects, and what stands for them.
struct Names(Vec<(String, String)>);

impl Names {
    fn of(objects: &[Value]) -> Self {
        let mut names = Vec::new();
        for object in objects {
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            let (name, prefix) = (text("name"), text("generateName"));
            if !prefix.is_empty() && name.starts_with(&prefix) {
                names.push((name, format!("{prefix}*")));
            }
        }
        let own = Self(names);
        let uids: Vec<(String, String)> = objects
            .iter()
            .filter_map(|object| {
                let uid = object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())?;
                Some((uid.to_owned(), format!("<uid of {}>", own.title(object))))
            })
            .collect();
        let mut names = own.0;
        names.extend(uids);
        names.sort_unstable();
        Self(names)
    }

    /// `Deployment default/hello`
    fn title(&self, object: &Value) -> String {
        let metadata = &object["metadata"];
        let kind = object["kind"].as_str().unwrap_or_default();
        let name = self.shown(metadata["name"].as_str().unwrap_or_default());
        match metadata["namespace"].as_str() {
            Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        }
    }

    fn shown<'a>(&'a self, text: &'a str) -> &'a str {
        let known = self.0.iter().find(|(name, _)| name == text);
        known.map_or(text, |(_, shown)| shown)
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::Object(map) => self.clean_map(map),
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.clean(item));
                // Conditions are a map by their type; in which order they came is chance.
                if items
                    .iter()
                    .all(|item| item["type"].is_string() && item["status"].is_string())
                {
                    items.sort_by_key(|item| item["type"].to_string());
                }
            }
            Value::String(text) => {
                let shown = self.shown(text);
                if shown != text {
                    *text = shown.to_owned();
                } else if text.parse::<Timestamp>().is_ok() {
                    "<time>".clone_into(text);
                }
            }
            _ => {}
        }
    }

    fn clean_map(&self, map: &mut Map<String, Value>) {
        ANYWHERE.iter().for_each(|field| {
            map.remove(*field);
        });
        map.values_mut().for_each(|value| self.clean(value));
    }
}
