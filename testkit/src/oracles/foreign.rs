//! Nobody writes what is somebody else's.

use std::collections::{BTreeMap, BTreeSet};

use kubewright::Kind;
use kubewright::declaration::{Adopt, Declared};
use serde_json::Value;

use super::Violation;
use super::world::{Deed, controller, deeds, storage_name, title};
use crate::cluster::TestCluster;

const ORACLE: &str = "nothing_foreign_written";

/// No operator changed an object that is not its own, nor took a field from another controller.
///
/// Its own are: of its primary kinds the status, the finalizers and nothing else; what has one of its primaries as its
/// controller; what it takes over as `adopt` allows; kinds under `writes` and `updates`. Of finalizers, only those that
/// it declares. An operator on kube alone owns
/// what it has created, and may write status and finalizers of anything.
///
/// A field is taken when it belonged to another operator, or to a controller of the cluster such as an autoscaler, and
/// no longer does after the write. Fields of people (`kubectl`, the test, an actor) may be taken back: that is what
/// repairing drift means.
///
/// # Errors
///
/// The writes, each with whose the object or the field is.
pub fn nothing_foreign_written(cluster: &TestCluster) -> Result<(), Violation> {
    let managers = Managers::of(cluster);
    let mut made: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for deed in deeds(cluster) {
        let Some(old) = &deed.effect.old else {
            made.insert(deed.object().uid.to_string());
            continue;
        };
        let before = old.value();
        let after = deed.effect.new.as_ref().map(|new| new.value());
        let known = cluster.known(&deed.replica);
        let wrong = match &known {
            Some(known) => foreign(&known.declared, &deed, &before, after.as_ref()),
            None if made.contains(&*old.uid) => None,
            None => beyond_status_and_finalizers(&deed, &before, after.as_ref()),
        };
        let wrong = wrong.or_else(|| {
            let own = known.iter().flat_map(|known| &known.declared);
            foreign_finalizer(own, &deed, &before, after.as_ref())
        });
        let place = format!("{} changed {} @{}", deed.replica, title(&old.key), deed.effect.revision);
        if let Some(wrong) = wrong {
            found.push(format!("{place}: {wrong}"));
        }
        let operator = known.map_or_else(|| deed.replica.to_string(), |known| known.name);
        for (manager, fields) in after.iter().flat_map(|after| taken(&before, after)) {
            if let Some(whose) = managers.whose(&manager, &operator) {
                let fields: Vec<String> = fields.into_iter().collect();
                found.push(format!(
                    "{place}: it took {} from {whose} ({manager})",
                    fields.join(", ")
                ));
            }
        }
    }
    Violation::unless_none(ORACLE, "operators wrote what is not theirs", &found)
}

/// Why a declared operator may not make this change, if it may not.
fn foreign(declared: &[Declared], deed: &Deed, before: &Value, after: Option<&Value>) -> Option<String> {
    let key = &deed.object().key;
    let is_kind = |kind: &Kind| storage_name(kind) == *key.resource;
    if declared.iter().any(|d| d.writes.iter().chain(&d.updates).any(is_kind)) {
        return None;
    }
    if declared.iter().any(|d| is_kind(&d.primary)) {
        return beyond_status_and_finalizers(deed, before, after);
    }
    let owner = controller(before);
    let is_ours = |owner: &Value, d: &Declared| {
        owner["kind"] == d.primary.kind()
            && owner["apiVersion"].as_str().is_some_and(|version| {
                let group = version.rsplit_once('/').map_or("", |(group, _)| group);
                group == d.primary.group()
            })
    };
    match owner {
        Some(owner) if declared.iter().any(|d| is_ours(owner, d)) => None,
        Some(owner) => Some(format!("its controller is {} {}", owner["kind"], owner["name"])),
        None => {
            let adopts = |d: &Declared| {
                d.owned()
                    .any(|watch| is_kind(&watch.kind) && watch.adopt != Adopt::Never)
            };
            let taken_over = after.and_then(controller).is_some();
            (!(taken_over && declared.iter().any(adopts))).then(|| "it has no controller".to_owned())
        }
    }
}

