use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// What an object is stored under: resource, namespace, name.
///
/// Keys sort as Kubernetes' storage sorts them, by the text `resource/namespace/name`: the namespace `x-a` comes
/// before `x`, because `-` sorts before `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Resource and group: `deployments.apps`, or `pods` in the core group.
    pub resource: Arc<str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// A key of these parts.
    pub fn new(resource: impl Into<Arc<str>>, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.resource
            .cmp(&other.resource)
            .then_with(|| namespace_order(&self.namespace, &other.namespace))
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.resource, self.name)
        } else {
            write!(f, "{}/{}/{}", self.resource, self.namespace, self.name)
        }
    }
}

/// Compares namespaces as the parts of a storage path that end in `/`.
pub(super) fn namespace_order(a: &str, b: &str) -> Ordering {
    a.bytes().chain(*b"/").cmp(b.bytes().chain(*b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_paths_do() {
        let mut keys = [
            Key::new("pods", "x", "a"),
            Key::new("pods", "x-a", "a"),
            Key::new("pods", "x", "A"),
        ];
        keys.sort();
        let shown: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["pods/x-a/a", "pods/x/A", "pods/x/a"]);
    }
}
