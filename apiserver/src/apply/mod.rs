//! Server-side apply and the ownership of fields.
//!
//! The rules are those of Kubernetes' structured merge: every manager has a set of fields in
//! `metadata.managedFields`; [`track_update`] moves fields to whoever changed them, [`server_side`] merges a
//! configuration and refuses to change what others own. What is a field depends on the schema (`shape`): list types
//! and map keys decide whether a list is one field or many.

mod compare;
mod element;
mod fields;
mod fit;
mod last_applied;
mod managed;
mod merge;
mod owned;
mod ownership;
mod remove;
pub mod scale;
mod set;
mod shape;
mod views;

use serde_json::{Value, json};

use self::compare::Comparison;
use self::fields::Fields;
use self::managed::Entry;
use self::ownership::{Applied, Conflicts, Stopped};
use self::shape::Shape;
use self::views::{Changes, schema_of};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::schema::Schema;

pub use element::Element;
pub(crate) use element::compare as compare_values;
pub use set::FieldSet;
pub use views::{Views, bare, fits, other_versions};

/// Whose write it is.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The field manager.
    pub name: &'a str,
    /// What it did.
    pub operation: Operation,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: &'a str,
    /// Group and version that it wrote in, such as `apps/v1`.
    pub api_version: &'a str,
    /// The time of the write, as `metav1.Time`.
    pub time: &'a str,
}

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Recomputes `metadata.managedFields` of `new` after a create, update or patch by `manager`.
///
/// To be called on the client's object with defaults filled in, before admission and before the server puts back
/// what the write may not change: what those set belongs to nobody. `reset` names the top-level fields that this
/// (sub)resource never owns. A list sent by the client is believed, `[]` and `[{}]` clear all ownership, no list and
/// a broken one keep what is stored; an object without any entry gets none from updates. `views` has both objects in the
/// versions of [`other_versions`]; where it lacks one, fields are compared in the version of the write.
pub fn track_update(
    resource: &Resource,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    reset: &[&str],
    views: &Views,
) {
    let sent = take_managed_fields(new);
    let stored = old.map_or(&Value::Null, managed::of);
    let kept = || managed::decode_stored(stored).unwrap_or_default();
    let mut entries = if !manager.subresource.is_empty() {
        kept()
    } else if managed::is_reset(&sent) {
        Vec::new()
    } else {
        match managed::decode(sent, stored) {
            Ok(entries) if !entries.is_empty() => entries,
            _ => kept(),
        }
    };
    if entries.is_empty() && old.is_some() {
        return;
    }
    let nothing = zero(resource);
    own_changes(
        resource,
        old.unwrap_or(&nothing),
        new,
        &mut entries,
        entry_of(manager, manager.name),
        reset,
        views,
    );
    managed::cap(&mut entries);
    managed::encode(new, entries);
}

/// What a new object is compared with: of built-in kinds the empty Go value, whose structs and plain fields are there.
fn zero(resource: &Resource) -> Value {
    let mut nothing = json!({});
    if resource.custom.is_none() {
        // An object without fields always decodes.
        let _ = resource.schema.decode_builtin(&mut nothing);
    }
    nothing
}

