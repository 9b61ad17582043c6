use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::{IndexFn, StripPath, typed_index};
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
    /// What is never kept in the cache.
    pub strip: Vec<StripPath>,
    /// Paths that could not be read, for [`check`](crate::Declaration::check).
    pub(crate) not_stripped: Vec<String>,
    /// What may be taken over.
    pub adopt: Adopt,
    /// What objects are found by, besides name, labels and owner.
    pub indexes: Vec<Index>,
}

/// A secondary index of a watched kind.
#[derive(Clone)]
pub struct Index {
    /// Its name, unique for the kind within a controller.
    pub name: Arc<str>,
    /// What an object is found under.
    pub function: IndexFn,
}

impl Index {
    /// An index by a function of the decoded object.
    pub fn new<K, I>(name: impl Into<Arc<str>>, function: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
        I: IntoIterator<Item: Into<String>>,
    {
        Self {
            name: name.into(),
            function: typed_index(function),
        }
    }

    /// The name under which controllers that share an informer do not meet.
    pub(crate) fn name_in_cache(controller: &str, name: &str) -> String {
        format!("{controller}/{name}")
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.name).finish()
    }
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
            strip: Vec::new(),
            not_stripped: Vec::new(),
            adopt: Adopt::Never,
            indexes: Vec::new(),
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
    /// The primary whose uid its label [`TRACKED_BY`] names.
    Tracked,
    /// What the map function answers for the old and the new object.
    Watched(Mapper),
}

/// The label by which tracked children name the uid of their primary.
pub const TRACKED_BY: &str = "kubewright.dev/primary-uid";

impl Role {
    /// Whether the watch is of owned objects.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        matches!(self, Self::Owned)
    }

    /// Whether the watch is of tracked objects.
    #[must_use]
    pub fn is_tracked(&self) -> bool {
        matches!(self, Self::Tracked)
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

    /// Finds objects by what `function` answers for them, with `cx.by_index(name, value)`; kept up with each change, so
    /// that a list by it costs what it returns.
    ///
    /// The function must depend on the object alone. It runs in the informer's task; an object on which it panics is
    /// found under nothing, and the log says so.
    #[must_use]
    pub fn index<I>(mut self, name: impl Into<Arc<str>>, function: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
        I: IntoIterator<Item: Into<String>>,
    {
        self.decl.indexes.push(Index::new(name, function));
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

    /// Never keeps what lies at these paths, as nobody reads it: `status`, `spec.containers[*].env`,
    /// `metadata.annotations['example.com/large']`. What is read from the cache lacks them; live reads do not. A change of
    /// them is a change all the same.
    ///
    /// Where controllers share a cache, only what all of them strip is left out. Cannot be combined with `updates`:
    /// replacing an object by one that lacks a part would remove the part.
    #[must_use]
    pub fn strip<S: AsRef<str>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.decl.add_strip(paths);
        self
    }
}

impl WatchDecl {
    pub(crate) fn add_strip<S: AsRef<str>>(&mut self, paths: impl IntoIterator<Item = S>) {
        for path in paths {
            match StripPath::parse(path.as_ref()) {
                Ok(path) => self.strip.push(path),
                Err(error) => self.not_stripped.push(error.to_string()),
            }
        }
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
