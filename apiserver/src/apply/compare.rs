//! What differs between two versions of an object, as sets of fields.

use std::iter::Peekable;

use serde_json::Value;

use super::element::{Element, ItemKey, same};
use super::set::FieldSet;
use super::shape::{Atom, List, Map, Shape};

/// The fields by which two objects differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Only in the new object.
    pub(super) added: FieldSet,
    /// In both, with different values.
    pub(super) modified: FieldSet,
    /// Only in the old object.
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// Compares two objects.
    pub(super) fn of(shape: Shape<'_>, old: &Value, new: &Value) -> Self {
        compare(shape, Some(old), Some(new)).below
    }

    /// The comparison without the fields that are never owned here.
    pub(super) fn without(self, ignored: &FieldSet) -> Self {
        if ignored.is_empty() {
            return self;
        }
        Self {
            added: self.added.without_below(ignored),
            modified: self.modified.without_below(ignored),
            removed: self.removed.without_below(ignored),
        }
    }

    /// Whether nothing differs.
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    fn join(mut self, other: Self) -> Self {
        self.added.add(other.added);
        self.modified.add(other.modified);
        self.removed.add(other.removed);
        self
    }
}

/// The comparison of one place: what it is itself, and what is below it.
#[derive(Default)]
struct Place {
    added: bool,
    modified: bool,
    removed: bool,
    below: Comparison,
}

impl Place {
    fn attach(self, element: Element, to: &mut Comparison) {
        let Self {
            added,
            modified,
            removed,
            below,
        } = self;
        if added || !below.added.is_empty() {
            to.added.push(element.clone(), added, below.added);
        }
        if modified || !below.modified.is_empty() {
            to.modified.push(element.clone(), modified, below.modified);
        }
        if removed || !below.removed.is_empty() {
            to.removed.push(element, removed, below.removed);
        }
    }

    fn is_empty(&self) -> bool {
        !self.added && !self.modified && !self.removed && self.below.is_empty()
    }
}

fn compare(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>) -> Place {
    match (old, new) {
        // Whether maps differ shows on the way through them.
        (Some(old), Some(new)) if !(old.is_object() && new.is_object()) && old == new => Place::default(),
        (Some(old), Some(new)) => {
            let (before, after) = (shape.atom(Some(old)), shape.atom(Some(new)));
            if same_form(&before, &after) || old.is_null() {
                visit(&after, Some(old), Some(new))
            } else if new.is_null() {
                visit(&before, Some(old), Some(new))
            } else {
                // The value changed its form, which only fields without a fixed type can.
                let first = visit(&before, Some(old), Some(new));
                let second = visit(&after, Some(old), Some(new));
                Place {
                    added: first.added || second.added,
                    modified: first.modified || second.modified,
                    removed: first.removed || second.removed,
                    below: first.below.join(second.below),
                }
            }
        }
        (old, new) => Place {
            added: old.is_none(),
            removed: new.is_none(),
            modified: false,
            below: Comparison {
                added: new.map(|value| everything(shape, value)).unwrap_or_default(),
                removed: old.map(|value| everything(shape, value)).unwrap_or_default(),
                modified: FieldSet::new(),
            },
        },
    }
}

/// Every field below a value that the other object lacks.
fn everything(shape: Shape<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    match (shape.atom(Some(value)), value) {
        (Atom::Map(map), Value::Object(fields)) if !map.atomic => {
            for (key, value) in fields {
                let step = map.step(key);
                set.push(Element::Field(step.name), true, everything(step.shape, value));
            }
        }
        (Atom::List(list), Value::Array(items)) if !list.is_atomic() => {
            for same in by_key(&list, items).chunk_by(|(a, _), (b, _)| a == b) {
                // Several items of one key are one field.
                let below = match same {
                    [(_, one)] => everything(list.items, one),
                    _ => FieldSet::new(),
                };
                set.push(same[0].0.element(), true, below);
            }
        }
        _ => {}
    }
    set
}

