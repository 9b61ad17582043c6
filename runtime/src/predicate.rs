//! Which changes matter.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::sync::Arc;

use crate::delta::Delta;

/// Decides whether a change wakes anything. Composes with `&`, `|` and `!`; cheap to clone.
#[derive(Clone)]
pub struct Predicate(Arc<dyn Fn(&Delta) -> bool + Send + Sync>);

impl Predicate {
    /// A predicate from a function of the change.
    pub fn new(passes: impl Fn(&Delta) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(passes))
    }

    /// Whether `delta` passes.
    #[must_use]
    pub fn passes(&self, delta: &Delta) -> bool {
        (self.0)(delta)
    }
}

impl BitAnd for Predicate {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::new(move |delta| self.passes(delta) && other.passes(delta))
    }
}

impl BitOr for Predicate {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::new(move |delta| self.passes(delta) || other.passes(delta))
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(move |delta| !self.passes(delta))
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate(..)")
    }
}

/// The predicates that most controllers need, and the functions behind `&`, `|` and `!`.
///
/// Deletions, recreations and the start of a deletion wake the key whatever a predicate says. The predicates that
/// compare two versions pass an addition, so that `!` of one of them hides additions, those of the first list
/// included; where that is not meant, write the test by hand with [`Predicate::new`](super::Predicate::new).
pub mod predicates {
    use std::sync::Arc;

    use serde::de::DeserializeOwned;

    use super::Predicate;
    use crate::delta::Header;
    use crate::diagnostics::Fields;

    /// `metadata.generation` changed. Kinds that do not count it (ConfigMap, Secret) pass when anything but metadata
    /// and status changed.
    #[must_use]
    pub fn generation_changed() -> Predicate {
        changed(|old, new| match (old.generation, new.generation) {
            (Some(old), Some(new)) if old > 0 && new > 0 => old != new,
            _ => old.spec_digest != new.spec_digest,
        })
    }

    /// The labels changed.
    #[must_use]
    pub fn labels_changed() -> Predicate {
        changed(|old, new| old.labels != new.labels)
    }

    /// The annotations changed.
    #[must_use]
    pub fn annotations_changed() -> Predicate {
        changed(|old, new| old.annotations_digest != new.annotations_digest)
    }

    /// The status changed.
    #[must_use]
    pub fn status_changed() -> Predicate {
        changed(|old, new| old.status_digest != new.status_digest)
    }

    /// A field of the object changed, named by its path: `spec.replicas`, `data`, `metadata.annotations[example.com/x]`.
    /// What lies below it counts. An object whose body is not known passes.
    #[must_use]
    pub fn field_changed(path: impl Into<String>) -> Predicate {
        let path = path.into();
        Predicate::new(move |delta| match (delta.old_cached(), delta.new_cached()) {
            (Some(old), Some(new)) => Fields::differ_at(old, new, &path),
            _ => true,
        })
    }

    /// The resourceVersion changed: everything but a replay of what is known.
    #[must_use]
    pub fn resource_version_changed() -> Predicate {
        changed(|old, new| old.version != new.version)
    }

    /// The newest known version of the object fulfils `f`. An object that does not decode as `K` passes, so that the
    /// reconcile reports it.
    pub fn object<K, M>(f: impl ObjectTest<K, M>) -> Predicate
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        Predicate::new(move |delta| {
            let newest = delta.new_object::<K>().or_else(|| delta.old_object::<K>());
            newest.is_none_or(|object| object.map_or(true, |object| f.holds(object)))
        })
    }

    /// A function that [`object`] asks: of `&K` or `Arc<K>`. `M` tells the two apart; leave it to inference.
    #[diagnostic::on_unimplemented(
        message = "this function does not ask about `{K}`",
        label = "expected `fn(&{K}) -> bool`"
    )]
    pub trait ObjectTest<K, M>: Send + Sync + 'static {
        /// Whether the function answers true.
        #[doc(hidden)]
        fn holds(&self, object: Arc<K>) -> bool;
    }

    /// Marks functions of `&K`.
    #[derive(Debug)]
    pub struct ByRef;

    /// Marks functions of `Arc<K>`.
    #[derive(Debug)]
    pub struct ByArc;

    #[diagnostic::do_not_recommend]
    impl<K, F: Fn(&K) -> bool + Send + Sync + 'static> ObjectTest<K, ByRef> for F {
        fn holds(&self, object: Arc<K>) -> bool {
            self(&object)
        }
    }

    #[diagnostic::do_not_recommend]
    impl<K, F: Fn(Arc<K>) -> bool + Send + Sync + 'static> ObjectTest<K, ByArc> for F {
        fn holds(&self, object: Arc<K>) -> bool {
            self(object)
        }
    }

    /// A predicate that stands as a bare name in the attribute.
    #[must_use]
    pub fn given(predicate: impl IsPredicate) -> Predicate {
        predicate.into_predicate()
    }

    /// A [`Predicate`]. As a bound it says what to write where a function was named instead.
    #[diagnostic::on_unimplemented(
        message = "this is no predicate",
        label = "expected a `Predicate`",
        note = "call a function that answers a `Predicate`, as in `mine()`; let one of `&K` be asked by `object(…)`"
    )]
    pub trait IsPredicate {
        /// The predicate.
        #[doc(hidden)]
        fn into_predicate(self) -> Predicate;
    }

    impl IsPredicate for Predicate {
        fn into_predicate(self) -> Predicate {
            self
        }
    }

    /// Both pass.
    #[must_use]
    pub fn and(a: Predicate, b: Predicate) -> Predicate {
        a & b
    }

    /// At least one passes.
    #[must_use]
    pub fn or(a: Predicate, b: Predicate) -> Predicate {
        a | b
    }

    /// Does not pass.
    #[must_use]
    pub fn not(a: Predicate) -> Predicate {
        !a
    }

    /// A predicate over the headers before and after; passes where one of them is missing.
    pub fn changed(f: impl Fn(&Header, &Header) -> bool + Send + Sync + 'static) -> Predicate {
        Predicate::new(move |delta| match (&delta.old, &delta.new) {
            (Some(old), Some(new)) => f(old, new),
            _ => true,
        })
    }
}
