//! What changed: the header of an object before and after, decoded without its body.

mod known;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::{Cached, DecodeError};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// A `resourceVersion`.
///
/// Versions of one resource are ordered where they are numbers, as they are on every server that follows
/// [KEP-5504](https://github.com/kubernetes/enhancements/issues/5504); others are only equal or not.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

impl Version {
    /// Reads a version as the server wrote it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        // "007" is not the version that 7 prints as, so it stays text and comes back to the server unchanged.
        let canonical = text.len() == 1 || !text.starts_with('0');
        match text.parse::<u64>() {
            Ok(number) if canonical && !text.starts_with('+') => Self(Repr::Number(number)),
            _ => Self(Repr::Text(Arc::from(text))),
        }
    }

    pub(crate) fn of_number(number: u64) -> Self {
        Self(Repr::Number(number))
    }

    /// The version as a number, where it is one.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }

    /// The version as the server wrote it.
    #[must_use]
    pub fn as_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Number(number) => Cow::Owned(number.to_string()),
            Repr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// How two versions of one resource are ordered; `None` where they cannot be compared.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(a), Repr::Number(b)) => Some(a.cmp(b)),
            (a, b) if a == b => Some(Ordering::Equal),
            _ => None,
        }
    }

    /// Whether this version is at least as new as `other`; false where they cannot be compared.
    #[must_use]
    pub fn reaches(&self, other: &Self) -> bool {
        self.compare(other).is_some_and(Ordering::is_ge)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => number.fmt(f),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Labels of an object, sorted by key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels(Option<Arc<str>>);

/// Ends each key and each value in the text of [`Labels`]; no label that a server accepts holds it.
pub(crate) const END: char = '\0';

impl Labels {
    /// Takes labels in any order; the last of two with one key wins.
    #[must_use]
    pub fn new<K: AsRef<str>, V: AsRef<str>>(mut pairs: Vec<(K, V)>) -> Self {
        // Stable, so that of equal keys the last given stays last.
        pairs.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        let mut text = String::new();
        for (index, (key, value)) in pairs.iter().enumerate() {
            if pairs.get(index + 1).is_some_and(|next| next.0.as_ref() == key.as_ref()) {
                continue;
            }
            push_label(&mut text, key.as_ref(), value.as_ref());
        }
        Self::of_text(Arc::from(text))
    }

    /// Labels whose text is known: sorted keys, as [`push_label`] writes them, and values, each with its end.
    pub(crate) fn of_text(text: Arc<str>) -> Self {
        Self((!text.is_empty()).then_some(text))
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        Self::pairs(self.text())
    }

    /// The labels of a text.
    pub(crate) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = text.split_terminator(END);
        std::iter::from_fn(move || Some((known::long(parts.next()?), parts.next()?)))
    }

    /// How many labels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Adds a label to the text of [`Labels`].
pub(crate) fn push_label(text: &mut String, key: &str, value: &str) {
    for part in [known::short(key), value] {
        if part.contains(END) {
            text.extend(part.chars().filter(|c| *c != END));
        } else {
            text.push_str(part);
        }
        text.push(END);
    }
}

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRef {
    /// `apiVersion` of the owner.
    pub api_version: Arc<str>,
    /// Kind of the owner.
    pub kind: Arc<str>,
    /// Name of the owner.
    pub name: Arc<str>,
    /// Uid of the owner.
    pub uid: Arc<str>,
    /// Whether the owner is the object's controller.
    pub controller: bool,
}

/// Reads owners from their text: apiVersion, kind, name, uid and `1` for the controller, each with its [`END`].
pub(crate) fn owners_of(text: &str) -> Box<[OwnerRef]> {
    let mut parts = text.split_terminator(END);
    let mut owners = Vec::new();
    while let (Some(api_version), Some(kind), Some(name), Some(uid), Some(controller)) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    {
        owners.push(OwnerRef {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
            uid: uid.into(),
            controller: controller == "1",
        });
    }
    owners.into()
}

/// Reads finalizers from their text, each with its [`END`].
pub(crate) fn finalizers_of(text: &str) -> Box<[Arc<str>]> {
    text.split_terminator(END).map(Arc::from).collect()
}

/// What is known of an object without decoding its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Uid; empty where the server gave none.
    pub uid: Arc<str>,
    /// `resourceVersion`.
    pub version: Version,
    /// `metadata.generation`, where the kind has one.
    pub generation: Option<i64>,
    /// Labels.
    pub labels: Labels,
    /// Owner references, in the object's order.
    pub owners: Box<[OwnerRef]>,
    /// Finalizers, in the object's order.
    pub finalizers: Box<[Arc<str>]>,
    /// `deletionTimestamp`, where it is set.
    pub deletion: Option<Arc<str>>,
    /// `deletionGracePeriodSeconds`, where it is set.
    pub deletion_grace: Option<i64>,
    /// `creationTimestamp`.
    pub created: Option<Arc<str>>,
    /// Digest of the annotations; 0 where there are none.
    pub annotations_digest: u64,
    /// Digest of everything but metadata and status (spec, data, rules, …); 0 where there is nothing.
    pub spec_digest: u64,
    /// Digest of the status; 0 where there is none.
    pub status_digest: u64,
    /// Digest of all but managedFields, resourceVersion and status: what "No-op skip" compares.
    pub content_digest: u64,
}

