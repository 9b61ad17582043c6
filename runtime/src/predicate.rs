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