fn visit(atom: &Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Place {
    match atom {
        Atom::Scalar(_) | Atom::Whole => leaf(old, new),
        Atom::Map(map) => {
            let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            let empty = before.is_none_or(serde_json::Map::is_empty) && after.is_none_or(serde_json::Map::is_empty);
            if map.atomic || empty {
                leaf(old, new)
            } else {
                fields(map, before, after)
            }
        }
        Atom::List(list) => {
            let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let after = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let empty = before.is_empty() && after.is_empty();
            if list.is_atomic() || empty {
                leaf(old, new)
            } else {
                items(list, before, after)
            }
        }
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Place {
    let modified = matches!((old, new), (Some(old), Some(new)) if !same(old, new));
    Place {
        modified,
        ..Place::default()
    }
}

type Fields = serde_json::Map<String, Value>;

fn fields(map: &Map<'_>, old: Option<&Fields>, new: Option<&Fields>) -> Place {
    let mut below = Comparison::default();
    // Both maps are sorted: walk them side by side.
    let mut old = old.into_iter().flatten().peekable();
    let mut new = new.into_iter().flatten().peekable();
    loop {
        let key = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some((key, _)), None) | (None, Some((key, _))) => key.as_str(),
            (Some((a, _)), Some((b, _))) => a.as_str().min(b.as_str()),
        };
        let before = old.next_if(|(k, _)| *k == key).map(|(_, v)| v);
        let after = new.next_if(|(k, _)| *k == key).map(|(_, v)| v);
        if let (Some(before), Some(after)) = (before, after)
            && !before.is_object()
            && before == after
        {
            continue;
        }
        let (shape, _) = map.field(key).unwrap_or((Shape::Deduced, false));
        let place = compare(shape, before, after);
        if !place.is_empty() {
            place.attach(Element::Field(map.step(key).name), &mut below);
        }
    }
    Place {
        below,
        ..Place::default()
    }
}

fn items(list: &List<'_>, old: &[Value], new: &[Value]) -> Place {
    let mut below = Comparison::default();
    if old == new {
        return Place::default();
    }
    let (before, after) = (by_key(list, old), by_key(list, new));
    let (mut before, mut after) = (groups(&before), groups(&after));
    loop {
        let key = match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some(group), None) | (None, Some(group)) => &group[0].0,
            (Some(a), Some(b)) => (&a[0].0).min(&b[0].0),
        };
        let was = before.next_if(|group| group[0].0 == *key).unwrap_or_default();
        let is = after.next_if(|group| group[0].0 == *key).unwrap_or_default();
        pair(list, key, was, is, &mut below);
    }
    Place {
        below,
        ..Place::default()
    }
}

type Item<'v> = (ItemKey<'v>, &'v Value);

/// Compares the items of one element; more than one (a duplicate, which stored lists may hold) are one leaf.
fn pair(list: &List<'_>, key: &ItemKey<'_>, was: &[Item<'_>], is: &[Item<'_>], below: &mut Comparison) {
    let place = if was.len() <= 1 && is.len() <= 1 {
        compare(list.items, first(was), first(is))
    } else {
        let equal = was.len() == is.len() && was.iter().zip(is).all(|((_, a), (_, b))| same(a, b));
        let (added, removed) = (was.is_empty(), is.is_empty());
        Place {
            added,
            removed,
            modified: !added && !removed && !equal,
            ..Place::default()
        }
    };
    if !place.is_empty() {
        place.attach(key.element(), below);
    }
}

fn first<'v>(items: &[Item<'v>]) -> Option<&'v Value> {
    items.first().map(|(_, value)| *value)
}

/// The items that something tells apart, in the order of their keys.
fn by_key<'v>(list: &List<'v>, items: &'v [Value]) -> Vec<Item<'v>> {
    let keyed = items.iter().filter_map(|item| Some((list.key(item).ok()?, item)));
    let mut keyed: Vec<Item<'v>> = keyed.collect();
    // Stable: of equal items the order stays.
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed
}

/// The items of each key.
fn groups<'i, 'v>(items: &'i [Item<'v>]) -> Peekable<impl Iterator<Item = &'i [Item<'v>]>> {
    items.chunk_by(|(a, _), (b, _)| a == b).peekable()
}

/// Whether both values take the same form here.
pub(super) fn same_form(a: &Atom<'_>, b: &Atom<'_>) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}
