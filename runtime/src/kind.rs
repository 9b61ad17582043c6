//! A kind as a value: group, version, kind, plural and scope, known from a type or at run time only.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use kube::core::ApiResource;

use crate::object::{Object, Scope};

/// Names a kind of objects without its Rust type. Cheap to clone; equal when group, version and kind are equal.
#[derive(Clone)]
pub struct Kind(Names);

#[derive(Clone)]
enum Names {
    /// Of a Rust type: nothing to allocate, as reads name their kind each time, and no more to carry than where to ask.
    Type(fn() -> Inner<&'static str>),
    Shared(Arc<Inner<String>>),
}

struct Inner<T> {
    group: T,
    version: T,
    kind: T,
    plural: T,
    namespaced: bool,
}

impl Kind {
    /// The kind of a Rust type.
    #[must_use]
    pub fn of<K: Object>() -> Self {
        let all = [K::group(&()), K::version(&()), K::kind(&()), K::plural(&())];
        if all.iter().all(|name| matches!(name, Cow::Borrowed(_))) {
            return Self(Names::Type(names_of::<K>));
        }
        let [group, version, kind, plural] = all;
        Self::new(group, version, kind, plural, <K::Scope as Scope>::NAMESPACED)
    }

    /// A kind known at run time only, as discovery or configuration gives it.
    #[must_use]
    pub fn from_api_resource(resource: &ApiResource, namespaced: bool) -> Self {
        Self::new(
            &*resource.group,
            &*resource.version,
            &*resource.kind,
            &*resource.plural,
            namespaced,
        )
    }

    /// A kind by its names. `group` is empty for the core group.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
        plural: impl Into<String>,
        namespaced: bool,
    ) -> Self {
        Self(Names::Shared(Arc::new(Inner {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        })))
    }

    /// API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        match &self.0 {
            Names::Type(names) => names().group,
            Names::Shared(names) => &names.group,
        }
    }

    /// Version, such as `v1`.
    #[must_use]
    pub fn version(&self) -> &str {
        match &self.0 {
            Names::Type(names) => names().version,
            Names::Shared(names) => &names.version,
        }
    }

    /// Kind, such as `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match &self.0 {
            Names::Type(names) => names().kind,
            Names::Shared(names) => &names.kind,
        }
    }

    /// Lower-case plural, such as `deployments`.
    #[must_use]
    pub fn plural(&self) -> &str {
        match &self.0 {
            Names::Type(names) => names().plural,
            Names::Shared(names) => &names.plural,
        }
    }

    /// Whether objects of the kind live in namespaces.
    #[must_use]
    pub fn namespaced(&self) -> bool {
        match &self.0 {
            Names::Type(names) => names().namespaced,
            Names::Shared(names) => names.namespaced,
        }
    }

    /// `group/version`, or the version alone in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group().is_empty() {
            self.version().to_owned()
        } else {
            format!("{}/{}", self.group(), self.version())
        }
    }

    /// The path of the collection: `/apis/apps/v1/namespaces/x/deployments`; all namespaces where `namespace` is `None`.
    #[must_use]
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let prefix = if self.group().is_empty() { "/api/" } else { "/apis/" };
        let api_version = self.api_version();
        match namespace {
            Some(ns) if self.namespaced() => format!("{prefix}{api_version}/namespaces/{ns}/{}", self.plural()),
            _ => format!("{prefix}{api_version}/{}", self.plural()),
        }
    }

    fn names(&self) -> (&str, &str, &str) {
        (self.group(), self.kind(), self.version())
    }
}

/// The names of a type that names itself by literals.
fn names_of<K: Object>() -> Inner<&'static str> {
    let literal = |name: Cow<'static, str>| match name {
        Cow::Borrowed(name) => name,
        Cow::Owned(_) => "",
    };
    Inner {
        group: literal(K::group(&())),
        version: literal(K::version(&())),
        kind: literal(K::kind(&())),
        plural: literal(K::plural(&())),
        namespaced: <K::Scope as Scope>::NAMESPACED,
    }
}

/// `deployments.apps`, or `configmaps` in the core group: as kubectl and the server's messages name it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())?;
        if !self.group().is_empty() {
            write!(f, ".{}", self.group())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (group, kind, version) = self.names();
        write!(f, "Kind({group}/{version} {kind})")
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        // Reads compare kinds of types, which mostly are one and the same function.
        let same = match (&self.0, &other.0) {
            (Names::Type(own), Names::Type(other)) => std::ptr::fn_addr_eq(*own, *other),
            (Names::Shared(own), Names::Shared(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        same || self.names() == other.names()
    }
}

impl Eq for Kind {}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.names().cmp(&other.names())
    }
}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }
}
