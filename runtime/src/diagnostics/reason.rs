//! Why a key is reconciled.

use std::fmt;
use std::sync::Arc;

use super::fields::Fields;
use crate::delta::Version;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// One cause of a reconcile. `Display` is what people read in `dev`, logs and `/statusz`; its alternate form (`{:#}`) tells
/// resourceVersions too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The object was there when the watch of its kind began.
    FirstList {
        /// Kind of the object that was listed.
        kind: Kind,
        /// The object; differs from the reconciled one for children and referenced objects.
        key: ObjectKey,
    },
    /// An object appeared.
    Created {
        /// Kind of the object.
        kind: Kind,
        /// The object.
        key: ObjectKey,
        /// Its resourceVersion.
        version: Version,
        /// Whether the last run of the key made it.
        own: bool,
    },
    /// An object changed.
    Changed {
        /// Kind of the object.
        kind: Kind,
        /// The object.
        key: ObjectKey,
        /// resourceVersion before the first change that this reason stands for.
        old: Version,
        /// resourceVersion after the last one.
        new: Version,
        /// How many changes this reason stands for.
        times: u32,
        /// What differs.
        fields: Fields,
        /// Whether it is nothing but the echo of what the last run of the key wrote.
        own: bool,
    },
    /// An object is gone, or was replaced by another one of the same name.
    Deleted {
        /// Kind of the object.
        kind: Kind,
        /// The object.
        key: ObjectKey,
    },
    /// The last run asked to run again.
    Requeue,
    /// The last run failed; the number counts the retries since the last success.
    Retry(u32),
    /// The declared `resync` came round.
    Resync,
    /// A source of the author's own, by its name.
    Source(Arc<str>),
}

impl Reason {
    /// The object whose change this is, with its kind, for reasons that have one.
    #[must_use]
    pub fn object(&self) -> Option<(&Kind, &ObjectKey)> {
        match self {
            Self::FirstList { kind, key }
            | Self::Created { kind, key, .. }
            | Self::Changed { kind, key, .. }
            | Self::Deleted { kind, key } => Some((kind, key)),
            _ => None,
        }
    }

    /// A name of bounded variety, for metrics: `first_list`, `created`, `changed`, `deleted`, `requeue`, `retry`,
    /// `resync`, `source`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::FirstList { .. } => "first_list",
            Self::Created { .. } => "created",
            Self::Changed { .. } => "changed",
            Self::Deleted { .. } => "deleted",
            Self::Requeue => "requeue",
            Self::Retry(_) => "retry",
            Self::Resync => "resync",
            Self::Source(_) => "source",
        }
    }

    /// Whether it is an echo of what the last run of the key wrote.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Created { own: true, .. } | Self::Changed { own: true, .. })
    }

    /// Says that it is.
    pub(crate) fn mark_own(&mut self) {
        if let Self::Created { own, .. } | Self::Changed { own, .. } = self {
            *own = true;
        }
    }

    /// Takes in a later reason about the same thing; gives it back where the two say different things.
    fn absorb(&mut self, later: Self) -> Option<Self> {
        match (self, later) {
            (
                Self::Changed {
                    kind,
                    key,
                    new,
                    times,
                    fields,
                    own,
                    ..
                },
                Self::Changed {
                    kind: later_kind,
                    key: later_key,
                    new: later_new,
                    times: later_times,
                    fields: later_fields,
                    own: later_own,
                    ..
                },
            ) if *kind == later_kind && *key == later_key => {
                *new = later_new;
                *times = times.saturating_add(later_times);
                *own &= later_own;
                fields.merge(later_fields);
                None
            }
            (Self::Retry(n), Self::Retry(later)) => {
                *n = later.max(*n);
                None
            }
            (mine, later) if *mine == later => None,
            (_, later) => Some(later),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstList { kind, key } => write!(f, "{} {key} found at start", kind.kind()),
            Self::Created { kind, key, own, .. } => {
                let by = if *own { " by the last run" } else { "" };
                write!(f, "{} {key} created{by}", kind.kind())
            }
            Self::Changed {
                kind,
                key,
                old,
                new,
                fields,
                own,
                ..
            } => {
                let by = if *own { " by the last run" } else { "" };
                write!(f, "{} {key} changed{by}", kind.kind())?;
                let fields = fields.to_string();
                if !fields.is_empty() {
                    write!(f, " ({fields})")?;
                }
                if f.alternate() {
                    write!(f, " {old}→{new}")?;
                }
                Ok(())
            }
            Self::Deleted { kind, key } => write!(f, "{} {key} deleted", kind.kind()),
            Self::Requeue => f.write_str("requeue"),
            Self::Retry(n) => write!(f, "retry {n}"),
            Self::Resync => f.write_str("resync"),
            Self::Source(name) => write!(f, "source {name}"),
        }
    }
}

