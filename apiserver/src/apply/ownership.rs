//! Who owns what after a write: the algebra over managers' sets.

use serde_json::Value;

use super::fields::Fields;
use super::managed::Entry;
use super::set::FieldSet;
use super::shape::{Atom, Shape};
use super::views::{Changes, Views, schema_of};
use super::{merge, owned, remove};
use crate::resource::Resource;

/// The fields of each other manager that a write changes; empty when nobody else is concerned.
pub(super) type Conflicts = Vec<(Entry, FieldSet)>;

/// Why an apply went no further.
pub(super) enum Stopped {
    /// Others own what it changes.
    Conflicts(Conflicts),
    /// Somebody's version of the object is missing.
    Unconverted,
}

/// Takes what the write changed away from the other managers, and what it removed away from everybody.
///
/// `writer` is the one whose write it is. Without `force`, fields of others that it changed are returned as an
/// error and `entries` stay as they are.
pub(super) fn settle(
    entries: &mut Vec<Entry>,
    changes: &Changes,
    writer: Option<&Entry>,
    force: bool,
) -> Result<(), Conflicts> {
    let is_writer = |entry: &Entry| writer.is_some_and(|w| w.is(entry));
    if !changes.is_empty() {
        let taken_from = |entry: &Entry| {
            let seen = changes.seen_by(entry);
            entry.fields.intersection(&seen.modified.union(&seen.added))
        };
        if !force {
            let conflicts: Conflicts = entries
                .iter()
                .filter(|e| !is_writer(e))
                .map(|e| (e, taken_from(e)))
                .filter(|(_, fields)| !fields.is_empty())
                .map(|(e, fields)| (e.clone(), fields))
                .collect();
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for entry in entries.iter_mut().filter(|e| !is_writer(e)) {
            let seen = changes.seen_by(entry);
            if force {
                entry.fields.remove(&seen.modified);
                entry.fields.remove(&seen.added);
            }
            entry.fields.remove(&seen.removed);
        }
    }
    entries.retain(|e| !e.fields.is_empty());
    Ok(())
}

/// What an apply leads to: the merged object, or nothing when it is equal to the live one.
pub(super) struct Applied {
    pub(super) object: Option<Value>,
    pub(super) entries: Vec<Entry>,
}

/// What an apply is about.
pub(super) struct Write<'a> {
    pub(super) resource: &'a Resource,
    pub(super) live: &'a Value,
    pub(super) config: &'a Value,
    /// What is never owned here.
    pub(super) ignored: &'a FieldSet,
    pub(super) views: &'a Views,
}

/// Applies the configuration as `applier` (its entry, still without fields) to the live object.
pub(super) fn apply(
    write: &Write<'_>,
    mut entries: Vec<Entry>,
    mut applier: Entry,
    force: bool,
) -> Result<Applied, Stopped> {
    let Write {
        resource,
        live,
        config,
        ignored,
        views,
    } = *write;
    let shape = Shape::of(&resource.schema);
    let mut object = merge::merge(shape, Some(live), Some(config)).unwrap_or_default();
    let managed = owned::fields(shape, config).without_below(ignored);
    let own = managed.difference(super::untracked());
    let last = entries
        .iter()
        .position(|e| e.is(&applier))
        .map(|at| entries.swap_remove(at));
    applier.time = last.as_ref().and_then(|l| l.time.clone());
    let writer = applier.clone();
    let same = |last: &Entry| last.api_version == applier.api_version && last.fields.are(&own);
    match last {
        // What is written already need not be written again.
        Some(last) if same(&last) => applier.fields = last.fields,
        last => {
            if let Some(last) = last {
                let version = &applier.api_version;
                object = if last.api_version == *version && entries.iter().all(|e| e.api_version == *version) {
                    prune(shape, object, &entries, managed, &last.fields.set())
                } else {
                    prune_across(write, object, &entries, &applier, &last).ok_or(Stopped::Unconverted)?
                };
            }
            applier.fields = Fields::Written(own.to_map());
        }
    }
    entries.push(applier);
    let changes = Changes::of(resource, views, &entries, (live, &object), ignored);
    if views.lacks() {
        return Err(Stopped::Unconverted);
    }
    let unchanged = super::element::same(live, &object);
    settle(&mut entries, &changes, Some(&writer), force).map_err(Stopped::Conflicts)?;
    Ok(Applied {
        object: (!unchanged).then_some(object),
        entries,
    })
}

