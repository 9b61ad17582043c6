//! The entries of `metadata.managedFields`: reading, writing, order, and the cap on updaters.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Operation;
use super::fields::Fields;
use super::set::FieldSet;

/// Update entries beyond this many are folded into one per version.
const MOST_UPDATERS: usize = 10;
/// The manager that the oldest updates are folded into.
const ANCIENT: &str = "ancient-changes";

/// One manager's fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) subresource: String,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
    pub(super) fields: Fields,
}

impl Entry {
    /// Whether both are the same manager: an applier is one whatever version it speaks, an updater one per version.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// How conflicts name the manager.
    pub(super) fn shown(&self) -> String {
        let mut shown = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            shown += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            shown += &format!(" using {}", self.api_version);
        }
        shown
    }

    fn seconds(&self) -> i64 {
        self.time
            .as_deref()
            .and_then(|t| t.parse::<Timestamp>().ok())
            .map_or(0, Timestamp::as_second)
    }

    /// The manager as the real server keys it, which decides the order of equally old entries when they are folded.
    fn identity(&self) -> String {
        let mut identity = json!({ "manager": self.manager, "operation": self.operation.name() }).to_string();
        identity.pop();
        if self.operation == Operation::Update {
            identity += &format!(",\"apiVersion\":{}", Value::from(&*self.api_version));
        }
        if !self.subresource.is_empty() {
            identity += &format!(",\"subresource\":{}", Value::from(&*self.subresource));
        }
        identity + "}"
    }
}

/// The list as it stands in an object; empty when there is none.
pub(super) fn of(object: &Value) -> &Value {
    object
        .get("metadata")
        .and_then(|m| m.get("managedFields"))
        .unwrap_or(&Value::Null)
}

/// Reads a list of entries; of several entries of one manager the last one counts. What is also in `stored`, a list
/// that this server wrote, need not be read.
pub(super) fn decode(list: Value, stored: &Value) -> Result<Vec<Entry>, String> {
    let entries = match list {
        Value::Null => return Ok(Vec::new()),
        Value::Array(entries) => entries,
        _ => return Err("managedFields must be a list".to_owned()),
    };
    let known = stored.as_array().map_or(&[][..], Vec::as_slice);
    let mut decoded: Vec<Entry> = Vec::with_capacity(entries.len());
    for (index, mut entry) in entries.into_iter().enumerate() {
        let fields = entry.get_mut("fieldsV1").map(Value::take).unwrap_or_default();
        let written = known
            .get(index)
            .is_some_and(|known| known.get("fieldsV1") == Some(&fields));
        decoded.push(decode_entry(&entry, fields, written)?);
    }
    keep_last(&mut decoded);
    Ok(decoded)
}

/// Reads the list that is stored.
pub(super) fn decode_stored(stored: &Value) -> Result<Vec<Entry>, String> {
    decode(stored.clone(), stored)
}

fn keep_last(entries: &mut Vec<Entry>) {
    let repeats = |(index, entry): (usize, &Entry)| entries[index + 1..].iter().any(|later| later.is(entry));
    if entries.len() <= 2 * MOST_UPDATERS && !entries.iter().enumerate().any(repeats) {
        return;
    }
    let mut seen = BTreeSet::new();
    let mut repeated: Vec<bool> = entries.iter().rev().map(|e| !seen.insert(e.identity())).collect();
    entries.retain(|_| !repeated.pop().unwrap_or(false));
}

/// Whether the list says that all ownership is to be forgotten: `[]` or `[{}]`.
pub(super) fn is_reset(list: &Value) -> bool {
    match list {
        Value::Array(entries) => match entries.as_slice() {
            [] => true,
            [Value::Object(only)] => only.values().all(|v| v.is_null() || v == ""),
            _ => false,
        },
        _ => false,
    }
}

/// Writes the entries into the object, in order; removes the list when there are none.
pub(super) fn encode(object: &mut Value, mut entries: Vec<Entry>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if entries.is_empty() {
        metadata.remove("managedFields");
        return;
    }
    if entries.len() > 1 {
        entries.sort_by_cached_key(|e| {
            let parts = (e.manager.clone(), e.api_version.clone(), e.subresource.clone());
            (e.operation, e.seconds(), parts)
        });
    }
    let list = entries.into_iter().map(encode_entry).collect();
    metadata.insert("managedFields".to_owned(), Value::Array(list));
}

/// Folds the oldest Update entries of each version together until at most ten are left.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let is_updater = |e: &&Entry| e.operation == Operation::Update;
    if entries.iter().filter(is_updater).count() <= MOST_UPDATERS {
        return;
    }
    let mut updaters: Vec<Entry> = entries.iter().filter(is_updater).cloned().collect();
    updaters.sort_by(|a, b| match a.seconds().cmp(&b.seconds()) {
        Ordering::Equal => a.identity().cmp(&b.identity()),
        order => order,
    });
    let mut count = updaters.len();
    let mut first: BTreeMap<String, Entry> = BTreeMap::new();
    for updater in updaters {
        if count <= MOST_UPDATERS {
            break;
        }
        let Some(oldest) = first.get(&updater.api_version) else {
            first.insert(updater.api_version.clone(), updater);
            continue;
        };
        let bucket = Entry {
            manager: ANCIENT.to_owned(),
            operation: Operation::Update,
            subresource: String::new(),
            api_version: updater.api_version.clone(),
            time: updater.time.clone(),
            fields: Fields::default(),
        };
        if !entries.iter().any(|e| e.is(&bucket)) {
            entries.retain(|e| !e.is(oldest));
            entries.push(Entry {
                fields: oldest.fields.clone(),
                ..bucket.clone()
            });
        }
        entries.retain(|e| !e.is(&updater) || e.is(&bucket));
        if let Some(found) = entries.iter_mut().find(|e| e.is(&bucket)) {
            found.fields.add(updater.fields.set().into_owned());
            found.time = updater.time;
        }
        count -= 1;
    }
}

/// Reads an entry whose `fieldsV1` is apart; `written` says that this server wrote it.
fn decode_entry(entry: &Value, fields: Value, written: bool) -> Result<Entry, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let operation = match &*text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match &*text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err("missing fieldsType in managed fields entry 0".to_owned()),
        other => return Err(format!("invalid fieldsType {other:?} in managed fields entry 0")),
    }
    let fields = match fields {
        Value::Null => Fields::default(),
        Value::Object(map) if written => Fields::Written(map),
        fields => Fields::Set(FieldSet::from_fields_v1(&fields).ok_or("fieldsV1 is no set of fields")?),
    };
    let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
    Ok(Entry {
        manager: text("manager"),
        operation,
        subresource: text("subresource"),
        api_version,
        time,
        fields,
    })
}

fn encode_entry(entry: Entry) -> Value {
    let mut map = Map::new();
    let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
    if !entry.manager.is_empty() {
        set("manager", entry.manager.into());
    }
    set("operation", entry.operation.name().into());
    set("apiVersion", entry.api_version.into());
    if let Some(time) = entry.time {
        set("time", time.into());
    }
    set("fieldsType", "FieldsV1".into());
    set("fieldsV1", entry.fields.into_value());
    if !entry.subresource.is_empty() {
        set("subresource", entry.subresource.into());
    }
    Value::Object(map)
}
