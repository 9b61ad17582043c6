//! What an informer keeps up, and how much of the kind that covers.

use std::fmt;
use std::sync::Arc;

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