/// Whether a change of an object goes beyond what its controller may write.
fn beyond_status_and_finalizers(deed: &Deed, before: &Value, after: Option<&Value>) -> Option<String> {
    if deed.request.subresource == "status" {
        return None;
    }
    let Some(after) = after else {
        // It is gone with its last finalizer, or by a deletion.
        let deleted = deed.request.verb.starts_with("delete");
        return deleted.then(|| "it was deleted".to_owned());
    };
    if before["metadata"]["deletionTimestamp"] != after["metadata"]["deletionTimestamp"] {
        return Some("it was deleted".to_owned());
    }
    let bare = |object: &Value| {
        let mut object = object.clone();
        for field in ["finalizers", "managedFields", "resourceVersion", "generation"] {
            object["metadata"][field].take();
        }
        object["status"].take();
        object
    };
    let (before, after) = (bare(before), bare(after));
    let names: Vec<&str> = ["spec", "metadata", "data", "stringData", "rules"]
        .into_iter()
        .filter(|field| before[*field] != after[*field])
        .collect();
    (before != after).then(|| format!("more than status and finalizers ({})", names.join(", ")))
}

/// A finalizer that a write took off although it is not the operator's. Deletions that need none are not meant.
fn foreign_finalizer<'a>(
    declared: impl Iterator<Item = &'a Declared>,
    deed: &Deed,
    before: &Value,
    after: Option<&Value>,
) -> Option<String> {
    let own: Vec<&str> = declared
        .flat_map(|d| d.finalizer.iter().chain(&d.retired_finalizers))
        .map(String::as_str)
        .collect();
    if own.is_empty() || deed.request.verb.starts_with("delete") {
        return None;
    }
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let left = after.map(of).unwrap_or_default();
    let mut taken = of(before).into_iter().filter(|finalizer| !left.contains(finalizer));
    let foreign = taken.find(|finalizer| !own.iter().any(|own| finalizer == own))?;
    Some(format!("it took off the finalizer {foreign} of somebody else"))
}

/// Who uses which field manager.
struct Managers {
    cluster: BTreeSet<String>,
    operators: BTreeMap<String, BTreeSet<String>>,
}

impl Managers {
    fn of(cluster: &TestCluster) -> Self {
        let mut operators: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (replica, role, request) in cluster.story().effects() {
            if role != crate::story::Role::Replica {
                continue;
            }
            let name = cluster
                .known(&replica)
                .map_or_else(|| replica.to_string(), |known| known.name);
            let manager = manager_of(&request.query, &request.user_agent);
            operators.entry(manager).or_default().insert(name);
        }
        Self {
            cluster: cluster.story().controllers(),
            operators,
        }
    }

    /// Whose a manager is, if it is a controller's and not the operator's own.
    fn whose(&self, manager: &str, operator: &str) -> Option<String> {
        if let Some(names) = self.operators.get(manager) {
            let other = names.iter().next().filter(|_| !names.contains(operator))?;
            return Some(format!("operator {other}"));
        }
        self.cluster
            .contains(manager)
            .then(|| "a controller of the cluster".to_owned())
    }
}

/// The field manager that a request wrote as.
fn manager_of(query: &str, user_agent: &str) -> String {
    let named = query.split('&').find_map(|pair| pair.strip_prefix("fieldManager="));
    match named {
        Some(name) => name.replace("%2F", "/").replace("%2f", "/"),
        None => user_agent.split('/').next().unwrap_or_default().to_owned(),
    }
}

/// The fields that managers have lost by a write, by manager.
fn taken(before: &Value, after: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let (old, new) = (fields(before), fields(after));
    let mut taken: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (entry, had) in &old {
        let has = new.get(entry);
        let lost = had.iter().filter(|field| !has.is_some_and(|has| has.contains(*field)));
        // What went with its owner's own write, or was only counted among another's fields, belongs to nobody now.
        let lost: BTreeSet<String> = lost
            .filter(|field| new.iter().any(|(other, has)| other != entry && has.contains(*field)))
            .cloned()
            .collect();
        if !lost.is_empty() {
            taken.entry(entry.0.clone()).or_default().extend(lost);
        }
    }
    taken
}

/// The leaves of every manager's field set, by manager, operation and subresource.
fn fields(object: &Value) -> BTreeMap<(String, String, String), BTreeSet<String>> {
    let mut sets = BTreeMap::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let mut leaves = BTreeSet::new();
        collect(&entry["fieldsV1"], &mut String::new(), &mut leaves);
        sets.insert((text("manager"), text("operation"), text("subresource")), leaves);
    }
    sets
}

fn collect(set: &Value, path: &mut String, leaves: &mut BTreeSet<String>) {
    let Some(children) = set.as_object() else { return };
    for (name, below) in children {
        if name == "." {
            continue;
        }
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name.strip_prefix("f:").unwrap_or(name));
        if below.as_object().is_none_or(serde_json::Map::is_empty) {
            leaves.insert(path.clone());
        }
        collect(below, path, leaves);
        path.truncate(length);
    }
}
