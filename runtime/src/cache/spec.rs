//! What an informer keeps up, and how much of the kind that covers.

use std::fmt;
use std::sync::Arc;

use crate::cache::strip::StripPath;
use crate::kind::Kind;

/// What an informer keeps up. Equal specifications share one informer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct InformerSpec {
    /// Kind of the objects.
    pub kind: Kind,
    /// Only this namespace; all of them where `None`.
    pub namespace: Option<Arc<str>>,
    /// Only what this label selector selects.
    pub labels: Option<String>,
    /// Only what this field selector selects.
    pub fields: Option<String>,
    /// Keep metadata alone.
    pub metadata_only: bool,
    /// What is never kept, in order.
    pub strip: Vec<StripPath>,
}

impl InformerSpec {
    /// All objects of a kind.
    #[must_use]
    pub fn all(kind: &Kind) -> Self {
        Self {
            kind: kind.clone(),
            namespace: None,
            labels: None,
            fields: None,
            metadata_only: false,
            strip: Vec::new(),
        }
    }

    /// Only those of one namespace. Kinds without namespaces are kept whole.
    #[must_use]
    pub fn namespace(mut self, namespace: Option<&str>) -> Self {
        self.namespace = namespace
            .filter(|namespace| self.kind.namespaced() && !namespace.is_empty())
            .map(Arc::from);
        self
    }

    /// Only those that a label selector selects.
    #[must_use]
    pub fn labels(mut self, selector: Option<String>) -> Self {
        self.labels = selector.filter(|selector| !selector.is_empty());
        self
    }

    /// Only those that a field selector selects.
    #[must_use]
    pub fn fields(mut self, selector: Option<String>) -> Self {
        self.fields = selector.filter(|selector| !selector.is_empty());
        self
    }

    /// Keep metadata alone.
    #[must_use]
    pub fn metadata_only(mut self, metadata_only: bool) -> Self {
        self.metadata_only = metadata_only;
        self
    }

    /// Never keep what lies at these paths. Digests still tell when it changes.
    #[must_use]
    pub fn strip(mut self, paths: impl IntoIterator<Item = StripPath>) -> Self {
        self.strip = paths.into_iter().collect();
        self.strip.sort();
        self.strip.dedup();
        self
    }

    /// Whether both keep up the same objects, each more or less of them.
    pub(crate) fn same_objects(&self, other: &Self) -> bool {
        let scope = |spec: &Self| (spec.kind.clone(), spec.namespace.clone());
        scope(self) == scope(other) && self.labels == other.labels && self.fields == other.fields
    }

    /// Whether an informer of this specification does for who asks for `wanted`.
    pub(crate) fn serves(&self, wanted: &Self) -> bool {
        self.same_objects(wanted)
            && (self.metadata_only == wanted.metadata_only || !self.metadata_only)
            && self
                .strip
                .iter()
                .all(|path| wanted.metadata_only || wanted.strip.contains(path))
    }
}

/// `deployments.apps in shop where app=web`.
impl fmt::Display for InformerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        for selector in [&self.labels, &self.fields].into_iter().flatten() {
            write!(f, " where {selector}")?;
        }
        if self.metadata_only {
            f.write_str(" (metadata)")?;
        }
        for (index, path) in self.strip.iter().enumerate() {
            write!(f, "{}{path}", if index == 0 { " without " } else { ", " })?;
        }
        Ok(())
    }
}

/// What an informer's silence about an object means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// An object that the synced informer does not hold does not exist.
    Full,
    /// It may exist outside the selector.
    Selector,
    /// It is outside the informer's namespace.
    No,
}
