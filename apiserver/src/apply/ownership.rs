//! Who owns what after a write: the algebra over managers' sets.

use serde_json::Value;

use super::compare::Comparison;
use super::fields::Fields;
use super::managed::Entry;
use super::set::FieldSet;
use super::shape::{Atom, Shape};
use super::{merge, owned, remove};

/// The fields of each other manager that a write changes; empty when nobody else is concerned.
pub(super) type Conflicts = Vec<(Entry, FieldSet)>;

/// Takes what the write changed away from the other managers, and what it removed away from everybody.
///
/// `writer` is the one whose write it is. Without `force`, fields of others that it changed are returned as an
/// error and `entries` stay as they are.
pub(super) fn settle(
    entries: &mut Vec<Entry>,
    changes: &Comparison,
    writer: Option<&Entry>,
    force: bool,
) -> Result<(), Conflicts> {
    let is_writer = |entry: &Entry| writer.is_some_and(|w| w.is(entry));
    if !changes.is_empty() {
        let taken = changes.modified.union(&changes.added);
        if !force {
            let conflicts: Conflicts = entries
                .iter()
                .filter(|e| !is_writer(e))
                .map(|e| (e, e.fields.intersection(&taken)))
                .filter(|(_, fields)| !fields.is_empty())
                .map(|(e, fields)| (e.clone(), fields))
                .collect();
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for entry in entries.iter_mut().filter(|e| !is_writer(e)) {
            if force {
                entry.fields.remove(&taken);
            }
            entry.fields.remove(&changes.removed);
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

/// Applies `config` as `applier` (its entry, still without fields) to `live`.
pub(super) fn apply(
    shape: Shape<'_>,
    live: &Value,
    config: &Value,
    mut entries: Vec<Entry>,
    mut applier: Entry,
    ignored: &FieldSet,
    force: bool,
) -> Result<Applied, Conflicts> {
    let mut object = merge::merge(shape, Some(live), Some(config)).unwrap_or_default();
    let mut own = owned::fields(shape, config).without_below(ignored);
    own.remove(super::untracked());
    applier.fields = Fields::Written(own.to_map());
    let last = entries
        .iter()
        .position(|e| e.is(&applier))
        .map(|at| entries.swap_remove(at));
    applier.time = last.as_ref().and_then(|l| l.time.clone());
    if let Some(last) = last.filter(|last| last.fields != applier.fields) {
        let managed = owned::fields(shape, config).without_below(ignored);
        object = prune(shape, object, &entries, managed, &last.fields.set());
    }
    entries.push(applier.clone());
    let changes = Comparison::of(shape, live, &object).without(ignored);
    let unchanged = super::element::same(live, &object);
    settle(&mut entries, &changes, Some(&applier), force)?;
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