/// Removes what the applier set last time and no more, unless somebody else owns it. `managed` is what it sets now.
fn prune(shape: Shape<'_>, merged: Value, others: &[Entry], mut managed: FieldSet, last: &FieldSet) -> Value {
    if last.is_within(&managed) {
        return merged;
    }
    for entry in others {
        managed.add(entry.fields.set().into_owned());
    }
    if last.is_within(&managed) {
        return merged;
    }
    let last = with_named_fields(shape, last);
    let managed = with_named_fields(shape, &managed);
    let everything = with_named_fields(shape, &owned::fields(shape, &merged));
    // First everything of last time goes, then what anybody owns comes back, then what nobody ever owned.
    let pruned = remove::remove(shape, &merged, &last);
    let left = with_named_fields(shape, &owned::fields(shape, &pruned));
    let pruned = remove::remove(shape, &merged, &everything.difference(&left.union(&managed)));
    let left = with_named_fields(shape, &owned::fields(shape, &pruned));
    remove::remove(shape, &merged, &everything.difference(&left).intersection(&last))
}

/// [`prune`] where owners speak several versions: what the applier set last time goes in its version of then, what the
/// others own comes back in theirs. Nothing if a version of the object is missing.
fn prune_across(write: &Write<'_>, merged: Value, others: &[Entry], applier: &Entry, last: &Entry) -> Option<Value> {
    let resource = write.resource;
    let last_set = last.fields.set();
    if last_set.is_empty() {
        return Some(merged);
    }
    let shown = |object: &Value, version: &str| -> Option<Value> {
        if object["apiVersion"] == version {
            return Some(object.clone());
        }
        Some((*write.views.find(object, version)?).clone())
    };
    let own = &applier.api_version;
    let of_config = owned::fields(Shape::of(&resource.schema), write.config).without_below(write.ignored);
    let mut managed: Vec<(&str, FieldSet)> = vec![(own, of_config)];
    for entry in others {
        match managed.iter_mut().find(|(version, _)| *version == entry.api_version) {
            Some((_, set)) => set.add(entry.fields.set().into_owned()),
            None => managed.push((&entry.api_version, entry.fields.set().into_owned())),
        }
    }
    // What is owned in the version of last time comes back first: conversion may need it.
    managed.sort_by_key(|(version, _)| *version != last.api_version);
    let last_schema = schema_of(resource, &last.api_version)?;
    let in_last = Shape::of(&last_schema);
    let before = shown(&merged, &last.api_version)?;
    let mut pruned = remove::remove(in_last, &before, &with_named_fields(in_last, &last_set));
    for (version, set) in managed {
        let schema = schema_of(resource, version)?;
        let shape = Shape::of(&schema);
        let everything = shown(&merged, version)?;
        let left = with_named_fields(shape, &owned::fields(shape, &shown(&pruned, version)?));
        let kept = left.union(&with_named_fields(shape, &set));
        let all = with_named_fields(shape, &owned::fields(shape, &everything));
        pruned = remove::remove(shape, &everything, &all.difference(&kept));
    }
    let left = with_named_fields(in_last, &owned::fields(in_last, &shown(&pruned, &last.api_version)?));
    let all = with_named_fields(in_last, &owned::fields(in_last, &before));
    let lost = all
        .difference(&left)
        .intersection(&with_named_fields(in_last, &last_set));
    shown(&remove::remove(in_last, &before, &lost), own)
}

/// The set with every declared field on the way to a member added.
fn with_named_fields(shape: Shape<'_>, set: &FieldSet) -> FieldSet {
    let mut result = FieldSet::new();
    let atom = shape.atom(None);
    for (element, member, below) in set.steps() {
        let (child, declared) = step(&atom, element);
        let named = declared && !below.is_empty();
        result.push(element.clone(), member || named, with_named_fields(child, below));
    }
    result
}

/// A set written under an older schema, fitted to this one: what has become atomic is one field. `None` when the set
/// fits as it is.
pub(super) fn fitted(shape: Shape<'_>, set: &FieldSet) -> Option<FieldSet> {
    let atom = shape.atom(None);
    let fits = set.steps().all(|(element, _, below)| {
        let child = step(&atom, element).0;
        below.is_empty() || (!is_atomic(child) && fitted(child, below).is_none())
    });
    if fits {
        return None;
    }
    let mut result = FieldSet::new();
    for (element, member, below) in set.steps() {
        let child = step(&atom, element).0;
        if !below.is_empty() && is_atomic(child) {
            result.push(element.clone(), true, FieldSet::new());
        } else {
            result.push(
                element.clone(),
                member,
                fitted(child, below).unwrap_or_else(|| below.clone()),
            );
        }
    }
    Some(result)
}

pub(super) fn is_atomic(shape: Shape<'_>) -> bool {
    match (shape, shape.atom(None)) {
        (Shape::Node(_), Atom::Map(map)) => map.atomic,
        (Shape::Node(_), Atom::List(list)) => list.is_atomic(),
        _ => false,
    }
}

/// The shape below one step, and whether a property declares it.
fn step<'a>(atom: &Atom<'a>, element: &super::element::Element) -> (Shape<'a>, bool) {
    use super::element::Element;
    match (atom, element) {
        (Atom::Map(map), Element::Field(name)) => map.field(name).unwrap_or((Shape::Deduced, false)),
        (Atom::List(list), _) => (list.items, false),
        _ => (Shape::Deduced, false),
    }
}
