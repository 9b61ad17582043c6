//! Where access control reads the objects it depends on.

use std::sync::Arc;

use serde_json::Value;

/// The stored objects, as far as access control needs them.
///
/// Resources are named as the store names them: `roles.rbac.authorization.k8s.io`, `serviceaccounts`. The namespace
/// of a cluster-scoped object is empty.
pub trait Source: Send + Sync {
    /// The revision of the last change of a resource; what was compiled from it is good as long as this stays.
    fn changed_at(&self, resource: &str) -> u64;

    /// All objects of a resource, ordered by namespace and name.
    fn list(&self, resource: &str) -> Vec<Arc<Value>>;

    /// One object.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// The uid of an object.
    fn uid(&self, resource: &str, namespace: &str, name: &str) -> Option<Box<str>> {
        let object = self.get(resource, namespace, name)?;
        object["metadata"]["uid"].as_str().map(Into::into)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    type Key = (String, String, String);

    /// Objects in memory.
    #[derive(Clone, Default)]
    pub(crate) struct Objects(Arc<Mutex<Held>>);

    /// The revision, and the objects.
    type Held = (u64, BTreeMap<Key, Arc<Value>>);

    impl Objects {
        pub(crate) fn put(&self, resource: &str, object: Value) {
            let meta = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            let key = (resource.to_owned(), meta("namespace"), meta("name"));
            let mut all = self.0.lock().unwrap();
            all.0 += 1;
            all.1.insert(key, Arc::new(object));
        }

        pub(crate) fn remove(&self, resource: &str, namespace: &str, name: &str) {
            let mut all = self.0.lock().unwrap();
            all.0 += 1;
            all.1
                .remove(&(resource.to_owned(), namespace.to_owned(), name.to_owned()));
        }
    }

    impl Source for Objects {
        fn changed_at(&self, _: &str) -> u64 {
            self.0.lock().unwrap().0
        }

        fn list(&self, resource: &str) -> Vec<Arc<Value>> {
            self.0
                .lock()
                .unwrap()
                .1
                .iter()
                .filter(|(k, _)| k.0 == resource)
                .map(|(_, v)| Arc::clone(v))
                .collect()
        }

        fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
            self.0
                .lock()
                .unwrap()
                .1
                .get(&(resource.to_owned(), namespace.to_owned(), name.to_owned()))
                .cloned()
        }
    }
}