/// Merges the applied `config` into `current`; returns the merged object with its managedFields.
///
/// `reset` names the top-level fields that this (sub)resource never owns: `status` on the object itself, `spec` and
/// `metadata` on `/status`. The caller puts them back, as after an update. Fields that others own in other versions are
/// compared in those, and so are the applier's own from before: what `views` lacks for that is wanted there
/// afterwards, and the outcome is void.
///
/// # Errors
/// 409 with one cause per field when others own what the configuration changes and `force` is off; 400 when it
/// brings managedFields or another version; 500 when it does not fit the schema, or when `views` lacks something.
#[allow(clippy::too_many_arguments, reason = "each is a part of one request")]
pub fn server_side(
    resource: &Resource,
    current: Option<&Value>,
    config: &Value,
    manager: &Manager<'_>,
    force: bool,
    reset: &[&str],
    views: &Views,
) -> Result<Value, ApiError> {
    check_config(&resource.schema, config, manager)?;
    let nothing = json!({});
    let live = current.unwrap_or(&nothing);
    let mut entries = managed::decode_stored(managed::of(live))
        .map_err(|why| ApiError::new(500, "", format!("failed to decode managed fields: {why}")))?;
    if entries.is_empty() && current.is_some() {
        // Whatever is there before the first apply belongs to this manager.
        own_changes(
            resource,
            &nothing,
            live,
            &mut entries,
            entry_of(manager, "before-first-apply"),
            reset,
            views,
        );
    }
    let shape = Shape::of(&resource.schema);
    fit_entries(resource, &mut entries);
    let applier = Entry {
        operation: Operation::Apply,
        time: None,
        ..entry_of(manager, manager.name)
    };
    let ignored = ignored(reset);
    let write = ownership::Write {
        resource,
        live,
        config,
        ignored: &ignored,
        views,
    };
    let attempt = |entries, force| ownership::apply(&write, entries, applier.clone(), force);
    // Only a hand-over from client-side apply may need the entries a second time.
    let spare = last_applied::may_take_over(manager.name).then(|| entries.clone());
    let applied = attempt(entries, force).or_else(|stopped| {
        let Stopped::Conflicts(conflicts) = stopped else {
            return Err(stopped);
        };
        let left = last_applied::remaining(manager.name, shape, live, conflicts);
        match spare {
            Some(entries) if left.is_empty() => attempt(entries, true),
            _ => Err(Stopped::Conflicts(left)),
        }
    });
    let Applied { object, mut entries } = applied.map_err(|stopped| match stopped {
        Stopped::Conflicts(conflicts) => conflict(&conflicts),
        Stopped::Unconverted => ApiError::internal("an owner's version of the object is missing"),
    })?;
    if object.is_some()
        && let Some(own) = entries.iter_mut().find(|e| e.is(&applier))
    {
        own.time = Some(manager.time.to_owned());
    }
    entries.retain(|e| !e.fields.is_empty());
    let mut object = object.unwrap_or_else(|| live.clone());
    last_applied::renew(manager.name, live, config, &mut object);
    managed::encode(&mut object, entries);
    Ok(object)
}

/// Whether two versions of an object differ in nothing but the times of their managedFields: such a write changes
/// nothing.
#[must_use]
pub fn same_but_times(old: &Value, new: &Value) -> bool {
    same_but(old, new, "metadata", |old, new| {
        same_but(old, new, "managedFields", |old, new| match (old, new) {
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len()
                    && old
                        .iter()
                        .zip(new)
                        .all(|(old, new)| same_but(old, new, "time", |_, _| true))
            }
            (old, new) => old == new,
        })
    })
}

/// Whether two objects are equal, one field apart, which both have or neither, and that `special` compares.
fn same_but(old: &Value, new: &Value, field: &str, special: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return old == new;
    };
    old.len() == new.len()
        && old.iter().zip(new).all(|((name, old), (other, new))| {
            name == other && if name == field { special(old, new) } else { old == new }
        })
}

/// Gives `writer` what changed from `old` to `new`, and takes it from the others.
fn own_changes(
    resource: &Resource,
    old: &Value,
    new: &Value,
    entries: &mut Vec<Entry>,
    mut writer: Entry,
    reset: &[&str],
    views: &Views,
) {
    fit_entries(resource, entries);
    let changes = Changes::of(resource, views, entries, (old, new), &ignored(reset));
    for entry in entries.iter_mut().filter(|e| !e.is(&writer)) {
        let seen = changes.seen_by(entry);
        entry.fields.remove(&seen.added);
        entry.fields.remove(&seen.modified);
        entry.fields.remove(&seen.removed);
    }
    let Comparison {
        added: mut taken,
        modified,
        removed,
    } = changes.here;
    taken.add(modified);
    // Of its own fields the writer keeps those that are still there; what is never owned leaves its entry, too.
    let earlier = entries
        .iter()
        .position(|e| e.is(&writer))
        .map(|at| entries.swap_remove(at));
    if let Some(earlier) = earlier {
        writer.fields = earlier.fields;
        writer.fields.remove(&taken.intersection(untracked()));
        writer.fields.remove(&removed);
        taken.remove(untracked());
        if taken.is_empty() {
            writer.time = earlier.time;
        }
    } else {
        taken.remove(untracked());
    }
    writer.fields.add(taken);
    entries.push(writer);
    entries.retain(|e| !e.fields.is_empty());
}

