//! Sets of field paths and their algebra.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::element::Element;

/// A set of paths, as a tree: at each level the steps in order, each a member of the set or on the way to members.
///
/// No level holds a step that is neither a member nor has members below it, so equal sets have equal trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    element: Element,
    member: bool,
    children: FieldSet,
}

impl FieldSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The set of one path.
    #[must_use]
    pub fn of_path(path: &[Element]) -> Self {
        let mut set = Self::new();
        set.insert(path);
        set
    }

    /// The set of one path of field names.
    #[must_use]
    pub fn of_fields(names: &[&str]) -> Self {
        let path: Vec<Element> = names.iter().map(|name| Element::Field((*name).into())).collect();
        Self::of_path(&path)
    }

    /// Reads `fieldsV1`; `None` when a key is no path element or a value no object.
    #[must_use]
    pub fn from_fields_v1(value: &Value) -> Option<Self> {
        Self::from_fields_v1_map(value.as_object()?)
    }

    /// Writes `fieldsV1`.
    #[must_use]
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.to_map())
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a path. The empty path is no field and is not added.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let entry = self.entry(first);
        if rest.is_empty() {
            entry.member = true;
        } else {
            entry.children.insert(rest);
        }
    }

    /// Whether the path is in the set.
    #[must_use]
    pub fn has(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.find(first).is_some_and(|e| {
            if rest.is_empty() {
                e.member
            } else {
                e.children.has(rest)
            }
        })
    }

    /// Everything in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other.clone());
        all
    }

    /// Adds everything in the other set.
    pub fn add(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let mut mine = std::mem::take(&mut self.0).into_iter().peekable();
        let mut theirs = other.0.into_iter().peekable();
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            match order {
                Ordering::Less => self.0.extend(mine.next()),
                Ordering::Greater => self.0.extend(theirs.next()),
                Ordering::Equal => self.0.extend(mine.next().zip(theirs.next()).map(|(mut a, b)| {
                    a.member |= b.member;
                    a.children.add(b.children);
                    a
                })),
            }
        }
    }

    /// Takes out what the other set holds, path by path.
    pub fn remove(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let mut theirs = other.0.iter().peekable();
        self.0.retain_mut(|a| {
            while theirs.next_if(|b| b.element < a.element).is_some() {}
            if let Some(b) = theirs.next_if(|b| b.element == a.element) {
                a.member &= !b.member;
                a.children.remove(&b.children);
            }
            a.member || !a.children.is_empty()
        });
    }

    /// What both sets hold.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| {
            let (a, b) = (a?, b?);
            Some(Entry::new(
                &a.element,
                a.member && b.member,
                a.children.intersection(&b.children),
            ))
        })
    }

    /// What this set holds and the other does not, path by path.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.remove(other);
        left
    }

    /// What this set holds that is neither in the other nor below anything in it.
    #[must_use]
    pub fn without_below(mut self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        self.0.retain_mut(|a| match other.find(&a.element) {
            Some(b) if b.member => false,
            Some(b) => {
                a.children = std::mem::take(&mut a.children).without_below(&b.children);
                a.member || !a.children.is_empty()
            }
            None => true,
        });
        self
    }

    /// Whether the other set holds everything that this one does.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|a| match other.find(&a.element) {
            Some(b) => (b.member || !a.member) && a.children.is_within(&b.children),
            None => false,
        })
    }

    /// Calls `visit` with every path in the set: at each level first the members, then what is below.
    pub fn each(&self, visit: &mut impl FnMut(&[Element])) {
        self.each_below(&mut Vec::new(), visit);
    }

    /// The paths of the set, in the order of [`FieldSet::each`].
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.each(&mut |path| paths.push(path.to_vec()));
        paths
    }

    /// Whether the step is a member, and the set below it.
    pub(super) fn at(&self, element: &Element) -> Option<(bool, &Self)> {
        self.find(element).map(|e| (e.member, &e.children))
    }

    /// As [`FieldSet::at`], for the field of that name.
    pub(super) fn at_field(&self, name: &str) -> Option<(bool, &Self)> {
        let found = self.0.binary_search_by(|e| match &e.element {
            Element::Field(field) => (**field).cmp(name),
            _ => Ordering::Greater,
        });
        found.ok().map(|i| (self.0[i].member, &self.0[i].children))
    }

    /// The steps of this level: element, whether it is a member, what is below.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&Element, bool, &Self)> {
        self.0.iter().map(|e| (&e.element, e.member, &e.children))
    }

    /// Adds a step with what is below it; nothing happens when there is nothing to add. Cheapest in order.
    pub(super) fn push(&mut self, element: Element, member: bool, children: Self) {
        if !member && children.is_empty() {
            return;
        }
        let entry = Entry {
            element,
            member,
            children,
        };
        match self.0.last() {
            Some(last) if last.element >= entry.element => match self.position(&entry.element) {
                Ok(at) => {
                    let found = &mut self.0[at];
                    found.member |= member;
                    found.children.add(entry.children);
                }
                Err(at) => self.0.insert(at, entry),
            },
            _ => self.0.push(entry),
        }
    }

    pub(super) fn from_fields_v1_map(map: &Map<String, Value>) -> Option<Self> {
        let mut entries = Vec::with_capacity(map.len());
        for (key, below) in map {
            if key == "." {
                continue;
            }
            let below = below.as_object()?;
            let children = Self::from_fields_v1_map(below)?;
            let member = children.is_empty() || below.contains_key(".");
            entries.push(Entry {
                element: Element::parse(key)?,
                member,
                children,
            });
        }
        entries.sort_by(|a, b| a.element.cmp(&b.element));
        entries.dedup_by(|a, b| a.element == b.element);
        Some(Self(entries))
    }

    pub(super) fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for entry in &self.0 {
            let mut below = entry.children.to_map();
            if entry.member && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(entry.element.to_fields_v1(), Value::Object(below));
        }
        map
    }

    fn each_below(&self, path: &mut Vec<Element>, visit: &mut impl FnMut(&[Element])) {
        for entry in self.0.iter().filter(|e| e.member) {
            path.push(entry.element.clone());
            visit(path);
            path.pop();
        }
        for entry in self.0.iter().filter(|e| !e.children.is_empty()) {
            path.push(entry.element.clone());
            entry.children.each_below(path, visit);
            path.pop();
        }
    }

    fn position(&self, element: &Element) -> Result<usize, usize> {
        self.0.binary_search_by(|e| e.element.cmp(element))
    }

    fn find(&self, element: &Element) -> Option<&Entry> {
        self.position(element).ok().map(|i| &self.0[i])
    }

    fn entry(&mut self, element: &Element) -> &mut Entry {
        let at = match self.position(element) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(
                    at,
                    Entry {
                        element: element.clone(),
                        member: false,
                        children: Self::new(),
                    },
                );
                at
            }
        };
        &mut self.0[at]
    }

    /// Walks both levels in order; keeps what `combine` makes of each step, unless it holds nothing.
    fn zip<'a>(
        &'a self,
        other: &'a Self,
        combine: impl Fn(Option<&'a Entry>, Option<&'a Entry>) -> Option<Entry>,
    ) -> Self {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut result = Vec::with_capacity(self.0.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            let combined = match order {
                Ordering::Less => combine(left.next(), None),
                Ordering::Greater => combine(None, right.next()),
                Ordering::Equal => combine(left.next(), right.next()),
            };
            result.extend(combined.filter(|e| e.member || !e.children.is_empty()));
        }
        Self(result)
    }
}

impl Entry {
    fn new(element: &Element, member: bool, children: FieldSet) -> Self {
        Self {
            element: element.clone(),
            member,
            children,
        }
    }
}
