//! How a reconcile names an object: by key, by namespace and name, or by name beside the primary.

use std::sync::Arc;

use crate::key::ObjectKey;

/// What `cx.get`, `cx.delete` and `cx.patch` take as the name of an object.
///
/// A bare name stands for the primary's namespace (or for cluster scope where the kind has no namespaces).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an object",
    label = "give a name, a `(namespace, name)` pair or an `ObjectKey`"
)]
pub trait ObjectName {
    /// The key that is meant, where `namespace` is the primary's and `namespaced` tells of the named kind.
    fn into_key(self, namespace: &Arc<str>, namespaced: bool) -> ObjectKey;
}

impl ObjectName for ObjectKey {
    fn into_key(self, _: &Arc<str>, _: bool) -> ObjectKey {
        self
    }
}

impl ObjectName for &ObjectKey {
    fn into_key(self, _: &Arc<str>, _: bool) -> ObjectKey {
        self.clone()
    }
}

impl ObjectName for &str {
    fn into_key(self, namespace: &Arc<str>, namespaced: bool) -> ObjectKey {
        if namespaced {
            ObjectKey::new(Arc::clone(namespace), self)
        } else {
            ObjectKey::cluster_scoped(self)
        }
    }
}

impl ObjectName for &String {
    fn into_key(self, namespace: &Arc<str>, namespaced: bool) -> ObjectKey {
        self.as_str().into_key(namespace, namespaced)
    }
}

impl ObjectName for String {
    fn into_key(self, namespace: &Arc<str>, namespaced: bool) -> ObjectKey {
        self.as_str().into_key(namespace, namespaced)
    }
}

impl<N: Into<Arc<str>>, M: Into<Arc<str>>> ObjectName for (N, M) {
    fn into_key(self, _: &Arc<str>, _: bool) -> ObjectKey {
        ObjectKey::new(self.0, self.1)
    }
}