/// Drops the entries of versions that are no longer served, and fits the others to their schema as it is now.
fn fit_entries(resource: &Resource, entries: &mut Vec<Entry>) {
    let own = resource.api_version();
    entries.retain_mut(|entry| {
        if entry.api_version == own {
            entry.fields.fit(Shape::of(&resource.schema));
            return true;
        }
        let schema = schema_of(resource, &entry.api_version);
        if let Some(schema) = &schema {
            entry.fields.fit(Shape::of(schema));
        }
        schema.is_some()
    });
}

fn entry_of(manager: &Manager<'_>, name: &str) -> Entry {
    Entry {
        manager: if name.is_empty() { "unknown" } else { name }.to_owned(),
        operation: Operation::Update,
        subresource: manager.subresource.to_owned(),
        api_version: manager.api_version.to_owned(),
        time: Some(manager.time.to_owned()),
        fields: Fields::default(),
    }
}

fn check_config(schema: &Schema, config: &Value, manager: &Manager<'_>) -> Result<(), ApiError> {
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    if version != manager.api_version {
        return Err(ApiError::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            manager.api_version
        )));
    }
    if !managed::of(config).is_null() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let Some(why) = fit::misfit(Shape::of(schema), config, false) else {
        return Ok(());
    };
    let (namespace, name, kind) = (text("/metadata/namespace"), text("/metadata/name"), text("/kind"));
    let group_version = if version.contains('/') {
        version.to_owned()
    } else {
        format!("/{version}")
    };
    let message =
        format!("failed to create typed patch object ({namespace}/{name}; {group_version}, Kind={kind}): {why}");
    Err(ApiError::new(500, "", message))
}

fn ignored(reset: &[&str]) -> FieldSet {
    reset
        .iter()
        .fold(FieldSet::new(), |all, field| all.union(&FieldSet::of_fields(&[field])))
}

/// What nobody owns: the identity of the object and what the server keeps for itself.
fn untracked() -> &'static FieldSet {
    static FIELDS: std::sync::OnceLock<FieldSet> = std::sync::OnceLock::new();
    FIELDS.get_or_init(|| {
        let top = ["apiVersion", "kind", "metadata"].map(|name| FieldSet::of_fields(&[name]));
        let metadata = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ]
        .map(|name| FieldSet::of_fields(&["metadata", name]));
        top.iter()
            .chain(&metadata)
            .fold(FieldSet::new(), |all, one| all.union(one))
    })
}

fn take_managed_fields(object: &mut Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.and_then(|m| m.remove("managedFields")).unwrap_or_default()
}

/// 409 with one cause per field; the message groups them by manager.
fn conflict(conflicts: &Conflicts) -> ApiError {
    let shown_path = |path: &[Element]| path.iter().map(ToString::to_string).collect::<String>();
    let mut by_manager: Vec<(String, Vec<String>)> = conflicts
        .iter()
        .map(|(entry, fields)| (entry.shown(), fields.paths().iter().map(|p| shown_path(p)).collect()))
        .collect();
    by_manager.sort();
    let count: usize = by_manager.iter().map(|(_, paths)| paths.len()).sum();
    let message = match by_manager.as_slice() {
        [(manager, paths)] if count == 1 => {
            format!(
                "Apply failed with 1 conflict: conflict with {manager}: {}",
                paths.concat()
            )
        }
        all => {
            let lines = all.iter().map(|(manager, paths)| {
                let paths: String = paths.iter().map(|p| format!("\n- {p}")).collect();
                format!("conflicts with {manager}:{paths}")
            });
            format!(
                "Apply failed with {count} conflicts: {}",
                lines.collect::<Vec<_>>().join("\n")
            )
        }
    };
    let causes: Vec<Value> = by_manager
        .iter()
        .flat_map(|(manager, paths)| paths.iter().map(move |path| (manager, path)))
        .map(|(manager, path)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": path })
        })
        .collect();
    let mut error = ApiError::new(409, "Conflict", message);
    error.details = Some(Box::new(json!({ "causes": causes })));
    error
}

#[cfg(test)]
mod tests;
