//! The store as the source of access control.

use std::sync::Arc;

use serde_json::Value;

use super::Source;
use crate::storage::Store;

impl Source for Store {
    fn changed_at(&self, resource: &str) -> u64 {
        Self::changed_at(self, resource)
    }

    fn list(&self, resource: &str) -> Vec<Arc<Value>> {
        Self::list(self, resource, None)
            .iter()
            .map(|stored| stored.shared())
            .collect()
    }

    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.find(resource, namespace, name).map(|stored| stored.shared())
    }

    fn uid(&self, resource: &str, namespace: &str, name: &str) -> Option<Box<str>> {
        self.find(resource, namespace, name).map(|stored| stored.uid.clone())
    }
}