/// The causes of one run, merged while the key waits: one entry per object and cause, in order of arrival.
///
/// Bounded: beyond [`Reasons::LIMIT`] entries only their number is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    kept: Vec<Reason>,
    dropped: usize,
}

impl Reasons {
    /// How many different causes are kept for one run.
    pub const LIMIT: usize = 8;

    /// Adds a cause, or folds it into one about the same object.
    pub fn push(&mut self, reason: Reason) {
        let mut reason = reason;
        for kept in &mut self.kept {
            match kept.absorb(reason) {
                None => return,
                Some(other) => reason = other,
            }
        }
        if self.kept.len() < Self::LIMIT {
            self.kept.push(reason);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds all causes of `later`.
    pub fn merge(&mut self, later: Self) {
        for reason in later.kept {
            self.push(reason);
        }
        self.dropped += later.dropped;
    }

    /// The causes, oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Reason] {
        &self.kept
    }

    /// Whether all of them are echoes of what the last run of the key wrote.
    #[must_use]
    pub fn are_own(&self) -> bool {
        self.dropped == 0 && !self.kept.is_empty() && self.kept.iter().all(Reason::is_own)
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [Reason] {
        &mut self.kept
    }

    /// Works out which fields changed, and lets go of the objects.
    pub(crate) fn settle(&mut self) {
        for reason in &mut self.kept {
            if let Reason::Changed { fields, .. } = reason {
                fields.settle();
            }
        }
    }

    /// How many causes came on top of those kept.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl From<Reason> for Reasons {
    fn from(reason: Reason) -> Self {
        Self {
            kept: vec![reason],
            dropped: 0,
        }
    }
}

impl crate::workqueue::Merge for Reasons {
    fn merge(&mut self, later: Self) {
        Self::merge(self, later);
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, reason) in self.kept.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            reason.fmt(f)?;
        }
        if self.dropped > 0 {
            write!(f, "; and {} more", self.dropped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(name: &str, old: &str, new: &str, field: &'static str) -> Reason {
        Reason::Changed {
            kind: Kind::new("", "v1", "ConfigMap", "configmaps", true),
            key: ObjectKey::new("ns", name),
            old: Version::parse(old),
            new: Version::parse(new),
            times: 1,
            fields: Fields::new([field]),
            own: false,
        }
    }

    #[test]
    fn changes_of_one_object_fold_into_one_reason_over_the_whole_span() {
        let mut reasons = Reasons::from(changed("a", "1", "2", "spec"));
        reasons.push(changed("b", "3", "4", "spec"));
        reasons.push(changed("a", "2", "5", "status"));
        assert_eq!(reasons.as_slice().len(), 2);
        assert_eq!(
            reasons.to_string(),
            "ConfigMap ns/a changed (spec, status); ConfigMap ns/b changed (spec)"
        );
        let Reason::Changed { old, new, .. } = &reasons.as_slice()[0] else {
            panic!("the first reason is a change")
        };
        assert_eq!((&*old.as_str(), &*new.as_str()), ("1", "5"));
    }

    #[test]
    fn more_causes_than_the_limit_are_counted_not_kept() {
        let mut reasons = Reasons::default();
        for i in 0..20 {
            reasons.push(changed(&format!("o{i}"), "1", "2", "spec"));
        }
        assert_eq!(reasons.as_slice().len(), Reasons::LIMIT);
        assert_eq!(reasons.dropped(), 12);
        assert!(reasons.to_string().ends_with("; and 12 more"));
    }
}
