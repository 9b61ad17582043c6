use std::marker::PhantomData;

use crate::declaration::Mapper;
use crate::kind::Kind;
use crate::predicate::Predicate;

/// One kind that a controller watches, and what its changes wake.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchDecl {
    /// The kind.
    pub kind: Kind,
    /// Which keys a change wakes.
    pub role: Role,
    /// Changes that do not pass wake nothing. Deletions and recreations always pass.
    pub predicate: Option<Predicate>,
    /// Whether only metadata is fetched and kept.
    pub metadata_only: bool,
    /// Label selector of the watch, as kubectl takes it.
    pub labels: Option<String>,
    /// Field selector of the watch.
    pub fields: Option<String>,
    /// What may be taken over.
    pub adopt: Adopt,
}

impl WatchDecl {
    /// A watch of all objects of `kind`, with all defaults.
    #[must_use]
    pub fn new(kind: Kind, role: Role) -> Self {
        Self {
            kind,
            role,
            predicate: None,
            metadata_only: false,
            labels: None,
            fields: None,
            adopt: Adopt::Never,
        }
    }
}

/// Which keys a change of a watched object wakes.
#[derive(Clone, Debug)]
pub enum Role {
    /// The object itself.
    Primary,
    /// Its controller owner; both the old and the new one where that changed.
    Owned,
    /// What the map function answers for the old and the new object.
    Watched(Mapper),
}

impl Role {
    /// Whether the watch is of owned objects.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        matches!(self, Self::Owned)
    }
}

/// Which existing objects without a controller an apply may take over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Adopt {
    /// None: an object that is not ours is refused.
    #[default]
    Never,
    /// Those that carry these labels (a label selector).
    Labels(String),
    /// Any.
    Always,
}

/// Options of one watch: what stands after the kind in `owns(K, …)` and `watches(K, …)`. `R` is [`Children`] or
/// [`Others`], since some options make sense for one of them only.
#[derive(Debug)]
pub struct Watch<K, R> {
    pub(super) decl: WatchDecl,
    kind: PhantomData<fn() -> (K, R)>,
}

/// Marks the watch of an owned kind.
#[derive(Debug)]
pub struct Children;

/// Marks the watch of a kind with a map function.
#[derive(Debug)]
pub struct Others;

impl<K, R> Watch<K, R> {
    pub(super) fn new(kind: Kind, role: Role) -> Self {
        Self {
            decl: WatchDecl::new(kind, role),
            kind: PhantomData,
        }
    }

    /// Lets only changes pass that fulfil `predicate`. A second call narrows further.
    ///
    /// Deletions, recreations and the start of a deletion always pass.
    #[must_use]
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.decl.predicate = Some(match self.decl.predicate.take() {
            Some(first) => first & predicate,
            None => predicate,
        });
        self
    }

    /// Watches only objects that match a label selector, written as kubectl takes it: `app=web,tier!=cache`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.decl.labels = Some(selector.into());
        self
    }

    /// Watches only objects that match a field selector: `metadata.name=web`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.decl.fields = Some(selector.into());
        self
    }
}

impl<K> Watch<K, Children> {
    /// Fetches and keeps the metadata only (`PartialObjectMetadata`).
    ///
    /// The cache then answers for `PartialObjectMeta<K>`; bodies are read live.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.decl.metadata_only = true;
        self
    }

    /// Lets an apply take over objects that nobody controls. Default: [`Adopt::Never`].
    #[must_use]
    pub fn adopt(mut self, adopt: Adopt) -> Self {
        self.decl.adopt = adopt;
        self
    }
}