impl Header {
    /// The controller owner, if there is one.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerRef> {
        self.owners.iter().find(|owner| owner.controller)
    }

    /// Whether deletion has been asked for.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.deletion.is_some()
    }

    /// Whether the object carries this finalizer.
    #[must_use]
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|f| &**f == finalizer)
    }
}

/// Where a delta comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaCause {
    /// The first list of an informer, or the replay for a late subscriber.
    FirstList,
    /// An event of the watch.
    Event,
    /// A difference found by a relist.
    Relist,
    /// A periodic replay; nothing changed.
    Resync,
}

/// One change of one object, as an informer delivers it.
///
/// A recreation under the same name (another uid) is delivered as two deltas: a deletion, then an addition.
#[derive(Clone, Debug)]
pub struct Delta {
    /// Kind of the object.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// The header before; `None` for an addition.
    pub old: Option<Arc<Header>>,
    /// The header after; `None` for a deletion.
    pub new: Option<Arc<Header>>,
    /// Where the change comes from.
    pub cause: DeltaCause,
    old_body: Option<Cached>,
    new_body: Option<Cached>,
}

impl Delta {
    /// A change from `old` to `new`; at least one of them is given.
    #[must_use]
    pub fn new(kind: Kind, key: ObjectKey, old: Option<Cached>, new: Option<Cached>, cause: DeltaCause) -> Self {
        Self {
            kind,
            key,
            old: old.as_ref().map(Cached::header_arc),
            new: new.as_ref().map(Cached::header_arc),
            cause,
            old_body: old,
            new_body: new,
        }
    }

    /// Whether the object is gone.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        self.new.is_none()
    }

    /// Whether the object was not there before.
    #[must_use]
    pub fn is_addition(&self) -> bool {
        self.old.is_none()
    }

    /// The object before.
    #[must_use]
    pub fn old_cached(&self) -> Option<&Cached> {
        self.old_body.as_ref()
    }

    /// The object after.
    #[must_use]
    pub fn new_cached(&self) -> Option<&Cached> {
        self.new_body.as_ref()
    }

    /// The decoded object before; `None` for an addition.
    ///
    /// # Errors
    ///
    /// The body does not fit `K`.
    pub fn old_object<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Option<Result<Arc<K>, DecodeError>> {
        self.old_body.as_ref().map(Cached::decode)
    }

    /// The decoded object after; `None` for a deletion.
    ///
    /// # Errors
    ///
    /// The body does not fit `K`.
    pub fn new_object<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Option<Result<Arc<K>, DecodeError>> {
        self.new_body.as_ref().map(Cached::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_numbers_are_ordered_and_others_only_equal() {
        let v = Version::parse;
        assert!(v("10").reaches(&v("9")) && !v("9").reaches(&v("10")));
        assert!(v("abc").reaches(&v("abc")) && !v("abc").reaches(&v("abd")) && !v("5").reaches(&v("abc")));
        assert_eq!(v("007").as_str(), "007");
        assert_eq!(v("0").number(), Some(0));
        assert_eq!(v("+5").number(), None);
    }

    #[test]
    fn labels_are_found_by_key() {
        let labels = Labels::new(vec![("b", "2"), ("a", "1"), ("b", "3")]);
        assert_eq!(labels.get("a"), Some("1"));
        assert_eq!(labels.get("b"), Some("3"));
        assert_eq!(labels.get("c"), None);
        assert_eq!(labels.len(), 2);
    }
}
