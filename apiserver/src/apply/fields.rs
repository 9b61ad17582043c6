//! The fields of an entry of managedFields: as they are written until somebody needs the set.
//!
//! Most writes change fields that the writer owns already, and nothing that others own. Then no set has to be read
//! from the entries, and none written.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::element::Element;
use super::ownership;
use super::set::FieldSet;
use super::shape::{Atom, Shape};

/// The fields of one manager.
#[derive(Clone, Debug)]
pub(super) enum Fields {
    /// `fieldsV1` as this server writes it.
    Written(Map<String, Value>),
    /// Read.
    Set(FieldSet),
}

impl Default for Fields {
    fn default() -> Self {
        Self::Set(FieldSet::new())
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Written(a), Self::Written(b)) if a == b => true,
            _ => self.set() == other.set(),
        }
    }
}

impl Fields {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Written(map) => map.keys().all(|key| key == "."),
            Self::Set(set) => set.is_empty(),
        }
    }

    /// The set.
    pub(super) fn set(&self) -> Cow<'_, FieldSet> {
        match self {
            Self::Written(map) => Cow::Owned(FieldSet::from_fields_v1_map(map).unwrap_or_default()),
            Self::Set(set) => Cow::Borrowed(set),
        }
    }

    /// `fieldsV1`.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Written(map) => Value::Object(map),
            Self::Set(set) => Value::Object(set.to_map()),
        }
    }

    /// Adds the fields of a set.
    pub(super) fn add(&mut self, more: FieldSet) {
        match self {
            Self::Written(map) if holds(map, &more) => {}
            _ => self.read().add(more),
        }
    }

    /// Takes out the fields of a set.
    pub(super) fn remove(&mut self, less: &FieldSet) {
        match self {
            Self::Written(map) if !touches(map, less) => {}
            _ => self.read().remove(less),
        }
    }

    /// What the set holds of these fields.
    pub(super) fn intersection(&self, other: &FieldSet) -> FieldSet {
        match self {
            Self::Written(map) if !touches(map, other) => FieldSet::new(),
            _ => self.set().intersection(other),
        }
    }

    /// Whether all fields of the set are among these.
    pub(super) fn holds(&self, other: &FieldSet) -> bool {
        match self {
            Self::Written(map) => holds(map, other),
            Self::Set(set) => other.is_within(set),
        }
    }

    /// Whether these are the fields of the set.
    pub(super) fn are(&self, set: &FieldSet) -> bool {
        match self {
            Self::Written(map) => are(map, set, &mut String::new()),
            Self::Set(own) => own == set,
        }
    }

    /// Fits fields that were written under an older schema to this one.
    pub(super) fn fit(&mut self, shape: Shape<'_>) {
        if let Self::Written(map) = self
            && fits(shape, map)
        {
            return;
        }
        if let Some(fitted) = ownership::fitted(shape, &self.set()) {
            *self = Self::Set(fitted);
        }
    }

    fn read(&mut self) -> &mut FieldSet {
        if let Self::Written(_) = self {
            *self = Self::Set(self.set().into_owned());
        }
        match self {
            Self::Set(set) => set,
            Self::Written(_) => unreachable!("it was read just now"),
        }
    }
}

/// Whether a path of the set is a field in `fieldsV1`.
fn touches(map: &Map<String, Value>, set: &FieldSet) -> bool {
    let mut key = String::new();
    set.steps().any(|(element, member, below)| {
        let Some(found) = find(map, element, &mut key) else {
            return false;
        };
        (member && is_member(found)) || (!below.is_empty() && touches(found, below))
    })
}

/// Whether every path of the set is a field in `fieldsV1`.
fn holds(map: &Map<String, Value>, set: &FieldSet) -> bool {
    let mut key = String::new();
    set.steps().all(|(element, member, below)| {
        find(map, element, &mut key)
            .is_some_and(|found| (!member || is_member(found)) && (below.is_empty() || holds(found, below)))
    })
}

/// Whether `fieldsV1` writes the set.
fn are(map: &Map<String, Value>, set: &FieldSet, key: &mut String) -> bool {
    let mut steps = 0;
    let found = set.steps().all(|(element, member, below)| {
        steps += 1;
        find(map, element, key).is_some_and(|found| member == is_member(found) && are(found, below, key))
    });
    found && steps == map.len() - usize::from(map.contains_key("."))
}

fn find<'m>(map: &'m Map<String, Value>, element: &Element, key: &mut String) -> Option<&'m Map<String, Value>> {
    key.clear();
    element.write_fields_v1(key);
    map.get(key.as_str())?.as_object()
}

fn is_member(below: &Map<String, Value>) -> bool {
    below.is_empty() || below.contains_key(".")
}

/// Whether nothing is owned below what this schema merges as a whole: what [`ownership::fitted`] looks for.
fn fits(shape: Shape<'_>, map: &Map<String, Value>) -> bool {
    let atom = shape.atom(None);
    map.iter().all(|(key, below)| {
        let Some(below) = below.as_object().filter(|below| below.keys().any(|key| key != ".")) else {
            return true;
        };
        let child = match (&atom, key.strip_prefix("f:")) {
            (Atom::Map(map), Some(name)) => map.field(name).map_or(Shape::Deduced, |(shape, _)| shape),
            (Atom::List(list), _) => list.items,
            _ => Shape::Deduced,
        };
        !ownership::is_atomic(child) && fits(child, below)
    })
}
