//! Ownership through `/scale`: the parent's replicas field and the Scale's `spec.replicas` are one field.

use serde_json::{Value, json};

use super::fields::Fields;
use super::managed::{self, Entry};
use super::set::FieldSet;

const SCALE_VERSION: &str = "autoscaling/v1";

/// The managedFields of the Scale that a parent shows; null when nobody owns its replicas. `replicas` is the path of
/// the parent's field, such as `["spec", "replicas"]`.
#[must_use]
pub fn to_scale(parent: &Value, replicas: &[&str]) -> Value {
    let path = FieldSet::of_fields(replicas);
    let entries: Vec<Entry> = managed::decode_stored(managed::of(parent))
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.fields.holds(&path))
        .map(|entry| Entry {
            api_version: SCALE_VERSION.to_owned(),
            fields: Fields::Set(FieldSet::of_fields(&["spec", "replicas"])),
            ..entry
        })
        .collect();
    encoded(entries)
}

/// The parent's managedFields after a write through `/scale` that left the Scale with the entries of `scale`; null
/// when there are none. Entries that came with this write have no time, as on the real server.
#[must_use]
pub fn to_parent(parent: &Value, scale: &Value, replicas: &[&str], parent_version: &str) -> Value {
    let path = FieldSet::of_fields(replicas);
    let before = managed::decode_stored(managed::of(parent)).unwrap_or_default();
    let mut owners = managed::decode_stored(managed::of(scale)).unwrap_or_default();
    let mut after: Vec<Entry> = Vec::with_capacity(before.len() + 1);
    for mut entry in before {
        if entry.fields.holds(&path) {
            match owners.iter().position(|o| same_manager(o, &entry)) {
                Some(at) => {
                    owners.remove(at);
                }
                None => entry.fields.remove(&path),
            }
        }
        if !entry.fields.is_empty() {
            after.push(entry);
        }
    }
    after.extend(owners.into_iter().map(|owner| Entry {
        api_version: parent_version.to_owned(),
        time: None,
        fields: Fields::Set(path.clone()),
        ..owner
    }));
    encoded(after)
}

/// Entries of the Scale and of its parent differ in their version.
fn same_manager(scale: &Entry, parent: &Entry) -> bool {
    scale.manager == parent.manager && scale.operation == parent.operation && scale.subresource == parent.subresource
}

fn encoded(entries: Vec<Entry>) -> Value {
    let mut holder = json!({ "metadata": {} });
    managed::encode(&mut holder, entries);
    managed::of(&holder).clone()
}
