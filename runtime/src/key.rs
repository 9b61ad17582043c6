//! What names an object: cluster, namespace and name.

use std::fmt;
use std::sync::{Arc, LazyLock};

/// Names one object of a known kind.
///
/// Ordered by cluster, namespace, name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The cluster that holds the object; empty where there is only one.
    pub cluster: Arc<str>,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Names an object in the only cluster; an empty namespace stands for cluster scope.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        // Keys are made by the million: what all of them have is not allocated for each.
        static ONLY: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));
        Self {
            cluster: Arc::clone(&ONLY),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Names a cluster-scoped object.
    pub fn cluster_scoped(name: impl Into<Arc<str>>) -> Self {
        Self::new("", name)
    }

    /// The namespace, or `None` for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        if self.namespace.is_empty() {
            None
        } else {
            Some(&self.namespace)
        }
    }
}

/// `namespace/name`, or the name alone; prefixed by `cluster:` where there are several.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.cluster.is_empty() {
            write!(f, "{}:", self.cluster)?;
        }
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}
