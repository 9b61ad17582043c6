//! Merging an applied configuration into an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::compare::same_form;
use super::element::ItemKey;
use super::shape::{Atom, List, Map, Shape};

/// `live` with everything that `config` sets. A granular map or list that comes out empty is gone.
pub(super) fn merge(shape: Shape<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let atom = match (live, config) {
        (live, None) => shape.atom(live),
        (None, config) => shape.atom(config),
        (Some(old), Some(new)) => {
            let (before, after) = (shape.atom(live), shape.atom(config));
            if same_form(&before, &after) || old.is_null() {
                after
            } else if new.is_null() {
                before
            } else {
                // A field without a fixed type changed its form: the new value stands.
                return Some(new.clone());
            }
        }
    };
    match atom {
        Atom::Scalar(_) | Atom::Whole => leaf(live, config),
        Atom::Map(map) => {
            let (old, new) = (live.and_then(Value::as_object), config.and_then(Value::as_object));
            let empty = old.is_none_or(serde_json::Map::is_empty) && new.is_none_or(serde_json::Map::is_empty);
            if map.atomic || empty {
                leaf(live, config)
            } else {
                fields(&map, old, new)
            }
        }
        Atom::List(list) => {
            let old = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let new = config.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let empty = old.is_empty() && new.is_empty();
            if list.is_atomic() || empty {
                leaf(live, config)
            } else {
                items(&list, old, new)
            }
        }
    }
}

fn leaf(live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    config.or(live).cloned()
}

type Fields = serde_json::Map<String, Value>;

fn fields(map: &Map<'_>, live: Option<&Fields>, config: Option<&Fields>) -> Option<Value> {
    let mut merged = Fields::new();
    for (key, value) in live.into_iter().flatten() {
        let out = match config.and_then(|c| c.get(key)) {
            // Nothing is applied below: what is there stays as it is.
            None => Some(value.clone()),
            applied => {
                let (shape, _) = map.field(key).unwrap_or((Shape::Deduced, false));
                merge(shape, Some(value), applied)
            }
        };
        if let Some(out) = out {
            merged.insert(key.clone(), out);
        }
    }
    for (key, value) in config
        .into_iter()
        .flatten()
        .filter(|(key, _)| live.is_none_or(|l| !l.contains_key(*key)))
    {
        let (shape, _) = map.field(key).unwrap_or((Shape::Deduced, false));
        if let Some(out) = merge(shape, None, Some(value)) {
            merged.insert(key.clone(), out);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Merges two associative lists. Items of both keep the configuration's order; the others keep their places.
fn items(list: &List<'_>, live: &[Value], config: &[Value]) -> Option<Value> {
    let (left, right) = (keyed(list, live), keyed(list, config));
    let (in_left, in_right) = (index(&left), index(&right));
    let mut shared = right
        .iter()
        .map(|(key, _)| key)
        .filter(|key| in_left.contains_key(*key));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&ItemKey<'_>> = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let both = |key: &ItemKey<'_>| {
        let old = in_left.get(key).copied().flatten().map(|at| left[at].1);
        let new = in_right.get(key).copied().flatten().map(|at| right[at].1);
        merge(list.items, old, new)
    };
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if l < left.len() && r < right.len() {
            let key = &left[l].0;
            if *key == right[r].0 {
                done.insert(key);
                out.extend(both(key));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if in_right.contains_key(key) && next_shared.is_some_and(|next| next != key) {
                // Shared, but its turn comes later.
                l += 1;
                continue;
            }
        }
        if l < left.len() {
            let (key, value) = &left[l];
            if !in_right.contains_key(key) {
                out.extend(merge(list.items, Some(value), None));
                l += 1;
                continue;
            }
            if done.contains(key) {
                l += 1;
            }
        }
        if r < right.len() {
            let key = &right[r].0;
            done.insert(key);
            out.extend(both(key));
            r += 1;
            if next_shared == Some(key) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

type Item<'v> = (ItemKey<'v>, &'v Value);

/// The items that something tells apart.
fn keyed<'v>(list: &List<'v>, items: &'v [Value]) -> Vec<Item<'v>> {
    items
        .iter()
        .filter_map(|item| Some((list.key(item).ok()?, item)))
        .collect()
}

/// Where each key is; nowhere in particular if it is doubled, as such an item is not merged but replaced.
fn index<'i, 'v>(side: &'i [Item<'v>]) -> BTreeMap<&'i ItemKey<'v>, Option<usize>> {
    let mut map = BTreeMap::new();
    for (at, (key, _)) in side.iter().enumerate() {
        map.entry(key).and_modify(|found| *found = None).or_insert(Some(at));
    }
    map
}
