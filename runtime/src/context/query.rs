//! Which objects a list asks for.

/// What `cx.list` and `cx.live().list` return: everything, or what a namespace and selectors leave of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub(super) namespace: Option<String>,
    pub(super) labels: Option<String>,
}

impl Query {
    /// Every object that the controller may read.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The objects of one namespace.
    #[must_use]
    pub fn namespace(name: impl Into<String>) -> Self {
        Self {
            namespace: Some(name.into()),
            labels: None,
        }
    }

    /// Only objects that match a label selector, written as for `kubectl -l`: `app=x,tier in (a,b),!old`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }
}
